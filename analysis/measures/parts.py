"""Measures of a part of each trial: of the operations that began in some time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables
from analysis.contract.trouble import FAILURES, Trouble
from analysis.engine.one_partition import few
from analysis.measures.applicable import Asked, Trial, asked_of
from analysis.measures.measure_run import Values

TIMES: Mapping[str, str] = {
    "completions": "at_s",
    "deliveries": "published_s",
    "handled": "published_s",
    "installations": "asked_s",
    "lookups": "at_s",
    "operations": "at_s",
}
"""The tables whose rows belong to a part of a trial, and their column with the time that says to which: that
of the publication, the lookup, or whatever else a row is about."""

Window = tuple[float, float]
"""The trial times (s) from which and before which operations belong to a part."""


def measurable(asked: Sequence[Asked]) -> list[str]:
    """Return the names of the measures that can be had of a part of a trial."""
    return [name for one in asked for names in one.group.item.of_parts.values() for name in names]


def measure_part(
    tables: Tables,
    windows: Mapping[str, Window],
    troubles: list[Trouble],
    only: Set[str] | None = None,
) -> dict[str, Values]:
    """Return the measures of the operations of a part of each trial, whose window is given by trial.

    A trial with no operation in the part has measures without a value. Queries of packages that fail are
    added to `troubles`. With `only`, queries that give none of these measures are not asked.
    """
    values: dict[str, Values] = {trial: {} for trial in windows}
    of_part = _OfPart(tables, windows)
    rows = tables["trials"].collect()
    asked, _ = asked_of([Trial(row.trial, row.serves, row.system, row.has_faults) for row in rows])
    for one in asked:
        for query, names in one.group.item.of_parts.items():
            if only is not None and only.isdisjoint(names):
                continue
            try:
                found = {row.trial: row.asDict() for row in query(of_part).collect()}
            except FAILURES as error:
                if not one.group.package:
                    raise
                troubles.append(one.group.trouble(error))
                continue
            for trial in values.keys() & set(one.trials):
                row = found.get(trial, {})
                values[trial] |= {name: _finite(row.get(name)) for name in names}
    return values


class _OfPart(Mapping[str, DataFrame]):
    """The tables of a run, with the rows that belong to a part alone."""

    def __init__(self, tables: Tables, windows: Mapping[str, Window]) -> None:
        self._tables = tables
        self._windows = windows

    def __getitem__(self, name: str) -> DataFrame:
        frame = self._tables[name]
        return _within(frame, self._windows, TIMES[name]) if name in TIMES else frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _finite(value: Any) -> float | None:
    """Return the value as a number, None if it is none."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _within(frame: DataFrame, windows: Mapping[str, Window], at: str) -> DataFrame:
    """Return the rows that belong to the part."""
    spark = frame.sparkSession
    rows = [(trial, begins, ends) for trial, (begins, ends) in windows.items()]
    of_trials = spark.createDataFrame(rows, "trial string, part_begins_s double, part_ends_s double")
    return (
        frame.join(few(of_trials), "trial")
        .where((F.col(at) >= F.col("part_begins_s")) & (F.col(at) < F.col("part_ends_s")))
        .drop("part_begins_s", "part_ends_s")
    )
