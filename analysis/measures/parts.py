"""Measures of parts of trials: of the operations that began in some time, at all peers or in a region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables
from analysis.contract.trouble import FAILURES, Trouble
from analysis.engine.one_partition import few
from analysis.measures.applicable import Asked, Trial, asked_of
from analysis.measures.measure_run import Values


class Placed(NamedTuple):
    """The columns that say to which part of a trial a row of a table belongs."""

    at: str
    """The time of the publication, the lookup, or whatever else the row is about."""
    peer: str = ""
    """The peer whose region is that of the row; empty if the row is about no single peer."""
    until: str = ""
    """The end of the row's interval, for rows that are about one: all of it is in the part."""


PLACED: Mapping[str, Placed] = {
    "broadcasts": Placed("at_s"),
    "completions": Placed("at_s", "peer"),
    "deliveries": Placed("published_s", "peer"),
    "false_alarms": Placed("at_s"),
    "gets": Placed("at_s", "peer"),
    "handled": Placed("published_s", "peer"),
    "installations": Placed("asked_s", "peer"),
    "lookups": Placed("at_s", "origin"),
    "observations": Placed("at_s", "peer"),
    "operations": Placed("at_s", "peer"),
    "puts": Placed("at_s", "peer"),
    "series": Placed("start_s", until="end_s"),
    "view_errors": Placed("at_s"),
}
"""The tables whose rows belong to a part of a trial."""

Window = tuple[float, float]
"""The trial times (s) from which and before which operations belong to a part."""
_PARTS = pa.schema(
    [
        ("trial", pa.string()),
        ("part", pa.string()),
        ("part_begins_s", pa.float64()),
        ("part_ends_s", pa.float64()),
        ("part_region", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of one trial."""

    trial: str
    window: Window
    region: str = ""
    """The region whose peers count; empty if all do."""


def measurable(asked: Sequence[Asked]) -> list[str]:
    """Return the names of the measures that can be had of a part of a trial."""
    return [name for one in asked for names in one.group.item.of_parts.values() for name in names]


def measure_parts(
    tables: Tables,
    parts: Sequence[Part],
    troubles: list[Trouble],
    only: Set[str] | None = None,
    homes: DataFrame | None = None,
) -> list[Values]:
    """Return the measures of the operations of each part.

    A part with no operation has measures without a value, but its counts (`MeasureGroup.zero`) are 0. Of one
    region that is so if the rows that are counted are about single peers. Queries of packages that fail are
    added to `troubles`. With `only`, queries that give none of these measures are not asked. `homes` has the
    region of each peer (trial, peer, region), for parts that are about one.
    """
    values: list[Values] = [{} for _ in parts]
    if not parts:
        return values
    of_parts = _OfParts(tables, parts, homes)
    rows = tables["trials"].collect()
    asked, _ = asked_of([Trial(row.trial, row.serves, row.system, row.has_faults) for row in rows])
    for one in asked:
        zero = dict.fromkeys(one.group.item.zero, 0.0)
        for query, names in one.group.item.of_parts.items():
            if only is not None and only.isdisjoint(names):
                continue
            of_parts.read.clear()
            try:
                found = {row.trial: row.asDict() for row in query(of_parts).collect()}
            except FAILURES as error:
                if not one.group.package:
                    raise
                troubles.append(one.group.trouble(error))
                continue
            for index, part in enumerate(parts):
                if part.trial in one.trials:
                    row = found.get(str(index), {} if part.region and not of_parts.by_peer else zero)
                    values[index] |= {name: _finite(row.get(name)) for name in names}
    return values


class _OfParts(Mapping[str, DataFrame]):
    """The tables of a run with the rows of each part, as if it were a trial whose name is the part's index.

    So a query is asked once about all parts. A row is in each part that it belongs to; rows of tables without
    such a time are in each part of their trial.
    """

    def __init__(self, tables: Tables, parts: Sequence[Part], homes: DataFrame | None) -> None:
        self._tables = tables
        self.read: set[str] = set()
        """The tables that were read."""
        rows = [
            (part.trial, str(index), *map(float, part.window), part.region)
            for index, part in enumerate(parts)
        ]
        self._parts = [dict(zip(_PARTS.names, row, strict=True)) for row in rows]
        self._homes = homes

    @property
    def by_peer(self) -> bool:
        """This is true if the rows that were read can be in the part of a region."""
        return all(PLACED[name].peer for name in self.read & PLACED.keys())

    def __getitem__(self, name: str) -> DataFrame:
        self.read.add(name)
        frame = self._tables[name]
        if "trial" not in frame.columns:
            return frame
        placed = PLACED.get(name)
        spark = frame.sparkSession
        parts = few(spark.createDataFrame(pa.Table.from_pylist(self._parts, _PARTS)))
        if placed is not None and placed.peer and self._homes is not None:
            homes = self._homes.select(
                "trial", F.col("peer").alias(placed.peer), F.col("region").alias("home_region")
            )
            frame = frame.join(few(homes), ["trial", placed.peer], "left")
        else:
            frame = frame.withColumn("home_region", F.lit(None).cast("string"))
        found = frame.join(parts, "trial")
        if placed is not None:
            begins, ends = F.col("part_begins_s"), F.col("part_ends_s")
            last = F.col(placed.until) <= ends if placed.until else F.col(placed.at) < ends
            here = (F.col("part_region") == "") | (F.col("part_region") == F.col("home_region"))
            found = found.where((F.col(placed.at) >= begins) & last & here)
        return found.withColumn("trial", F.col("part")).drop(*_PARTS.names[1:], "home_region")

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _finite(value: Any) -> float | None:
    """Return the value as a number, None if it is none."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
