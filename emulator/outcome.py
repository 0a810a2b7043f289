"""What the command says of a run that is over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from emulator.experiment.rundir import RunDirectory

out = Console(highlight=False)


def say_summary(directory: RunDirectory) -> bool:
    """Whether the run is valid, after telling so."""
    summary = json.loads(directory.summary.read_text())
    say_verdict(summary["valid"], summary["reasons"], directory)
    return bool(summary["valid"])


def say_verdict(valid: bool, reasons: list[str], directory: RunDirectory) -> None:
    """The verdict first, and then where to see more."""
    if valid:
        out.print("valid", style="green")
    else:
        out.print(f"INVALID: {'; '.join(reasons)}", style="red", markup=False, soft_wrap=True)
    if directory.report.exists():
        out.print(f"report: {directory.report}", markup=False, soft_wrap=True)
    else:
        out.print(f"run: {directory.path}", markup=False, soft_wrap=True)
