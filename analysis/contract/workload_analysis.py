"""The analysis of a kind of workload: how it is judged and shown. A kind names it as its `analysis`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from analysis.contract.figures import Figure, Section, SettingLine
from analysis.contract.measures import MeasureGroup
from analysis.contract.tables import Make, SeriesPart, Table

INTERESTS = "trial string, event int, peer int, expected boolean"
"""The columns of the table `interests`."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadAnalysis:
    """The tables, measures and figures of a kind of workload, beyond those that all trials have.

    All trials have the tables of operations, completions, messages, sessions, states, links, observations and
    events, the traffic of peers, and the measures of these; a kind that names nothing here has only these.
    """

    interests: Make | None = None
    """The function that makes the table of the interests in events without a topic: trial, event, peer, and
    expected (the peer was up, and had asked, long enough before and after it). With it, the tables
    `deliveries`, `handled` and `relays`, and all measures of events, hold for the kind."""
    tables: Sequence[Table] = ()
    """The tables that are made of its trials before `series`, from the tables of all trials and from those
    before them."""
    measures: Sequence[MeasureGroup] = ()
    """The measures in the order in which they are shown; those of all trials follow."""
    series: SeriesPart | None = None
    delays: Mapping[str, Callable[[Mapping[str, DataFrame]], DataFrame]] = field(default_factory=dict)
    """The functions that return delays whose distribution is drawn (the table `delay_cdf`), by operation:
    trial, hops, delay_ms, penalty (times the direct delay); a row for each operation that ended, null for
    what it does not have."""
    figures: Sequence[Figure] = ()
    sections: Sequence[Section] = ()
    setting: Sequence[SettingLine] = ()
    """The lines of "What was run"."""
    in_every_run: bool = False
    """Whether every run has its tables and columns, without rows where no trial is of the kind."""


GENERIC = WorkloadAnalysis()
"""The analysis of a kind that names none."""
