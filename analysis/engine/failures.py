"""Errors of Spark in sentences, because Spark's own texts fill a page."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from analysis.engine.interruptions import is_interruption
from emulator.experiment.run.directory import RunDirectory
from emulator.files.disk import full_disk

_LONGEST = 300


class SparkError(Exception):
    """Spark could not analyze a run; the text says which, and the cause that Java names."""


@contextmanager
def spark_in_words(run: RunDirectory) -> Iterator[None]:
    """Turn what Spark raises inside the `with` statement into SparkError, or OSError if a disk is full.

    What an interruption caused is the interruption again.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("py4j.", "pyspark.")):
            raise
        if is_interruption(error):
            raise KeyboardInterrupt from None
        if full_disk(error):
            there = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
            raise OSError(errno.ENOSPC, "", f"{run.tables}, or Spark's files in {there},") from None
        cause = str(error).rpartition("Caused by: ")[2].strip().partition("\n")[0]
        raise SparkError(f"Spark could not analyze {run.path}: {cause[:_LONGEST]}") from error
