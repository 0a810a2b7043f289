"""A disk that fills while Spark writes, and telemetry that is not there when Spark reads it."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from analysis_golden import TRIAL, golden_run
from pyspark.sql import SparkSession

from analysis.engine.failures import SparkError, spark_in_words
from analysis.pipeline import analyze
from emulator.experiment.run.directory import RunDirectory
from emulator.files.disk import told


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 48 KiB. Making one needs a right that not everybody has."""
    folder = tmp_path / "run" / "tables"
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_disk_that_fills_while_spark_writes_is_named(small_disk: Path, spark: SparkSession) -> None:
    run = golden_run(small_disk.parent)
    with pytest.raises(OSError) as caught, spark_in_words(run):
        analyze(run, lambda _: None, spark)
    assert caught.value.errno == errno.ENOSPC
    assert told(caught.value).startswith(f"the disk is full: {run.tables}, or Spark's files in ")


@pytest.mark.parametrize("damage", ["a folder", "nothing"])
def test_telemetry_without_its_file_makes_a_run_invalid_or_is_told(
    tmp_path: Path, spark: SparkSession, damage: str
) -> None:
    run = golden_run(tmp_path / "run")
    (file,) = run.trial(TRIAL).telemetry.glob("*traces*")
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    summary: dict[str, Any] = {}
    try:
        with spark_in_words(run):
            summary = analyze(run, lambda _: None, spark)
    except (SparkError, OSError) as error:
        assert file.name in str(error)
    else:
        assert not summary["valid"]
        assert any(word in " ".join(summary["reasons"]) for word in (file.name, "without telemetry"))


def test_what_spark_tells_on_pages_is_a_sentence_with_its_cause(tmp_path: Path) -> None:
    failure = type("PythonException", (Exception,), {"__module__": "pyspark.errors.exceptions.captured"})
    run = RunDirectory(tmp_path)
    with (
        pytest.raises(SparkError, match=r"could not analyze .*: java\.lang\.Error: it broke$"),
        spark_in_words(run),
    ):
        raise failure("much\nCaused by: java.lang.Error: it broke\n\tat org.apache\n")
    with pytest.raises(OSError) as caught, spark_in_words(run):
        raise failure("java.io.IOException: No space left on device")
    assert "the disk is full" in told(caught.value)
    with pytest.raises(ZeroDivisionError), spark_in_words(run):
        raise ZeroDivisionError
