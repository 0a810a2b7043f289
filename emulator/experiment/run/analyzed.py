"""The summary of a run notes what its analysis was made of, so that the same analysis is not made twice."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import read_summary, table_digests
from emulator.experiment.run.versions import versions
from emulator.files.damage import DamagedFile
from emulator.files.digests import digest_of

ANALYZED: Final = "analyzed"
"""The field of the summary that says what it was made of, and by which versions."""


def analyzed(run: RunDirectory) -> dict[str, Any]:
    """Return what an analysis of a run is made of now, and by which versions.

    Files of telemetry and plans count by their sizes and times, as those of a large run take long to read.
    Raises OSError.
    """
    facts = [digest_of(run.experiment)]
    for trial in sorted(run.trials(), key=lambda trial: trial.name):
        told = [path for path in (trial.status, trial.fidelity, trial.invariants) if path.exists()]
        facts += [f"{trial.name} {path.name} {digest_of(path)}" for path in told]
        for path in sorted([*trial.telemetry.glob("*"), *trial.plan.glob("*")]):
            stands = path.stat()
            facts.append(f"{trial.name} {path.name} {stands.st_size} {stands.st_mtime_ns}")
    return {"versions": versions(), "of": hashlib.sha256("\n".join(facts).encode()).hexdigest()}


def is_analyzed(run: RunDirectory) -> bool:
    """Return whether the run has an analysis by these versions, of what the run has, with all its tables."""
    try:
        summary = read_summary(run)
        tables = table_digests(run, summary)
        return (
            summary.get(ANALYZED) == analyzed(run)
            and tables is not None
            and all((run.path / name).is_file() for name in tables)
        )
    except (DamagedFile, OSError):
        return False
