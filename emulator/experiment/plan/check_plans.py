"""Draws every plan of an experiment, to see whether it can be drawn and what is to be told of its inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import Trial
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.load import Load, load
from emulator.experiment.plan.undrawable import Undrawable
from emulator.files.input_facts import Facts

LONGEST = 120.0
"""The seconds of processor time after which no further plan is drawn."""
_OF_THE_PLAN = {"peers", "network", "workload", "churn", "faults", "phases", "seed"}
"""The parts of a trial's spec that its plan is drawn from: all systems are given the same plan."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason for which a plan cannot be drawn."""

    key: str
    """The dotted key that has to change."""
    text: str
    file: Path | None
    """The file of the experiment's inputs that is at fault, if it is one."""


def refusals_in(error: Undrawable) -> Iterator[Refusal]:
    """Yield the reasons that an error has."""
    for key, text in error.problems:
        yield Refusal(key, " ".join(text.split()), error.file)


@dataclass(slots=True)
class Checked:
    """The outcome of drawing the plans."""

    plans: int = 0
    """The number of different plans."""
    drawn: int = 0
    """The number of these that were drawn, or refused."""
    refused: dict[Refusal, list[str]] = field(default_factory=dict)
    """The reasons for which plans cannot be drawn, each with the names of the trials."""
    inputs: dict[str, Mapping[str, Facts]] = field(default_factory=dict)
    """The facts about the inputs of each plan, by the name of its first trial and by key."""
    sizes: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """The number of rows of each table of a plan that has any, by the name of the plan's first trial."""
    loads: dict[str, Load] = field(default_factory=dict)
    """The load of the plan of each trial, by the trial's name."""


def check_plans(
    trials: Iterable[Trial], watch: Callable[[str], None] = lambda trial: None, longest: float = LONGEST
) -> Checked:
    """Draw each plan once, whatever the systems that are given it; `watch` is told the name of its trial."""
    different: dict[str, list[tuple[str, TrialSpec]]] = {}
    for trial in trials:
        of_the_plan = trial.spec.model_dump_json(include=_OF_THE_PLAN)
        different.setdefault(of_the_plan, []).append((trial.name, trial.spec))
    found, begun = Checked(plans=len(different)), time.process_time()
    for same in different.values():
        if time.process_time() - begun > longest:
            break
        names = [name for name, _ in same]
        watch(names[0])
        found.drawn += 1
        try:
            plan = draw_plan(same[0][1])
            found.inputs[names[0]] = plan.inputs
            found.loads.update(dict.fromkeys(names, load(plan)))
            faults = {"faults": len(same[0][1].faults)}
            found.sizes[names[0]] = {
                name: faults.get(name, table.num_rows) for name, table in plan.all_tables() if table.num_rows
            }
        except Undrawable as error:
            for refusal in refusals_in(error):
                found.refused.setdefault(refusal, []).extend(names)
    return found


def lines_of(inputs: Mapping[str, Mapping[str, Facts]], most: int = 30) -> tuple[list[str], list[str]]:
    """Return what is told of the inputs of several trials, and the warnings, each once, at most so many.

    What not all trials have names the first that has it.
    """
    return (
        _lines(
            inputs, [(t, k, s) for t, told in inputs.items() for k, f in told.items() for s in f.said], most
        ),
        _lines(
            inputs,
            [(t, k, s) for t, told in inputs.items() for k, f in told.items() for s in f.warnings],
            most,
        ),
    )


def _lines(
    inputs: Mapping[str, Mapping[str, Facts]], sentences: Iterable[tuple[str, str, str]], most: int
) -> list[str]:
    found: dict[str, list[str]] = {}
    for trial, key, sentence in sentences:
        found.setdefault(f"{key}: {sentence}", []).append(trial)
    lines = []
    for line, those in found.items():
        whose = (
            ""
            if len(those) == len(inputs)
            else f" (in {len(those)} of {len(inputs)} plans, such as {those[0]})"
        )
        lines.append(line + whose)
    more = len(lines) - most
    return lines[:most] + ([f"and {more:,} more"] if more > 0 else [])
