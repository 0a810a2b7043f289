"""The digests of what a trial wrote, which its status has, so that later changes are noticed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.experiment.run.directory import TrialDirectory
from emulator.files.digests import digest_of, digests_of

COLLECTOR = "collector-"
"""The prefix of the names of a Collector's files, which it may still be writing when a trial ends."""


def seal(directory: TrialDirectory) -> dict[str, str]:
    """Return the digests of the files of telemetry, of the fidelity and of the invariants, by their names in
    the trial's folder.

    Raises OSError.
    """
    files = [path for path in directory.telemetry.glob("*.otlp") if not path.name.startswith(COLLECTOR)]
    files += [path for path in (directory.fidelity, directory.invariants) if path.is_file()]
    return digests_of(files, directory.path)


def changed_since(directory: TrialDirectory, status: Mapping[str, Any]) -> list[str] | None:
    """Return the files that are there and differ from when the trial ended; None if the status has no
    digests.

    Raises OSError.
    """
    told = status.get("digests")
    if not isinstance(told, dict):
        return None
    there = [name for name in told if (directory.path / name).is_file()]
    return [name for name in there if digest_of(directory.path / name) != told[name]]


def is_changed(file: Path, status: Mapping[str, Any]) -> bool:
    """Return whether a file of a trial's folder is gone or another than when the trial ended, if the status
    has its digest.

    Raises OSError.
    """
    digests = status.get("digests")
    told = digests.get(file.name) if isinstance(digests, dict) else None
    return told is not None and (not file.is_file() or digest_of(file) != told)
