"""The run directories on this machine, with their state, verdict, size and age."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import read_summary
from emulator.files.damage import DamagedFile
from emulator.trials.run_progress import ENDED, Reader, Standing
from emulator.trials.sweep import is_busy
from trellis.command.exits import UserError
from trellis.command.labels import trial_labels_of


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run directory as it was when it was looked at."""

    directory: RunDirectory
    standing: Standing
    state: str
    """The state: planned, running, interrupted, ended, analyzing, analyzed, reported or unreadable."""
    verdict: str
    """The verdict: valid, invalid, not as expected, failed, damaged, or "" before there is one."""
    bytes: int
    """The size of all its files."""
    age: float
    """The seconds since Trellis last wrote a status, the summary or the report."""

    @property
    def ended(self) -> int:
        """The number of trials that have ended."""
        return sum(trial.state in ENDED for trial in self.standing.trials)

    def fields(self) -> dict[str, Any]:
        """Return the run for JSON, without its trials."""
        return {
            "run": str(self.directory.path),
            "experiment": self.standing.experiment,
            "state": self.state,
            "verdict": self.verdict,
            "trials": len(self.standing.trials),
            "trials_ended": self.ended,
            "bytes": self.bytes,
            "age_s": round(self.age, 3),
            "problem": self.standing.problem,
        }

    def whole(self) -> dict[str, Any]:
        """Return the run for JSON, with its trials."""
        return self.fields() | {"standing": json.loads(self.standing.to_json())}


def look(directory: RunDirectory, named: bool = False) -> LocalRun:
    """Return how a run stands, with the names that a report gives its trials if it is `named`. A run that
    cannot be read is "unreadable", and its standing says why."""
    labels = trial_labels_of if named else None
    standing = Reader(directory, any_system=True, labels=labels).read()
    size, written = _size_and_time(directory)
    state, verdict = _state(directory, standing), _verdict(directory, standing)
    return LocalRun(directory, standing, state, verdict, size, max(0.0, time.time() - written))


def about_of(directory: RunDirectory) -> dict[str, Any]:
    """Return what is kept with a run in an object store: how it stood, and not where."""
    fields = look(directory).fields()
    return {key: fields[key] for key in ("experiment", "state", "verdict", "trials", "trials_ended")}


def find_runs(folder: Path) -> list[RunDirectory]:
    """Return the run directories in a folder, or the folder itself if it is one, by name.

    Raises UserError if there is no such folder, and OSError.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}. Name the one that was given to trellis run as --out")
    if RunDirectory(folder).experiment.is_file():
        return [RunDirectory(folder)]
    found = [RunDirectory(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    return [run for run in found if run.experiment.is_file()]


def _state(directory: RunDirectory, standing: Standing) -> str:
    if standing.problem:
        return "unreadable"
    if is_busy(directory):
        return "analyzing" if standing.ended else "running"
    if standing.ended:
        return "reported" if standing.reported else "analyzed" if standing.analyzed else "ended"
    begun = any(trial.state != "planned" or trial.reasons for trial in standing.trials)
    return "interrupted" if begun else "planned"


def _verdict(directory: RunDirectory, standing: Standing) -> str:
    if not standing.analyzed:
        return "failed" if standing.ended and "failed" in standing.counts else ""
    try:
        summary = read_summary(directory)
    except DamagedFile:
        return "damaged"
    if not summary.get("valid"):
        return "invalid"
    kept = all(each["holds"] for each in summary.get("expectations") or ())
    return "valid" if kept else "not as expected"


def _size_and_time(directory: RunDirectory) -> tuple[int, float]:
    """Return the bytes of all files, and when the youngest of those that tell of the run was written (unix
    seconds)."""
    size, written = 0, 0.0
    telling = {directory.experiment, directory.summary, directory.report}
    for file in _files(directory.path):
        try:
            found = file.lstat()
        except OSError:
            continue  # a run that goes on removes files, too
        size += found.st_size
        if file in telling or file.name == "status.json":
            written = max(written, found.st_mtime)
    return size, written


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent, name)
