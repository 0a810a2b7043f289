"""Measures, and groups of measures that are queried together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from pyspark.sql import DataFrame

Tables = Mapping[str, DataFrame]
"""The tables of a run by name, all trials together (`docs/tables.md` describes them)."""
Query = Callable[[Tables], DataFrame]
"""A function that returns one row a trial: the column `trial`, and a column for each measure that it finds.

A trial without a row, or with a null, was not measured.
"""
STATE_PREFIX = "state."
"""The prefix of the names of measures that are means of what peers report of their own state."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a trial."""

    title: str
    unit: str
    """The unit; "share" is 0 to 1 and is shown in percent; empty if the measure has none."""
    better: Literal["lower", "higher"] | None
    about: str
    """The meaning of the measure: whole sentences or a phrase."""
    group: str = ""
    """The heading of the report under which the measure stands; empty: that of the trial itself."""
    formula: str = ""
    """How the number is made, such as "mean over deliveries of the hops"; `defined` of
    `analysis.contract.formulas` gives it to the mean, quantiles and extremes of a quantity at once."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureGroup:
    """Measures that come from the same few queries. Packages add theirs in the group `trellis.measures`."""

    measures: Mapping[str, Measure]
    """The measures by name, in the order in which they are shown. A name is lower case: letters, digits,
    underscores."""
    queries: Sequence[Query]
    """The queries, one of which has a column for each measure."""
    zero: Collection[str] = ()
    """The measures that are 0, and not unmeasured, in a trial of which no query has a row."""
    workloads: Collection[str] = ()
    """The kinds of workload in whose trials they are measured; empty: all."""
    systems: Collection[str] = ()
    """The systems in whose trials they are measured; empty: all."""
    of_parts: Mapping[Query, Collection[str]] = field(default_factory=dict)
    """The queries that can be asked about the operations of a part of a trial, with the measures that they
    then give: most are some of `queries`. They read no tables but those of `analysis.measures.parts`, where
    each part is a trial of its own."""

    def __post_init__(self) -> None:
        for name, measure in self.measures.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f'the measure "{name}" has a name that is not of a-z, 0-9 and _')
            if not isinstance(measure, Measure):
                raise ValueError(f'the measure "{name}" is of type {type(measure).__name__}, not Measure')
            texts = (measure.title, measure.unit, measure.about, measure.group, measure.formula)
            if not all(isinstance(text, str) for text in texts):
                raise ValueError(f'title, unit, about, group and formula of the measure "{name}" are texts')
            if measure.better not in ("lower", "higher", None):
                raise ValueError(f'the measure "{name}" is better "{measure.better}": say lower or higher')
        if not self.measures or not self.queries:
            raise ValueError("a MeasureGroup needs at least one measure and one query")
        if isinstance(self.queries, str) or not all(callable(query) for query in self.queries):
            raise ValueError("queries are functions of the tables: write (function,)")
        if isinstance(self.workloads, str) or isinstance(self.systems, str):
            raise ValueError("workloads and systems are collections of names: write (name,)")
        if unknown := set(self.zero) - set(self.measures):
            raise ValueError(f"zero names {', '.join(sorted(unknown))}, which is none of the measures")
        if unknown := {name for names in self.of_parts.values() for name in names} - set(self.measures):
            raise ValueError(f"of_parts names {', '.join(sorted(unknown))}, which is none of the measures")

    def applies(self, workload: str, system: str) -> bool:
        """Return whether trials of this kind of workload and this system have these measures."""
        return (not self.workloads or workload in self.workloads) and (
            not self.systems or system in self.systems
        )


def lower(title: str, unit: str, about: str) -> Measure:
    """Return a measure of which less is better."""
    return Measure(title, unit, "lower", about)


def share(title: str, about: str) -> Measure:
    """Return a share of which more is better."""
    return Measure(title, "share", "higher", about)


def rated(
    told: Mapping[str, tuple[str, str, str]], higher: Set[str], neither: Set[str]
) -> dict[str, Measure]:
    """Return measures by name from (title, unit, about).

    Of those in `higher` more is better, of those in `neither` neither more nor less, and of the others less.
    """
    return {
        name: Measure(
            title, unit, None if name in neither else "higher" if name in higher else "lower", about
        )
        for name, (title, unit, about) in told.items()
    }


def grouped(headings: Mapping[str, tuple[str, ...]], measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures, each with the first heading that lists a prefix of its name."""

    def heading(name: str) -> str:
        return next((title for title, begin in headings.items() if name.startswith(begin)), "")

    return {name: replace(measure, group=heading(name)) for name, measure in measures.items()}
