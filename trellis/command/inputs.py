"""What the command prints about the inputs of an experiment, and the check that its plans can be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.files.damage import DamagedFile
from trellis.command.exits import err
from trellis.command.outcome import out

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.run.directory import RunDirectory
    from emulator.files.input_facts import Facts
    from emulator.trials.sweep import Update


def check_drawing(spec: ExperimentSpec, file: Path) -> None:
    """Draw the plans and print what is told of their inputs. Raises ExperimentError if one cannot be."""
    from emulator.experiment.file.document import ExperimentError, Place, Problem
    from emulator.experiment.plan.check_plans import LONGEST, check_plans

    found = check_plans(spec)
    problems = []
    for reason, trials in found.refused.items():
        others = f" and {len(trials) - 1:,} more" if len(trials) > 1 else ""
        text = f"{reason} (so no plan can be drawn for {trials[0]}{others})"
        problems.append(Problem(Place(str(file)), "", text))
    if problems:
        raise ExperimentError(problems)
    say_inputs(found.inputs)
    if found.drawn < found.plans:
        drawn = f"{found.drawn:,} of {found.plans:,} plans were drawn, in {LONGEST:g} s"
        text = f"{drawn}; the others were not checked"
        err.print(text, markup=False, soft_wrap=True)


class InputWarnings:
    """Prints what is warned of the inputs of a sweep, each warning once, as soon as a plan is there."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._read: set[str] = set()
        self._warned: set[str] = set()

    def update(self, update: Update) -> None:
        """Take news of a trial."""
        from emulator.experiment.plan.input_facts import read_inputs

        drawn = update.state != "running" or update.progress is not None
        if not drawn or update.trial in self._read:
            return
        try:
            inputs = read_inputs(self._run.trial(update.trial).plan)
        except DamagedFile:
            inputs = {}  # the report names the file; here it must not end the sweep
        if inputs or update.state != "running":
            self._read.add(update.trial)
        for key, facts in inputs.items():
            for sentence in facts.warnings:
                if (warning := f"{key}: {sentence}") not in self._warned:
                    self._warned.add(warning)
                    _warn(f"{warning} (in {update.trial})")


def _warn(text: str) -> None:
    err.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)


def say_inputs(inputs: Mapping[str, Mapping[str, Facts]]) -> None:
    """Print what is told of the inputs of trials, the warnings last and on the error stream."""
    from emulator.experiment.plan.check_plans import lines_of

    said, warnings = lines_of(inputs)
    for line in said:
        out.print(line, markup=False, soft_wrap=True)
    for line in warnings:
        _warn(line)
