"""The catalogue of the measures that Trellis has of its own, for all kinds of workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from analysis.contract.measures import STATE_PREFIX, Measure, MeasureGroup
from analysis.contract.workload_kinds import named, own
from analysis.measures.every_trial import EVERY_TRIAL
from analysis.measures.of_faults import RECOVERY
from emulator.contract.gauges import Gauge

_BETTER: dict[str, Literal["lower", "higher"]] = {"lower": "lower", "higher": "higher"}


def own_groups() -> list[MeasureGroup]:
    """Return each group once: those of kinds of workload, those of every trial, and those of trials with
    faults."""
    known, _ = named(own())
    of_kinds = [group for kind in known for group in kind.analysis.measures]
    return list(dict.fromkeys([*of_kinds, EVERY_TRIAL, RECOVERY]))


def own_measures() -> dict[str, Measure]:
    """Return all measures of Trellis by name."""
    return {name: measure for group in own_groups() for name, measure in group.measures.items()}


def describe(name: str, gauges: Mapping[str, Gauge] | None = None) -> Measure:
    """Return the description of a measure of Trellis; `state.<name>` is a gauge of a system. Raises KeyError.

    `gauges` are what components declare, by that name.
    """
    if name.startswith(STATE_PREFIX):
        channel, _, gauge = name.removeprefix(STATE_PREFIX).rpartition("/")
        title = gauge.replace("_", " ").capitalize() + (f" ({channel})" if channel else "")
        about = "What peers told of themselves at the end of the measure phase, mean over peers."
        told = (gauges or {}).get(name.removeprefix(STATE_PREFIX), Gauge())
        better = _BETTER.get(told.better or "")
        return Measure(title, told.unit, better, f"{told.text} {about}" if told.text else about, "Overlay")
    return own_measures()[name]
