"""Prints the outcome of a finished run."""

from __future__ import annotations

import shlex

from rich.console import Console

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import read_summary
from emulator.files.damage import DamagedFile

out = Console(highlight=False)


def say_summary(directory: RunDirectory) -> bool:
    """Print whether the run is valid, and return it. Raises DamagedFile if its summary does not say it."""
    mend = f"Make it again: trellis analyze {shlex.quote(str(directory.path))}"
    summary = read_summary(directory)
    valid, reasons = summary.get("valid"), summary.get("reasons")
    if not isinstance(valid, bool) or not isinstance(reasons, list):
        raise DamagedFile(f"{directory.summary} is damaged: it does not say how the run is. {mend}")
    say_verdict(valid, [str(reason) for reason in reasons], directory)
    for trouble in summary.get("troubles") or ():
        out.print(f"could not be had: {trouble}", style="yellow", markup=False, soft_wrap=True)
    return valid


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
