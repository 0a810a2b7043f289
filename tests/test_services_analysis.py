"""The analysis service: it waits for the trials, analyses, and ends when it is told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from analysis_golden import EXPERIMENT, TRIAL, golden_run

from analysis.engine.executors import ClusterError, Executors
from analysis.engine.java import JAVA
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.runs import NoRun
from emulator.experiment.run.telemetry_totals import Written
from services.analysis import TooLate, await_trials
from services.executor import command

ANALYSIS_LIMIT = 240
"""Seconds, on a busy machine."""
ROOT = Path(__file__).parent.parent
POD = {
    "POD_IP": "10.0.0.7",
    "POD_NAME": "demo-analysis-x",
    "POD_NAMESPACE": "here",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "TRELLIS_EXECUTOR_IMAGE": "trellis-analysis:1",
    "TRELLIS_EXECUTOR_TEMPLATE": "/etc/trellis/executor.yaml",
}


def service(*arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name not in POD}
    return subprocess.Popen(
        [sys.executable, "-m", "services.analysis", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that are ended with the test, if they still run."""
    programs: list[subprocess.Popen[str]] = []
    yield programs
    for program in programs:
        program.kill()
        program.communicate()


def recorded(path: Path) -> RunDirectory:
    """Record a run of one trial that is over."""
    run = golden_run(path)
    told = json.loads(run.trial(TRIAL).fidelity.read_text())["written"]
    written = [Written(**start) for start in told]
    Fidelity("virtual", "virtual clock", written=written).write(run.trial(TRIAL).fidelity)
    return run


def test_it_waits_for_a_run_that_is_not_there_yet_and_for_each_of_its_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDirectory(tmp_path / "run")
    trial = run.trial(TRIAL)
    steps = [
        lambda: run.path.mkdir(),
        lambda: run.experiment.write_text(EXPERIMENT),
        lambda: trial.path.mkdir(parents=True),
        lambda: trial.write_status(state="running"),
        lambda: trial.write_status(state="failed"),
    ]
    await_trials(run, 60, sleep=lambda _: steps.pop(0)())
    assert not steps
    said = capsys.readouterr().out.splitlines()
    assert said == [f"there is no run in {run.path} yet", "trials: 1 planned", "trials: 1 running"]


def test_the_run_of_another_experiment_is_refused_with_the_difference(tmp_path: Path) -> None:
    run = golden_run(tmp_path / "run")
    same, other = tmp_path / "same.yaml", tmp_path / "other.yaml"
    same.write_text(EXPERIMENT)
    other.write_text(EXPERIMENT.replace("peers: 5", "peers: 7"))
    await_trials(run, 2, wanted=same)
    with pytest.raises(NoRun, match="another experiment than this release's: peers was 5, is 7"):
        await_trials(run, 2, wanted=other)


def test_a_run_that_was_edited_ends_with_a_sentence(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    run = recorded(tmp_path / "run")
    run.experiment.write_text("name: [")
    started.append(service("--run", str(run.path), "--wait-limit", "1"))
    _, errors = started[0].communicate(timeout=60)
    assert started[0].returncode == 1
    assert "Traceback" not in errors and "experiment.yaml" in errors


def test_it_does_not_wait_for_a_run_that_it_will_never_be_able_to_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.experiment.write_text(EXPERIMENT.replace("name: vitis", "name: of-a-package"))
    pauses: list[float] = []
    with pytest.raises(NoRun, match=r'system\.name: is "of-a-package".*package'):
        await_trials(run, 3600, sleep=pauses.append)
    assert 20 < sum(pauses) < 60
    moments = [lambda: run.experiment.write_text(EXPERIMENT), lambda: ended(run)]
    run.experiment.write_text("name: [")
    await_trials(run, 3600, sleep=lambda _: moments.pop(0)())


def ended(run: RunDirectory) -> None:
    trial = run.trial(TRIAL)
    trial.path.mkdir(parents=True)
    trial.write_status(state="failed")


def test_it_does_not_wait_for_ever(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.experiment.write_text(EXPERIMENT)
    with pytest.raises(TooLate, match="not ended in 2 s: trials: 1 planned"):
        await_trials(run, 2)


def test_it_ends_at_once_when_told_to_while_it_waits(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    started.append(service("--run", str(tmp_path / "run")))
    assert started[0].stdout is not None
    assert "no run" in started[0].stdout.readline()
    started[0].terminate()
    assert started[0].wait(timeout=10) == 128 + signal.SIGTERM


@pytest.mark.timeout(4 * ANALYSIS_LIMIT)
def test_it_stops_spark_when_told_to_in_the_middle_and_a_new_start_writes_all_and_tells_what_is_invalid(
    tmp_path: Path, golden: tuple[RunDirectory, dict[str, Any]], started: list[subprocess.Popen[str]]
) -> None:
    run = recorded(tmp_path / "run")
    run.trial(TRIAL).write_status(state="invalid", reasons=["hosts lost: 1 hosts"])
    started.append(service("--run", str(run.path)))
    assert started[0].stdout is not None
    for line in started[0].stdout:
        if line.startswith("reading the telemetry"):
            break
    deadline = time.monotonic() + ANALYSIS_LIMIT
    while not (run.tables / "hops").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    started[0].terminate()
    assert started[0].wait(timeout=60) == 128 + signal.SIGTERM
    assert not run.summary.exists()
    started.append(service("--run", str(run.path)))
    said, errors = started[1].communicate(timeout=ANALYSIS_LIMIT)
    assert started[1].returncode == 0, errors
    assert said.splitlines()[-1] == "the run is not valid: vitis-1: hosts lost: 1 hosts"
    assert json.loads(run.summary.read_text())["trials"][0]["measures"]["hit_ratio"] == 3 / 4
    assert run.report.exists()
    assert contents(run) == contents(golden[0])
    assert not list(run.tables.rglob("_temporary"))


def contents(run: RunDirectory) -> dict[str, pa.Table]:
    """Return rows of all tables in their order, by path."""
    files = sorted(path for path in run.tables.rglob("*") if path.is_file())
    return {str(path.relative_to(run.tables)): pq.read_table(path, partitioning=None) for path in files}


def test_executors_without_a_pod_are_refused_before_anything_is_awaited(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    started.append(service("--run", str(tmp_path / "run"), "--executors", "2"))
    _, errors = started[0].communicate(timeout=30)
    assert started[0].returncode == 1
    assert "lacks POD_IP (status.podIP), POD_NAME" in errors
    assert "--executors 0" in errors


def test_executors_are_pods_with_half_of_their_memory_for_the_heap() -> None:
    cpu = {"TRELLIS_EXECUTOR_CPU": "100m", "TRELLIS_EXECUTOR_CPU_LIMIT": "2"}
    executors = Executors.wanted(3, 2, "1Gi", POD | cpu)
    assert executors.master == "k8s://https://10.96.0.1:443"
    settings = executors.settings()
    assert settings["spark.executor.instances"] == "3"
    assert settings["spark.executor.cores"] == "2"
    assert settings["spark.kubernetes.executor.request.cores"] == "100m"
    assert settings["spark.kubernetes.executor.limit.cores"] == "2"
    without = Executors.wanted(3, 2, "1Gi", POD).settings()
    assert "spark.kubernetes.executor.limit.cores" not in without
    assert (settings["spark.executor.memory"], settings["spark.executor.memoryOverhead"]) == ("512m", "512m")
    assert settings["spark.kubernetes.driver.pod.name"] == "demo-analysis-x"


@pytest.mark.parametrize(
    ("cores", "memory", "said"),
    [(1, "1g", "Write a number with Mi or Gi"), (1, "512Mi", "768Mi or more"), (0, "1Gi", "1 or more")],
)
def test_executors_that_could_not_work_are_refused(cores: int, memory: str, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        Executors.wanted(1, cores, memory, POD)


def test_an_executor_is_the_java_program_that_its_driver_asks_for() -> None:
    environment = {
        "SPARK_JAVA_OPT_10": "-Dlast=1",
        "SPARK_JAVA_OPT_0": "-Dfirst=with space",
        "SPARK_JAVA_OPT_1": "--add-modules=jdk.incubator.vector",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "spark-abc",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.8",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "trellis-exec-1",
    }
    line = command(environment, Path("/tmp/settings"))
    assert line[:5] == [JAVA, "-Dfirst=with space", "-Dlast=1", "-Xms512m", "-Xmx512m"]
    backend = next(index for index, part in enumerate(line) if part.endswith("KubernetesExecutorBackend"))
    told = dict(zip(line[backend + 1 :: 2], line[backend + 2 :: 2], strict=True))
    assert told["--driver-url"] == environment["SPARK_DRIVER_URL"]
    assert told["--podName"] == "trellis-exec-1"
    assert len(told) == 7


def test_an_executor_that_spark_did_not_start_says_so() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "services.executor"],
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.returncode == 1
    assert "for Spark to start: the environment lacks SPARK_EXECUTOR_MEMORY" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "runs"), [(["executor"], "-m services.executor"), (["echo", "executor"], "echo executor")]
)
def test_the_images_entrypoint_knows_executors_from_commands(
    tmp_path: Path, arguments: list[str], runs: str
) -> None:
    for name in ("python", "echo"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "{name} $*"\n')
        program.chmod(0o755)
    entrypoint = str(ROOT / "services" / "analysis-entrypoint")
    done = subprocess.run(
        [entrypoint, *arguments], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.stdout.strip().removeprefix("python ") == runs
