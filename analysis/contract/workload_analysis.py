"""How a kind of workload is judged and shown: what its `analysis` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from analysis.contract.figures import Figure, Section, SettingLine
from analysis.contract.measures import MeasureGroup
from analysis.contract.tables import Make, SeriesPart, Table

INTERESTS = "trial string, event int, peer int, expected boolean"
"""Columns of the table `interests`."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadAnalysis:
    """What is made of trials of a kind of workload, beside what is made of all trials.

    Of all trials there are the tables of operations, messages, sessions, states, links, observations and
    events, the traffic of peers, and the measures of these; a kind that names nothing here has that alone.
    """

    interests: Make | None = None
    """Who was to get each event that has no topic: trial, event, peer, and expected (the peer was up, and had
    asked, long enough before and after it). With that, the tables `deliveries`, `handled` and `relays`, and
    all measures of events, hold for the kind."""
    tables: Sequence[Table] = ()
    """Made of its trials before `series`. They may be made of the tables of all trials, and of those before
    them."""
    measures: Sequence[MeasureGroup] = ()
    """In the order in which they are shown; those of all trials follow."""
    series: SeriesPart | None = None
    delays: Mapping[str, Callable[[Mapping[str, DataFrame]], DataFrame]] = field(default_factory=dict)
    """Delays whose distribution is drawn (the table `delay_cdf`), by the name of their operation: trial,
    hops, delay_ms, penalty (times the direct delay); a row for each that ended, null for what it has not."""
    figures: Sequence[Figure] = ()
    sections: Sequence[Section] = ()
    setting: Sequence[SettingLine] = ()
    """Lines of "What was run"."""


GENERIC = WorkloadAnalysis()
"""Of a kind that names no analysis."""
