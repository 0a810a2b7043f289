"""Interests in events that have values of attributes instead of a topic.

A subscription matches an event if the event has each attribute that the subscription names, with a value in
the closed range or in the set. numpy joins all subscriptions with all events, some events at a time: a join
of rows would make a quarter of a billion comparisons for 25,000 subscriptions and 10,000 events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.tables.deliveries import JOIN_GRACE_S, LEAVE_GRACE_S, MARGIN_S, published

_PARTS = 8
"""The number of parts of a trial's events, each for one task."""
_EVENTS_AT_ONCE = 128
INTERESTS = "trial string, event int, peer int, expected boolean"
"""The columns of the table."""

Tables = Mapping[str, DataFrame]
Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]


def interests(tables: Tables, publications: DataFrame) -> DataFrame:
    """Return the rows of the table `interests`; `publications` is the plan's."""
    events = (
        publications.where("attributes is not null")
        .select("trial", "event", "attributes")
        .join(published(tables).select("trial", "event", "published_s"), ["trial", "event"])
        .join(tables["trials"].select("trial", "trial_end_s"), "trial")
        .withColumn("part", F.col("event") % _PARTS)
    )
    up = (
        tables["sessions"]
        .where("start_s is not null")
        .groupBy("trial", "peer")
        .agg(F.sort_array(F.collect_list(F.struct("start_s", "end_s"))).alias("sessions"))
    )
    asked = (
        tables["subscriptions"]
        .where("ranges is not null")
        .select("trial", "peer", "ranges", "start_s", "end_s")
        .join(up, ["trial", "peer"])
        .withColumn("part", F.explode(F.sequence(F.lit(0), F.lit(_PARTS - 1))))
    )
    keys = ["trial", "part"]
    return events.groupBy(*keys).cogroup(asked.groupBy(*keys)).applyInArrow(match, INTERESTS)


def match(events: pa.Table, subscriptions: pa.Table) -> pa.Table:
    """Return the interests of some events of one trial.

    `events` has trial, event, published_s, trial_end_s and attributes, `subscriptions` peer, ranges, start_s,
    end_s and the sessions of the peer.
    """
    if not events.num_rows or not subscriptions.num_rows:
        return pa.table([[]] * 4, schema=_schema())
    asked = _Subscriptions.of(subscriptions)
    numbers = events["event"].to_numpy()
    published_s = events["published_s"].to_numpy()
    trial_end_s = float(events["trial_end_s"][0].as_py())
    values = _values(events, asked.names)
    found = []
    for first in range(0, len(numbers), _EVENTS_AT_ONCE):
        some = slice(first, first + _EVENTS_AT_ONCE)
        interested, expected = asked.match(values[:, some], published_s[some], trial_end_s)
        event, peer = np.nonzero(interested)
        found.append((numbers[some][event], asked.peers[peer], expected[event, peer]))
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    trial = pa.repeat(events["trial"][0], len(columns[0]))
    return pa.table([trial, *map(pa.array, columns)], schema=_schema())


def _schema() -> pa.Schema:
    return pa.schema(
        [("trial", pa.string()), ("event", pa.int32()), ("peer", pa.int32()), ("expected", pa.bool_())]
    )


@dataclass(frozen=True, slots=True)
class _Subscriptions:
    """Subscriptions in the order of their peers; `low` and `high` have a row for each attribute."""

    names: list[str]
    low: Numbers
    high: Numbers
    unnamed: Booleans
    """Whether a subscription says nothing of an attribute."""
    sets: dict[int, tuple[Booleans, dict[float, npt.NDArray[np.int64]]]]
    """For each attribute, the subscriptions that name a set of its values, and for each value those whose set
    has it."""
    asked_s: Numbers
    given_up_s: Numbers
    peers: npt.NDArray[np.int32]
    """The peers, each once; its subscriptions begin at `first`, its sessions at `first_session`."""
    first: npt.NDArray[np.intp]
    start_s: Numbers
    end_s: Numbers
    first_session: npt.NDArray[np.intp]

    @classmethod
    def of(cls, table: pa.Table) -> _Subscriptions:
        table = table.sort_by("peer").combine_chunks()
        names: list[str] = []
        low, high = np.empty((0, table.num_rows)), np.empty((0, table.num_rows))
        sets = {}
        for name, rows, parts in _by_attribute(table["ranges"]):
            bounds = np.full((2, 1, table.num_rows), (([-np.inf],), ([np.inf],)))
            bounds[0, 0, rows] = pc.struct_field(parts, "low").to_numpy(zero_copy_only=False)
            bounds[1, 0, rows] = pc.struct_field(parts, "high").to_numpy(zero_copy_only=False)
            low, high = np.concatenate([low, bounds[0]]), np.concatenate([high, bounds[1]])
            if "values" in parts.type.names and pc.struct_field(parts, "values").null_count < len(parts):
                sets[len(names)] = _members(rows, pc.struct_field(parts, "values"), table.num_rows)
            names.append(name)
        peers, first = np.unique(table["peer"].to_numpy(), return_index=True)
        sessions = table["sessions"].combine_chunks().take(pa.array(first))
        flat = sessions.flatten()
        lengths = sessions.value_lengths().to_numpy(zero_copy_only=False)
        return cls(
            names=names,
            low=low,
            high=high,
            unnamed=np.isneginf(low),
            sets=sets,
            asked_s=table["start_s"].to_numpy(),
            given_up_s=table["end_s"].to_numpy(),
            peers=peers,
            first=first,
            start_s=pc.struct_field(flat, "start_s").to_numpy(zero_copy_only=False),
            end_s=pc.struct_field(flat, "end_s").to_numpy(zero_copy_only=False),
            first_session=np.cumsum(lengths) - lengths,
        )

    def match(self, values: Numbers, published_s: Numbers, trial_end_s: float) -> tuple[Booleans, Booleans]:
        """Return for each event (row) and peer (column) whether it is interested, and whether it should get
        the event.

        `values` has a row for each attribute and a column for each event, NaN where the event lacks it.
        """
        at = published_s[:, None]
        settled = at - JOIN_GRACE_S + MARGIN_S
        stays_until = np.minimum(at + LEAVE_GRACE_S, trial_end_s - MARGIN_S)
        hits = (self.asked_s <= at) & (at < self.given_up_s)
        for value, low, high, unnamed in zip(values, self.low, self.high, self.unnamed, strict=True):
            hits &= ((low <= value[:, None]) & (value[:, None] <= high)) | unnamed
        for index, (named, having) in self.sets.items():
            for event, value in enumerate(values[index]):
                missed = named.copy()
                missed[having.get(float(value), [])] = False
                hits[event] &= ~missed
        long_held = ((self.asked_s <= 0) | (self.asked_s <= settled)) & (self.given_up_s >= stays_until)
        long_up = (self.start_s <= settled) & (self.end_s >= stays_until)
        interested = np.logical_or.reduceat(hits, self.first, axis=1)
        expected = np.logical_or.reduceat(hits & long_held, self.first, axis=1)
        return interested, expected & np.logical_or.reduceat(long_up, self.first_session, axis=1)


def _members(
    rows: npt.NDArray[np.int64], values: pa.ListArray, subscriptions: int
) -> tuple[Booleans, dict[float, npt.NDArray[np.int64]]]:
    """Return which subscriptions name a set of values of an attribute, and those that have each value in it.

    `values` has the sets of the subscriptions `rows`, null for a range.
    """
    named = np.zeros(subscriptions, np.bool_)
    named[rows[values.is_valid().to_numpy(zero_copy_only=False)]] = True
    of_member = rows[pc.list_parent_indices(values).to_numpy(zero_copy_only=False)]
    members = values.flatten().to_numpy(zero_copy_only=False)
    order = np.argsort(members, kind="stable")
    different, first = np.unique(members[order], return_index=True)
    return named, dict(zip(different.tolist(), np.split(of_member[order], first[1:]), strict=True))


def _values(events: pa.Table, names: list[str]) -> Numbers:
    """Return a row for each attribute in `names`, with a column for each event."""
    values = np.full((len(names), events.num_rows), np.nan)
    for name, rows, parts in _by_attribute(events["attributes"]):
        if name in names:
            values[names.index(name), rows] = pc.struct_field(parts, "value").to_numpy(zero_copy_only=False)
    return values


def _by_attribute(column: pa.ChunkedArray) -> Iterator[tuple[str, npt.NDArray[np.int64], pa.StructArray]]:
    """Yield each attribute that occurs in lists of structs: its name, in which lists, and the structs."""
    lists = column.combine_chunks()
    rows, parts = pc.list_parent_indices(lists), lists.flatten()
    names = pc.struct_field(parts, "attribute")
    for name in sorted(pc.unique(names).to_pylist()):
        named = pc.equal(names, name)
        yield name, rows.filter(named).to_numpy(), parts.filter(named)
