"""A sweep on a cluster of Spark's own kind, one master and one worker, that loses its executor on the way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from analysis.engine.java import JAVA, LEFT_OUT

SPARK = Path(pyspark.__file__).parent
LIMIT = 120.0
"""Seconds, on a busy machine."""
EXPERIMENT = """\
name: sweep
system: {name: vitis}
peers: 10
repeat: 2
phases: {join: 1 s, settle: 1 s, measure: 500 s, drain: 1 s}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
FOR_A_SHORT_LIFE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for all JVMs here, which do little more than start."""
SHIM = f"""\
#!/bin/sh
for argument do
    shift
    case $argument in
        {" | ".join(LEFT_OUT)}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {shlex.quote(JAVA)} "$@"
"""
"""The Java that the worker gives to executors, with options that it does not have left out."""
TRELLIS = """\
from analysis.engine.spark_session import spark_session
from trellis.command import cli

def analyze(directory, screen, early):
    with spark_session(1) as spark:
        peers = spark.read.parquet(*map(str, directory.path.glob("trials/*/plan/peers.parquet")))
        print(f"{peers.count()} peers on {spark.sparkContext.master}")

cli.analyze_run = analyze
cli.report_run = lambda directory, screen, junit: print("reported")
cli.say_summary = lambda directory: 0
cli.main()
"""
"""The command with an analysis that does no more than use Spark, on this machine."""


def program(name: str, *arguments: str) -> subprocess.Popen[str]:
    """Start one of Spark's own programs, which tells what it does on its standard error."""
    line = [JAVA, "-Xmx256m", "-cp", f"{SPARK / 'jars'}/*", f"org.apache.spark.deploy.{name}", *arguments]
    environment = os.environ | {"SPARK_HOME": str(SPARK), "SPARK_SCALA_VERSION": "2.13"}
    return subprocess.Popen(
        line, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def said(process: subprocess.Popen[str], pattern: str) -> str:
    """Return what the first group of the pattern is in the line that has it."""
    stream = process.stderr or process.stdout
    assert stream is not None
    seen = []
    for line in stream:
        seen.append(line)
        if match := re.search(pattern, line):
            return match[1]
    raise AssertionError(f"it said no {pattern}: {''.join(seen)}")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The URL of a master that has a worker of two cores, and the process of the worker."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", FOR_A_SHORT_LIFE)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(SHIM)
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    started = []
    try:
        here = ("--host", "127.0.0.1", "--webui-port", "0", "--port", "0")
        started.append(program("master.Master", *here))
        url = said(started[0], r"Starting Spark master at (spark://\S+)")
        there = ("--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work"))
        started.append(program("worker.Worker", *here, *there, url))
        said(started[1], r"(Successfully registered) with master")
        yield url, started[1].pid
    finally:
        for process in started:
            process.terminate()
            process.communicate(timeout=LIMIT)


def children(parent: int) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and f"\nPPid:\t{parent}\n" in (process / "status").read_text():
                found.append(int(process.name))
    return found


@pytest.mark.timeout(LIMIT * 4)
def test_a_sweep_whose_executor_is_killed_goes_on_with_another_and_is_analysed_here(
    cluster: tuple[str, int], tmp_path: Path
) -> None:
    master, worker = cluster
    (tmp_path / "a.yaml").write_text(EXPERIMENT)
    line = [sys.executable, "-c", TRELLIS, "run", "a.yaml", "--on", master]
    command = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + LIMIT
        while not any(json.loads(path.read_text()).get("progress") for path in statuses(tmp_path)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (executor,) = children(worker)
        os.kill(executor, signal.SIGKILL)
        output, _ = command.communicate(timeout=LIMIT * 2)
        assert command.returncode == 0
    finally:
        command.kill()
        command.communicate()
    told = [json.loads(path.read_text()) for path in statuses(tmp_path)]
    assert [status["state"] for status in told] == ["valid", "valid"]
    assert 2 in [status["attempt"] for status in told]
    assert "20 peers on local[1]\nreported\n" in output


def statuses(folder: Path) -> list[Path]:
    return sorted(folder.glob("runs/*/trials/*/status.json"))
