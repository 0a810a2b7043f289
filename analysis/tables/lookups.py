"""The fate of each lookup, and whether it ended at the right peer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.tables import RunTables
from analysis.engine.one_partition import few
from analysis.tables.closest import Homes
from analysis.tables.identifiers import Home, homes
from analysis.tables.roles import without_attackers
from analysis.tables.roots import begun
from emulator.contract.identifiers import Ring, decode
from emulator.network.build_network import build_network
from emulator.network.peer_network import Network
from emulator.network.spec import NetworkSpec

ESTABLISHED_S = 10.0
"""The seconds before a lookup from which on a peer must have been at home to be found, if not since the join
phase."""
LATE_S = 5.0
"""The seconds before the trial's end after which a lookup that begins does not count."""

PENALTIES = ("delay_penalty", "delay_penalty_mean")
"""The measures for which the network between origin and end is needed."""

_NODE = r"(^|/)node-\d+$"
"""The end of the name of a virtual node's channel."""

Tables = Mapping[str, DataFrame]
Numbers = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
_SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("lookup", pa.int32()),
        ("origin", pa.int32()),
        ("key", pa.binary()),
        ("at_s", pa.float64()),
        ("counted", pa.bool_()),
        ("delivered", pa.bool_()),
        ("peer", pa.int32()),
        ("hops", pa.int32()),
        ("delay_ms", pa.float64()),
        ("copies", pa.int64()),
        ("right", pa.bool_()),
        ("closest", pa.int32()),
        ("direct_ms", pa.float64()),
    ]
)
LOOKUPS = (
    "trial string, lookup int, origin int, key binary, at_s double, counted boolean, delivered boolean, "
    "peer int, hops int, delay_ms double, copies bigint, right boolean, closest int, direct_ms double"
)
"""The columns of the table."""


def lookups(tables: RunTables) -> DataFrame:
    """Return the rows of the table `lookups`, from the plan's lookups and peers and from the telemetry.

    Lookups that attackers began are not among them. Where nobody asks for the delay penalty, `direct_ms` is
    null: the network of each trial would be drawn anew for it.
    """
    planned, peers = tables.plan("lookups"), tables.plan("peers")
    keys = ["trial", "lookup"]
    asked = without_attackers(begun(tables).where("operation = 'lookup'"), tables)
    issued = asked.select(*keys, F.col("peer").alias("origin"), "at_s")
    first = F.min(F.struct("handled_s", "peer", "hops"))
    arrived = (
        tables["hops"]
        .where("delivered and lookup is not null")
        .groupBy(*keys)
        .agg(F.count("*").alias("copies"), first.alias("first"))
    )
    found = (
        issued.join(planned.select(*keys, "key"), keys)
        .join(tables["trials"].select("trial", "join_end_s", "trial_end_s"), "trial")
        .join(arrived, keys, "left")
        .select(
            *("trial", "lookup", "origin", "key", "at_s", "join_end_s", "trial_end_s"),
            F.col("first.handled_s").alias("delivered_s"),
            F.col("first.peer").alias("peer"),
            F.col("first.hops").alias("hops"),
            F.coalesce("copies", F.lit(0)).alias("copies"),
        )
    )
    told = (
        peers.select("trial", "peer", "location")
        .unionByName(_up(tables), allowMissingColumns=True)
        .unionByName(_of_overlay(tables), allowMissingColumns=True)
        .unionByName(_away(tables), allowMissingColumns=True)
    )
    networks = {}
    if tables.serve(*PENALTIES):
        networks = {r.name: (r.spec.network, r.spec.seed) for r in tables.records}
    return found.groupBy("trial").cogroup(told.groupBy("trial")).applyInArrow(_judge_by(networks), LOOKUPS)


def _up(tables: Tables) -> DataFrame:
    return tables["sessions"].where("start_s is not null").select("trial", "peer", "start_s", "end_s")


def _away(tables: Tables) -> DataFrame:
    columns = F.col("from_s").alias("away_s"), F.col("until_s").alias("back_s")
    return tables["absences"].select("trial", "peer", *columns)


def _of_overlay(tables: Tables) -> DataFrame:
    """Return the identifiers that peers took in the overlay that looked keys up.

    Where peers are part of several overlays, it is the one on whose channel most messages of lookups ran. The
    virtual nodes of a peer have a channel each, and are of one overlay.
    """
    told = tables["identifiers"].withColumn("overlay", F.regexp_replace("channel", _NODE, ""))
    channels = told.groupBy("trial").agg(F.sort_array(F.collect_set("overlay")).alias("channels"))
    several = {row.trial: row.channels for row in channels.where("size(channels) > 1").collect()}
    if several:
        ran = _messages_by_channel(tables, list(several))
        for trial, names in several.items():
            chosen = max(names, key=lambda name: ran.get((trial, name), 0))
            told = told.where((F.col("trial") != trial) | (F.col("overlay") == chosen))
    return told.select("trial", "peer", F.col("at_s").alias("taken_s"), "channel", "identifier", "space")


def _messages_by_channel(tables: Tables, trials: list[str]) -> dict[tuple[str, str], int]:
    """Return how many messages of lookups were sent: (trial, channel) -> number."""
    issued = begun(tables).where("operation = 'lookup'").select("trial", "trace")
    counted = (
        tables["hops"]
        .where(F.col("trial").isin(trials) & F.col("sender").isNotNull())
        .join(few(issued), ["trial", "trace"])
        .groupBy("trial", "channel")
        .count()
    )
    return {(row.trial, row.channel): row["count"] for row in counted.collect()}


def _judge_by(
    networks: Mapping[str, tuple[NetworkSpec, int]],
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def judge_trial(found: pa.Table, told: pa.Table) -> pa.Table:
        if not found.num_rows:
            return pa.table([[]] * len(_SCHEMA), schema=_SCHEMA)
        drawn = networks.get(found["trial"][0].as_py())
        return judge(found, told, drawn and build_network(drawn[0], _locations(told), drawn[1]))

    return judge_trial


def _locations(told: pa.Table) -> list[int]:
    """Return a row of the latency matrix for each peer."""
    planned = told.filter(pc.is_valid(told["location"])).sort_by("peer")
    assert planned["peer"][-1].as_py() == planned.num_rows - 1, "the plan's peers are 0, 1, ..."
    locations: list[int] = planned["location"].to_pylist()
    return locations


def judge(found: pa.Table, told: pa.Table, network: Network | None) -> pa.Table:
    """Return the rows of the table `lookups` of one trial, without a network those without `direct_ms`.

    `found` has a row for each lookup. `told` has rows of sessions (peer, start_s, end_s), of identifiers
    (peer, taken_s, identifier, space) and of absences (peer, away_s, back_s), with nulls in the columns of
    the others.
    """
    at_s, delivered_s = (found[c].to_numpy() for c in ("at_s", "delivered_s"))
    encoded = found["key"].to_pylist()
    keys = [decode(key) for key in encoded]
    bits = 8 * max(map(len, encoded))
    taken = _Taken(told)
    established = np.maximum(at_s - ESTABLISHED_S, found["join_end_s"].to_numpy())
    places = Homes(taken.homes(_rows(told, "start_s", "end_s")), taken.metric, bits)
    best = places.closest(keys, established, np.where(np.isnan(delivered_s), at_s, delivered_s))
    origins, ends = found["origin"].to_pylist(), found["peer"].to_pylist()
    distance = places.space.distance
    right = []
    for end, at, home, key in zip(ends, delivered_s.tolist(), best, keys, strict=True):
        here = [] if end is None else [distance(identifier, key) for identifier in taken.at(end, at)]
        right.append(bool(here) and (home is None or min(here) <= distance(home[0], key)))
    late = at_s > found["trial_end_s"].to_numpy() - LATE_S
    spoilt = _spoilt(told, taken, bits, keys, (established, at_s), origins)
    columns = {name: found[name] for name in found.column_names if name in _SCHEMA.names} | {
        "counted": pa.array(~(late | spoilt)),
        "delivered": pc.is_valid(found["peer"]),
        "delay_ms": pc.multiply(pc.subtract(found["delivered_s"], found["at_s"]), 1e3),
        "right": pa.array(right),
        "closest": pa.array([None if home is None else home[1] for home in best], pa.int32()),
        "direct_ms": pa.array(_direct_ms(network, origins, ends, at_s.tolist()), pa.float64()),
    }
    return pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)


def _direct_ms(
    network: Network | None, origins: list[int], ends: list[int | None], at_s: list[float]
) -> list[float | None]:
    """Return the delays straight from where lookups began to where they ended."""
    if network is None:
        return [None] * len(ends)
    direct_ms: list[float | None] = []
    for origin, end, at in zip(origins, ends, at_s, strict=True):
        network.turn(at)
        direct_ms.append(
            None if end is None else 0.0 if end == origin else network.one_way(origin, end) * 1e3
        )
    return direct_ms


def _spoilt(
    told: pa.Table,
    taken: _Taken,
    bits: int,
    keys: Sequence[int],
    times: tuple[Numbers, Numbers],
    origins: Sequence[int],
) -> Booleans:
    """Return which lookups cannot be judged: those by peers whose hosts died, or for keys that were theirs.

    What such a host did last was not recorded. A lookup is left out, whatever became of it, if it began from
    `LATE_S` before the absence of its origin, or of the peer that would have been the closest, until that
    peer was back. `times` has, for each lookup, since when a peer had to be there, and when the lookup began.
    """
    established, at_s = times
    away: dict[int, list[tuple[float, float]]] = {}
    for peer, away_s, back_s in _rows(told, "away_s", "back_s"):
        away.setdefault(peer, []).append((away_s, back_s))
    if not away:
        return np.zeros(len(keys), np.bool_)
    stayed = [
        (peer, start_s, next((back_s for away_s, back_s in away.get(peer, ()) if away_s == end_s), end_s))
        for peer, start_s, end_s in _rows(told, "start_s", "end_s")
    ]
    closest = Homes(taken.homes(stayed), taken.metric, bits).closest(keys, established, at_s)

    def is_spoilt(at: float, peer: int) -> bool:
        return any(away_s - LATE_S <= at < back_s for away_s, back_s in away.get(peer, ()))

    return np.array(
        [
            is_spoilt(at, origin) or (home is not None and is_spoilt(at, home[1]))
            for at, origin, home in zip(at_s.tolist(), origins, closest, strict=True)
        ],
        np.bool_,
    )


class _Taken:
    """The identifiers that peers took in one overlay."""

    def __init__(self, told: pa.Table) -> None:
        metrics = pc.unique(told["space"].drop_null()).to_pylist()
        self.metric = min(metrics, default=Ring.name)
        self._rows: dict[str, list[tuple[int, float, int]]] = {}
        """The rows (peer, at_s, identifier) in order, by channel: a virtual node has a channel of its own."""
        for peer, at_s, channel, identifier in _rows(told, "taken_s", "channel", "identifier"):
            self._rows.setdefault(channel, []).append((peer, at_s, int(identifier, 16)))
        for rows in self._rows.values():
            rows.sort()

    def homes(self, sessions: Sequence[tuple[int, float, float]]) -> Iterator[Home]:
        """Yield where peers were in these sessions (peer, start_s, end_s)."""
        return chain.from_iterable(homes(rows, sessions) for rows in self._rows.values())

    def at(self, peer: int, at_s: float) -> list[int]:
        """Return the identifiers that the peer had then; none if it had told none."""
        found = []
        for rows in self._rows.values():
            last = bisect_right(rows, (peer, at_s, math.inf)) - 1
            if last >= 0 and rows[last][0] == peer:
                found.append(rows[last][2])
        return found


def _rows(told: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """Return the peer and these columns of the rows that have them."""
    rows = told.filter(pc.is_valid(told[columns[0]]))
    return list(zip(*(rows[name].to_pylist() for name in ("peer", *columns)), strict=True))
