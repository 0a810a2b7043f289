"""Prints facts and warnings about the inputs of an experiment, and checks that its plans can be drawn."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.files.damage import DamagedFile
from emulator.files.input_facts import counted
from trellis.command.exits import UserError, err
from trellis.command.outcome import out

if TYPE_CHECKING:
    from emulator.experiment.file.document import Problem
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.file.variants import Trial
    from emulator.experiment.plan.check_plans import Checked, Refusal
    from emulator.experiment.run.directory import RunDirectory, TrialDirectory
    from emulator.files.input_facts import Facts
    from emulator.trials.sweep import Update


def refuse_draws(spec: ExperimentSpec, file: Path) -> None:
    """Raises UserError for a file from which trials are to be drawn: it is run by another command."""
    if spec.draw:
        raise UserError(f"{file} has `draw`. Run it by trellis campaign {shlex.quote(str(file))}")


def check_drawing(spec: ExperimentSpec, file: Path, options: Sequence[str]) -> Checked:
    """Draw the plans and return what is told of their inputs. Raises ExperimentError if one cannot be."""
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.file.variants import trials
    from emulator.experiment.plan.check_plans import check_plans

    found = check_plans(trials(spec))
    if found.refused:
        raise ExperimentError(_placed(found.refused, file, options))
    return found


def say_checked(found: Checked) -> None:
    """Print what is told of the inputs of the plans that were drawn, and how many were not."""
    from emulator.experiment.plan.check_plans import LONGEST

    say_inputs(found.inputs)
    if found.drawn < found.plans:
        drawn = f"{found.drawn:,} of {counted(found.plans, 'plan')} were drawn, in {LONGEST:g} s"
        text = f"{drawn}; the others were not checked"
        err.print(text, markup=False, soft_wrap=True)


def checked_fields(found: Checked) -> dict[str, Any]:
    """Return for JSON what `say_checked` prints: the numbers of plans, and the sentences on inputs."""
    from emulator.experiment.plan.check_plans import lines_of

    said, warnings = lines_of(found.inputs)
    return {"plans": found.plans, "plans_drawn": found.drawn, "inputs": said, "warnings": warnings}


def _placed(refused: Mapping[Refusal, Sequence[str]], file: Path, options: Sequence[str]) -> list[Problem]:
    """Return each refusal, which has the names of its trials, where the experiment has its key."""
    from emulator.experiment.file.refusals import Refusals

    refusals, problems = Refusals(file, options), []
    for reason, trials in refused.items():
        others = f" and {len(trials) - 1:,} more" if len(trials) > 1 else ""
        text = f"{reason.text} (so no plan can be drawn for {trials[0]}{others})"
        problems.append(refusals.problem(reason.key, text, reason.file))
    return problems


def draw_or_refuse(trial: Trial, directory: TrialDirectory, file: Path, options: Sequence[str]) -> None:
    """Draw a trial's plan, if it has none. Raises ExperimentError if it cannot be drawn, UserError if the
    plan that is there is of no use."""
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.plan.check_plans import refusals_in
    from emulator.experiment.plan.undrawable import Undrawable
    from emulator.trials.trial import plan_trial

    try:
        plan_trial(trial.spec, directory)
    except Undrawable as error:
        refused = {refusal: [trial.name] for refusal in refusals_in(error)}
        raise ExperimentError(_placed(refused, file, options)) from None
    except ValueError as error:
        raise UserError(f"{trial.name}: {error}") from None


def say_refused(
    outcomes: Sequence[Update], run: RunDirectory, spec: ExperimentSpec, file: Path, options: Sequence[str]
) -> None:
    """Print where the experiment has what the plans of failed trials were refused for.

    These plans are drawn once more: a trial that ran in another process left only a sentence.
    """
    from emulator.experiment.file.variants import trials
    from emulator.experiment.plan.check_plans import check_plans

    failed = {o.trial for o in outcomes if o.state == "failed" and not run.trial(o.trial).plan.exists()}
    if failed:
        found = check_plans(trial for trial in trials(spec) if trial.name in failed)
        for problem in _placed(found.refused, file, options):
            err.print(str(problem), markup=False, soft_wrap=True)


class InputWarnings:
    """Prints what is warned of the inputs of a sweep, each warning once, as soon as a plan is there."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._read: set[str] = set()
        self._warned: set[str] = set()

    def update(self, update: Update) -> None:
        """Take news of a trial."""
        from emulator.experiment.plan.inputs_file import read_inputs

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
                    warn(f"{warning} (in {update.trial})")


def warn(text: str) -> None:
    """Print a warning on the error stream."""
    err.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)


def say_inputs(inputs: Mapping[str, Mapping[str, Facts]]) -> None:
    """Print what is told of the inputs of trials, the warnings last and on the error stream."""
    from emulator.experiment.plan.check_plans import lines_of

    said, warnings = lines_of(inputs)
    for line in said:
        out.print(line, markup=False, soft_wrap=True)
    for line in warnings:
        warn(line)
