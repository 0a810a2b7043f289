"""The service that sweeps in a cluster: it runs and analyses, takes a run up, and ends when it is told to."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator.experiment.rundir import RunDirectory

pytestmark = pytest.mark.xdist_group("spark")
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


def service(tmp_path: Path, experiment: str, *more: str) -> subprocess.Popen[str]:
    file = tmp_path / "experiment.yaml"
    file.write_text(experiment)
    line = ("--experiment", str(file), "--run", str(tmp_path / "run"), *more)
    return subprocess.Popen(
        [sys.executable, "-m", "services.sweep", *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_told_to_end_it_leaves_a_run_that_is_taken_up_and_analysed_and_no_other(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    long = service(tmp_path, EXPERIMENT.replace("5 s", "100000 s"))
    try:
        deadline = time.monotonic() + LIMIT
        while (run.trial("vitis-1").read_status().get("state")) != "running":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        long.send_signal(signal.SIGTERM)
        assert long.wait(LIMIT) == 128 + signal.SIGTERM
    finally:
        long.kill()
        long.communicate()
    assert run.trial("vitis-1").read_status()["state"] == "planned"

    other = service(tmp_path, EXPERIMENT)
    said = other.communicate(timeout=LIMIT)[1]
    assert (other.returncode, "made from another experiment: phases" in said) == (2, True)

    run.experiment.unlink()
    whole = service(tmp_path, EXPERIMENT)
    said, trouble = whole.communicate(timeout=LIMIT)
    assert whole.returncode == 0, trouble
    assert "vitis-1 valid" in said
    assert "the run is valid" in said
    assert run.report.exists()


def test_executors_without_a_pod_are_refused(tmp_path: Path) -> None:
    sweep = service(tmp_path, EXPERIMENT, "--executors", "2")
    said = sweep.communicate(timeout=LIMIT)[1]
    assert sweep.returncode == 1
    assert "its environment lacks POD_IP" in said
