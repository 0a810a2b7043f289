"""The service that sweeps in a cluster: it runs and analyses, takes a run up, and ends when it is told to.

The analysis itself, which takes a JVM, is that of tests/test_services_analysis.py.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from analysis.engine.executors import Executors
from emulator.experiment.run.directory import RunDirectory
from services import spark_driver

LIMIT = 240
"""Seconds, on a busy machine."""
EXPERIMENT = """\
name: sweep
system: {name: vitis}
peers: 10
phases: {join: 1 s, settle: 1 s, measure: 5 s, drain: 1 s}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


def line(tmp_path: Path, experiment: str, *more: str) -> list[str]:
    """Return the command line of the service."""
    file = tmp_path / "experiment.yaml"
    file.write_text(experiment)
    return ["services.spark_driver", "--experiment", str(file), "--run", str(tmp_path / "run"), *more]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The service in this process."""

    def call(*more: str) -> int:
        monkeypatch.setattr(sys, "argv", line(tmp_path, EXPERIMENT, *more))
        return spark_driver.main()

    before = signal.getsignal(signal.SIGTERM)
    yield call
    signal.signal(signal.SIGTERM, before)


def test_told_to_end_it_leaves_a_run_that_is_taken_up_and_analysed_and_no_other(
    tmp_path: Path,
    service: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RunDirectory(tmp_path / "run")
    trial = run.trial("vitis-1")
    arguments = line(tmp_path, EXPERIMENT.replace("5 s", "100000 s"))
    long = subprocess.Popen([sys.executable, "-m", *arguments])
    try:
        deadline = time.monotonic() + LIMIT
        while trial.read_status().get("state") != "running":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        long.send_signal(signal.SIGTERM)
        assert long.wait(LIMIT) == 128 + signal.SIGTERM
    finally:
        long.kill()
        long.wait()
    assert trial.read_status()["state"] == "planned"

    assert service() == 2
    told = capsys.readouterr().err
    assert "made from another experiment than" in told and "phases" in told

    steps: list[Any] = []

    @contextmanager
    def session_with(executors: Executors | None) -> Iterator[str]:
        steps.append(("Spark starts", executors))
        yield "a session"

    def conclude(directory: RunDirectory, spark: object) -> None:
        steps.append((directory.path, spark, trial.read_status()["state"]))

    monkeypatch.setattr(spark_driver, "session_with", session_with)
    monkeypatch.setattr(spark_driver, "conclude", conclude)
    run.experiment.unlink()
    shutil.rmtree(trial.plan, ignore_errors=True)  # the plan of the long trial, if it was drawn by then
    assert service() == 0
    assert "vitis-1 valid" in capsys.readouterr().out
    assert steps == [("Spark starts", None), (run.path, "a session", "valid")]


def test_executors_without_a_pod_are_refused(
    service: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POD_IP", raising=False)
    assert service("--executors", "2") == 1
    assert "its environment lacks POD_IP" in capsys.readouterr().err
