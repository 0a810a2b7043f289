"""When Spark starts before it is asked for, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis import early_start as early_module
from analysis.early_start import EarlySpark
from analysis.engine import class_archive, spark_session
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.progress import Progress
from emulator.trials.sweep import Update


class FakeSpark:
    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of Java, in order."""
    calls: list[str] = []
    monkeypatch.setattr("analysis.pipeline.has_much_telemetry", lambda run: True)

    def start(optimize: bool) -> bool:
        calls.append(f"start {optimize}")
        return True

    monkeypatch.setattr(spark_session, "start_java", start)
    monkeypatch.setattr(spark_session, "spark_session", lambda optimize: FakeSpark())
    monkeypatch.setattr(spark_session, "close_java", lambda limit: calls.append("close"))
    return calls


def running(trial: str, share: float) -> Update:
    return Update(trial, "running", Progress("measure", 90.0 * share, 90.0, 1, 0, 0, 0))


def early(folder: Path, trials: int, virtual: bool = True) -> EarlySpark:
    return EarlySpark(RunDirectory(folder), trials, 2, virtual=virtual)


def test_spark_starts_when_a_core_is_free_and_the_rest_is_nearly_over(
    done: list[str], tmp_path: Path
) -> None:
    with early(tmp_path, 3) as spark:
        for update in (running("a", 0.9), running("b", 0.9), Update("a", "valid"), running("c", 0.9)):
            spark.update(update)
        assert spark.session() is None
        spark.update(Update("b", "valid"))
        found = spark.session()
        assert done == ["start True"]
    assert isinstance(found, FakeSpark)
    assert found.stopped


def test_the_last_trial_keeps_its_core_until_it_is_nearly_over(done: list[str], tmp_path: Path) -> None:
    with early(tmp_path, 1) as spark:
        spark.update(running("a", early_module._NEARLY_OVER - 0.1))
        assert spark.session() is None
        spark.update(running("a", early_module._NEARLY_OVER))
        assert spark.session() is not None


def test_a_trial_in_real_time_is_never_disturbed(done: list[str], tmp_path: Path) -> None:
    with early(tmp_path, 1, virtual=False) as spark:
        spark.update(running("a", 1.0))
        spark.update(Update("a", "valid"))
        assert spark.session() is None
    assert done == []


def test_an_error_ends_java_at_once(done: list[str], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), early(tmp_path, 1) as spark:
        spark.update(running("a", 1.0))
        spark.session()
        raise KeyboardInterrupt
    assert done[-1] == "close"


def test_an_error_leaves_the_java_that_was_there(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "start_java", lambda optimize: False)
    with pytest.raises(KeyboardInterrupt), early(tmp_path, 1) as spark:
        spark.update(running("a", 1.0))
        spark.session()
        raise KeyboardInterrupt
    assert done == []


_PROGRAM = """
import sys, time
from pathlib import Path
from analysis import pipeline
from analysis.engine import spark_session
from analysis.early_start import EarlySpark
from emulator.experiment.run.directory import RunDirectory
from emulator.trials.sweep import Update

pipeline.has_much_telemetry = lambda run: False
with EarlySpark(RunDirectory(Path(sys.argv[1])), 2, 2, virtual=True) as spark:
    spark.update(Update("a", "valid"))
    while spark_session._java is None:
        time.sleep(0.01)
    print(spark_session._java._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_jvm_stays_however_the_command_ends(number: signal.Signals, tmp_path: Path) -> None:
    program = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        java = int(process.stdout.readline())
        assert alive(java)
        process.send_signal(number)
        process.wait(60)
    deadline = time.monotonic() + 60
    while alive(java) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(java)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_only_an_archive_that_nobody_else_could_write_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "a.jar").write_bytes(b"1")
    file = class_archive.archive_of(tmp_path / "spark")

    def used() -> bool:
        return f"-XX:AOTCache={file}" in class_archive.archive_options(tmp_path / "spark")

    assert not used()
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"classes")
    file.chmod(0o600)
    assert used()
    file.chmod(0o600 | stat.S_IWOTH)
    assert not used()
    file.chmod(0o600)
    file.parent.chmod(0o700 | stat.S_IWGRP)
    assert not used()
    file.parent.chmod(0o700)
    os.utime(tmp_path / "spark" / "jars" / "a.jar", (1, 1))
    assert class_archive.archive_of(tmp_path / "spark") != file
