"""This module compares the trials of a run with what their experiment expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.contract.measures import STATE_PREFIX, Measure
from analysis.contract.trials import TrialRecord
from analysis.measures.applicable import Trial, asked_of
from analysis.measures.measure_run import Values
from emulator.experiment.file.expectation import Expectation
from emulator.experiment.file.keys import suggestion
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants


@dataclass(frozen=True, slots=True)
class Broken:
    """A trial that is not as expected."""

    trial: str
    measured: float | None
    """The value in the measure's unit; None if it was not measured."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one expectation."""

    text: str
    measure: str
    unit: str
    """The unit of the measure."""
    trials: int
    """The number of trials that were compared."""
    broken: list[Broken]

    @property
    def holds(self) -> bool:
        return self.trials > 0 and not self.broken


def misfits(spec: ExperimentSpec) -> dict[int, str]:
    """Return what is wrong with expectations before anything runs, by their place in the file.

    A measure is unknown, or has another unit. Measures of what peers report of their own state are known when
    they have reported it.
    """
    known: dict[str, Measure] = {}
    for asked in asked_of(_trials(spec))[0]:
        known |= asked.group.item.measures
    found = {}
    for place, text in enumerate(spec.expect):
        expectation = Expectation.parse(text)
        about = known.get(expectation.measure)
        if about is not None:
            why = expectation.misfit(about.unit)
        elif expectation.measure.startswith(STATE_PREFIX):
            why = ""
        else:
            why = f"its trials have no such measure. {suggestion(expectation.measure, tuple(known))}"
        if why:
            found[place] = f'is "{text}", but {why}'
    return found


def _trials(spec: ExperimentSpec) -> list[Trial]:
    return [
        Trial(variant.name, variant.spec.workload.asks_for, variant.spec.system.name)
        for variant in variants(spec)
    ]


def judge_expectations(
    spec: ExperimentSpec,
    records: Sequence[TrialRecord],
    values: Mapping[str, Values],
    about: Mapping[str, Measure],
) -> list[Outcome]:
    """Return the outcome of each expectation over all trials, by their measured `values`.

    A trial without a value is not as expected, because nobody knows that it is.
    """
    outcomes = []
    for text in spec.expect:
        expectation = Expectation.parse(text)
        broken = []
        for record in records:
            measured = values.get(record.name, {}).get(expectation.measure)
            if measured is None or not expectation.holds(measured):
                broken.append(Broken(record.name, measured))
        measure = about.get(expectation.measure)
        unit = measure.unit if measure is not None else ""
        outcomes.append(Outcome(text, expectation.measure, unit, len(records), broken))
    return outcomes
