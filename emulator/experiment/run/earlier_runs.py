"""Earlier runs of a schedule, on the volume of the present one: `runs/<time>` beside `run`."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from emulator.experiment.run.directory import RunDirectory, write_whole

_EARLIER = "runs"
_TURN = "turn"
"""The file with the name of the turn that `run` is of."""


def begin_turn(run: RunDirectory, turn: str, keep: int) -> None:
    """Move the run of an earlier turn aside, so that a new one can be made, and keep the last `keep` of them.

    A program that is started again in the same turn goes on with its run. Raises OSError.
    """
    volume = run.path.parent
    noted = volume / _TURN
    if noted.is_file() and noted.read_text() == turn:
        return
    if run.experiment.is_file():
        made = datetime.fromtimestamp(run.experiment.stat().st_mtime, UTC)
        folder = volume / _EARLIER
        folder.mkdir(exist_ok=True)
        run.path.rename(_free(folder, f"{made:%Y%m%d-%H%M%S}"))
    write_whole(noted, turn)
    for old in earlier_runs(run)[keep:]:
        shutil.rmtree(old.path)


def earlier_runs(run: RunDirectory) -> list[RunDirectory]:
    """Return the earlier runs beside this one, the youngest first. Raises OSError."""
    folder = run.path.parent / _EARLIER
    if not folder.is_dir():
        return []
    found = [RunDirectory(path) for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted((each for each in found if each.experiment.is_file()), key=_time, reverse=True)


def _time(run: RunDirectory) -> str:
    return run.path.name


def _free(folder: Path, name: str) -> Path:
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}"
    return path
