"""Makes the archive of classes: `python -m analysis.archiving`.

Java analyses a small run and writes what it has loaded. That takes about a minute once, and 220 MB.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from analysis.archive import MAKING, archive_of, is_ours
from analysis.java import spark_home
from analysis.pipeline import analyze
from analysis.session import close_java
from emulator.experiment.load import load
from emulator.experiment.runs import create_run
from emulator.experiment.sweep import run_sweep

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
"""Seconds that Java has at its end; it is killed then."""


def main() -> int:
    """Make the archive unless it is there. Exit status 1 if Java did not write it."""
    archive = archive_of(spark_home())
    if is_ours(archive):
        return 0
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder) / "archive"
        os.environ[MAKING] = str(made)
        _analyze(Path(folder))
        if not made.is_file():
            print("Java wrote no archive of classes; analysis works without, slower", file=sys.stderr)
            return 1
        made.chmod(0o600)
        made.rename(archive)
    for old in archive.parent.glob("spark-*.aot"):
        if old != archive:
            old.unlink()
    return 0


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
