"""This module compares the trials of a run with what their experiment expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final

from analysis.contract.measures import STATE_PREFIX, Measure, Tables
from analysis.contract.trials import TrialRecord
from analysis.contract.trouble import Trouble
from analysis.contract.workload_kinds import named, own
from analysis.measures.applicable import Trial, asked_of
from analysis.measures.asked_counts import COUNTS
from analysis.measures.catalogue import own_measures
from analysis.measures.measure_run import Measured, Values
from analysis.measures.of_faults import RECOVERS, RECOVERY
from analysis.measures.parts import Part, measurable, measure_parts
from emulator.experiment.file.expectation import Expectation
from emulator.experiment.file.keys import suggestion
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants
from emulator.experiment.run.seals import is_changed

_DELAYS: Final = ("delay_ms", "lookup_delay_ms", "get_delay_ms", "broadcast_last_ms")
_SUCCESSES: Final = ("hit_ratio", "lookup_success", "get_success", "broadcast_reliability")
_OTHER_NAMES: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("latency", "latency_ms", "delay", "mean_latency", "avg_latency", "rtt"), _DELAYS),
    **dict.fromkeys(("p99_latency", "latency_p99", "p99"), ("delay_ms_p99", "lookup_delay_ms_p99")),
    **dict.fromkeys(
        ("delivery_ratio", "delivery_rate", "success_rate", "success", "reliability"), _SUCCESSES
    ),
    **dict.fromkeys(("hops", "path_length"), ("delay_hops", "lookup_hops", "get_hops")),
}
"""Measures by the names that other tools have for them, those of each kind of workload."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A trial that is not as expected."""

    trial: str
    measured: float | None
    """The value in the measure's unit; None if it was not measured."""
    told: str = ""
    """What is told instead of a value, of an invariant on the states of peers."""


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
    measured: dict[str, float | None] = field(default_factory=dict)
    """The value of each trial in the measure's unit; none of invariants on the states of peers."""

    @property
    def holds(self) -> bool:
        return self.trials > 0 and not self.broken


def judge_invariants(records: Sequence[TrialRecord]) -> list[Outcome]:
    """Return the outcome of each invariant that trials ask for, over those that do.

    An invariant that nobody looked at is not as expected, because nobody knows that it holds; nor is one of a
    trial whose file of invariants was changed since. Raises DamagedFile.
    """
    outcomes: dict[str, list[Broken]] = {}
    trials: Counter[str] = Counter()
    for record in records:
        if record.spec.invariants is None:
            continue
        found = record.directory.read_invariants()
        looks, broken = found.get("looks", {}), found.get("broken", [])
        file = record.directory.invariants
        changed = is_changed(file, record.status)
        for text in record.spec.invariants.hold or looks:
            trials[text] += 1
            outcome = outcomes.setdefault(text, [])
            of_text = [each for each in broken if each["invariant"] == text]
            if changed:
                told = f"its {file.name} was changed since the trial ended"
                outcome.append(Broken(record.name, None, told))
            elif of_text:
                outcome.append(Broken(record.name, None, _told(of_text)))
            elif not looks.get(text):
                outcome.append(Broken(record.name, None, "nobody looked at it"))
    return [Outcome(text, "", "", trials[text], broken) for text, broken in outcomes.items()]


def _told(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the first time that an invariant was broken, in words."""
    first = found[0]
    peers = ", ".join(str(peer) for peer in first["peers"])
    before = f"; before: {', '.join(first['before'])}" if first["before"] else ""
    often = f", and {len(found) - 1} times more" if len(found) > 1 else ""
    return f"{first['text']} (at {first['at_s']:g} s, peers {peers}{often}{before})"


def misfits(spec: ExperimentSpec) -> dict[int, str]:
    """Return what is wrong with expectations before anything runs, by their place in the file.

    A measure is unknown, or has another unit. Measures of what peers report of their own state are known when
    they have reported it.
    """
    known: dict[str, Measure] = {}
    asked, _ = asked_of(_trials(spec))
    for one in asked:
        known |= one.group.item.measures
    for recovery, needed in RECOVERS.items():
        if needed not in known:
            known.pop(recovery, None)
    of_parts = measurable(asked)
    found = {}
    for place, text in enumerate(spec.expect):
        expectation = Expectation.parse(text)
        about = known.get(expectation.measure)
        if about is not None:
            why = expectation.misfit(about.unit) or _misfit_of_part(expectation, spec, of_parts)
        elif expectation.part is None and expectation.measure.startswith(STATE_PREFIX):
            why = ""
        elif expectation.measure in own_measures():
            why = _absent(expectation.measure, spec, tuple(known))
        else:
            meant = _meant(expectation, known)
            advice = f'Write "{meant}"' if meant else suggestion(expectation.measure, tuple(known))
            why = f"its trials have no such measure. {advice}"
        if why:
            found[place] = f'is "{text}", but {why}'
    return found


def _meant(expectation: Expectation, known: Mapping[str, Measure]) -> str:
    """Return the condition with the measure of these trials that has another name in other tools, or an empty
    text."""
    for name in _OTHER_NAMES.get(expectation.measure, ()):
        if name in known and not expectation.misfit(known[name].unit):
            return expectation.text.replace(expectation.measure, name, 1)
    return ""


def _absent(measure: str, spec: ExperimentSpec, known: Sequence[str]) -> str:
    """Return why no trial has this measure of Trellis, and which ones there are instead."""
    if measure in RECOVERY.measures:
        recoveries = [name for name in RECOVERY.measures if name in known]
        if not recoveries:
            return (
                "it is measured of trials with `faults` or an attack for a time, and the experiment has none"
            )
        return (
            f"it needs the measure {RECOVERS[measure]}, which its trials do not have. Their recovery is "
            f"measured by {' and '.join(recoveries)}"
        )
    kinds_of_workload, _ = named(own())
    having = [
        kind.name
        for kind in kinds_of_workload
        if any(measure in group.measures for group in kind.analysis.measures)
    ]
    serve = ", ".join(dict.fromkeys(variant.spec.workload.asks_for for variant in variants(spec)))
    whose = "of some systems" if serve in having else f"of the workload {' or '.join(having)}"
    return (
        f"its trials have no such measure: it is one {whose}, and theirs is {serve}. "
        f"Theirs are: {', '.join(known)}"
    )


def _misfit_of_part(expectation: Expectation, spec: ExperimentSpec, known: Sequence[str]) -> str:
    """Return why the measure cannot be had of the part that is asked for, in some variant, or ""."""
    part = expectation.part
    if part is None:
        return ""
    if expectation.measure not in known:
        return f"that measure cannot be had of a part of a trial. These can: {', '.join(known)}"
    for variant in variants(spec):
        try:
            part.window(variant.spec.phases.measured, variant.spec.windows)
        except ValueError as error:
            return str(error)
    return ""


def measure_expected(
    tables: Tables,
    spec: ExperimentSpec,
    records: Sequence[TrialRecord],
    troubles: list[Trouble],
    only: Set[str] | None = None,
) -> dict[str, dict[str, Values]]:
    """Return the measures of the parts of trials that expectations are about, by the text of the part and by
    trial. `troubles` and `only` are those of `measure_parts`."""
    expected = (Expectation.parse(text).part for text in spec.expect)
    each = {part.text: part for part in expected if part is not None}
    those = [(text, record) for text in each for record in records]
    parts = [
        Part(record.name, each[text].window(record.spec.phases.measured, record.spec.windows))
        for text, record in those
    ]
    found: dict[str, dict[str, Values]] = {text: {} for text in each}
    for (text, record), values in zip(those, measure_parts(tables, parts, troubles, only), strict=True):
        found[text][record.name] = values
    return found


def _trials(spec: ExperimentSpec) -> list[Trial]:
    return [
        Trial(
            variant.name,
            variant.spec.workload.asks_for,
            variant.spec.system.name,
            bool(variant.spec.episodes),
        )
        for variant in variants(spec)
    ]


def judge_expectations(
    spec: ExperimentSpec,
    records: Sequence[TrialRecord],
    found: Measured,
) -> list[Outcome]:
    """Return the outcome of each expectation over all trials.

    A trial without a value is not as expected, because nobody knows that it is. A count that is shown only
    where it is above 0 is 0 in a trial without one.
    """
    outcomes = []
    for text in spec.expect:
        expectation = Expectation.parse(text)
        part = expectation.part
        values = found.values if part is None else found.of_parts.get(part.text, {})
        measure = found.about.get(expectation.measure)
        unit = measure.unit if measure is not None else ""
        measured: dict[str, float | None] = {}
        for record in records:
            of_trial = values.get(record.name, {})
            value = of_trial.get(expectation.measure)
            if value is None and expectation.measure in COUNTS.keys() & of_trial:
                value = 0.0
            measured[record.name] = value
        broken = [
            Broken(trial, value)
            for trial, value in measured.items()
            if value is None or not expectation.holds(value, unit)
        ]
        outcomes.append(Outcome(text, expectation.measure, unit, len(records), broken, measured))
    return outcomes
