"""Prints the outcome of a finished run."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from rich.console import Console

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import read_summary
from emulator.files.damage import DamagedFile
from emulator.files.input_facts import counted
from trellis.command.exits import BROKEN, INVALID, VALID, UserError

out = Console(highlight=False)
_SHOWN = 5
"""The most trials that are named for a broken expectation."""


def need_summary(directory: RunDirectory) -> None:
    """Raises UserError if the run has not been analyzed, DamagedFile if its summary is none, and OSError."""
    from emulator.trials.sweep import is_busy

    if directory.summary.is_file():
        read_summary(directory)
        return
    path = shlex.quote(str(directory.path))
    if is_busy(directory):
        raise UserError(
            f"{path} is not analyzed yet: another trellis runs or analyzes it. See: trellis status {path}"
        )
    raise UserError(f"{path} is not analyzed. First: trellis analyze {path}")


def say_summary(directory: RunDirectory) -> int:
    """Print whether the run is valid, and which expectations it breaks.

    Returns the exit status of the command. Raises DamagedFile if its summary does not say it.
    """
    from analysis.charts.results import trial_labels

    mend = f"Make it again: trellis analyze {shlex.quote(str(directory.path))}"
    summary = read_summary(directory)
    valid, reasons = summary.get("valid"), summary.get("reasons")
    if not isinstance(valid, bool) or not isinstance(reasons, list):
        raise DamagedFile(f"{directory.summary} is damaged: it does not say how the run is. {mend}")
    say_verdict(valid, [str(reason) for reason in reasons], directory)
    for trouble in summary.get("troubles") or ():
        out.print(f"could not be had: {trouble}", style="yellow", markup=False, soft_wrap=True)
    broken = [each for each in summary.get("expectations") or () if not each["holds"]]
    labels = trial_labels(summary) if broken else {}
    for each in broken:
        out.print(_told(each, labels), style="red", markup=False, soft_wrap=True)
    trials = summary.get("trials") or ()
    whole = valid or all(each["valid"] or was_ended(each["reasons"]) for each in trials)
    if broken and whole:
        return BROKEN
    return VALID if valid else INVALID


def was_ended(reasons: Collection[str]) -> bool:
    """Return whether a trial is invalid for no other reason than that a broken invariant has ended it."""
    from emulator.experiment.run.fidelity import INVARIANTS_BROKEN

    return bool(reasons) and all(reason.startswith(f"{INVARIANTS_BROKEN}: ") for reason in reasons)


def _told(expectation: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return how an expectation is broken: in how many trials, and by which values."""
    from analysis.charts.numerals import in_words

    broken, unit = expectation["broken"], expectation["unit"]
    shown = [
        f"{labels[each['trial']]}: {each.get('told') or in_words(each['measured'], unit)}"
        for each in broken[:_SHOWN]
    ]
    more = [f"{len(broken) - _SHOWN} more"] if len(broken) > _SHOWN else []
    which = f"in {len(broken)} of {counted(expectation['trials'], 'trial')}"
    return f"not as expected: {expectation['text']}, {which} ({'; '.join([*shown, *more])})"


def say_verdict(valid: bool, reasons: list[str], directory: RunDirectory) -> None:
    """Print the verdict first, and then where to see more."""
    if valid:
        out.print("valid", style="green")
    else:
        out.print(f"INVALID: {'; '.join(reasons)}", style="red", markup=False, soft_wrap=True)
    if directory.report.exists():
        out.print(f"report: {directory.report}", markup=False, soft_wrap=True)
    else:
        out.print(f"run: {directory.path}", markup=False, soft_wrap=True)
