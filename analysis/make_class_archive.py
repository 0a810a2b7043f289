"""Makes the archive of classes: `python -m analysis.make_class_archive`.

Java analyses a small run and writes what it has loaded. That takes about a minute once, and 220 MB.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.engine.class_archive import MAKING, archive_of, is_ours
from analysis.engine.java import spark_home
from analysis.engine.spark_session import close_java
from analysis.pipeline import analyze
from emulator.experiment.file.load import load
from emulator.experiment.run.runs import create_run
from emulator.trials.sweep import run_sweep

_EXPERIMENT = """
name: archive
system: {name: vitis}
peers: 40
workload:
  subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 3}
  publications: {events: 30}
phases: {join: 2 s, settle: 8 s, measure: 15 s, drain: 5 s}
"""
_WRITING_LIMIT = 300.0
"""The seconds that Java has at its end, after which it is killed."""
_OLD = 30 * 86400.0
"""The seconds after which an archive of another installation is removed, because that may be gone."""


def main() -> int:
    """Make the archive unless it is there. Returns exit status 1 if Java did not write it."""
    archive = archive_of(spark_home())
    if is_ours(archive):
        return 0
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder) / "archive"
        os.environ[MAKING] = str(made)
        with _output_in(Path(folder) / "output"):
            _analyze(Path(folder))
        if not made.is_file():
            print("Java wrote no archive of classes; analysis works without, slower", file=sys.stderr)
            return 1
        made.chmod(0o600)
        made.rename(archive)
    for other in archive.parent.glob("spark-*.aot"):
        if other.stat().st_mtime < time.time() - _OLD:
            other.unlink()
    return 0


@contextmanager
def _output_in(file: Path) -> Iterator[None]:
    """Send what Java prints about the archive, at length and past Python, to a file."""
    before = [os.dup(1), os.dup(2)]
    with file.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    try:
        yield
    finally:
        for number, descriptor in enumerate(before, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _analyze(folder: Path) -> None:
    """Run a small experiment and analyse it."""
    file = folder / "archive.yaml"
    file.write_text(_EXPERIMENT)
    spec = load(file, [])
    run = create_run(spec, folder)
    run_sweep(run, spec, 1, lambda update: None)
    analyze(run, lambda standing: None)
    close_java(_WRITING_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
