"""What became of each lookup, and whether it ended at the right peer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.tables.trials import TrialRecord
from emulator.identifiers import decode, distance, of_peer
from emulator.network.build import build_network
from emulator.network.model import Network
from emulator.network.spec import NetworkSpec

ESTABLISHED_S = 10.0
"""A peer must be found if it was up this long before the lookup began, or since the join phase."""
LATE_S = 5.0
"""A lookup does not count if it began later than this before the trial's end."""

Tables = Mapping[str, DataFrame]
Numbers = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]
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
"""Columns of the table."""


def lookups(
    tables: Tables, planned: DataFrame, peers: DataFrame, records: Sequence[TrialRecord]
) -> DataFrame:
    """The table of that name, from the plan's lookups and peers and from what the telemetry tells."""
    keys = ["trial", "lookup"]
    issued = (
        tables["operations"]
        .where("operation = 'lookup'")
        .select("trial", "trace", "lookup", F.col("peer").alias("origin"), "at_s")
    )
    first = F.min(F.struct("handled_s", "peer", "hops"))
    arrived = (
        tables["hops"]
        .where("delivered")
        .select("trial", "trace", "handled_s", "peer", "hops")
        .join(F.broadcast(issued.select("trial", "trace", "lookup")), ["trial", "trace"])
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
    up = peers.join(tables["sessions"].select("trial", "peer", "start_s", "end_s"), ["trial", "peer"], "left")
    networks = {r.name: (r.spec.network, r.spec.seed) for r in records if r.serves == "lookups"}
    return (
        found.groupBy("trial")
        .cogroup(up.select("trial", "peer", "location", "start_s", "end_s").groupBy("trial"))
        .applyInArrow(_judge_by(networks), LOOKUPS)
    )


def _judge_by(
    networks: Mapping[str, tuple[NetworkSpec, int]],
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def judge_trial(found: pa.Table, peers: pa.Table) -> pa.Table:
        if not found.num_rows:
            return pa.table([[]] * len(_SCHEMA), schema=_SCHEMA)
        spec, seed = networks[found["trial"][0].as_py()]
        return judge(found, peers, build_network(spec, _locations(peers), seed))

    return judge_trial


def _locations(peers: pa.Table) -> list[int]:
    """A row of the latency matrix for each peer; a peer with several sessions has several rows."""
    numbers, index = np.unique(peers["peer"].to_numpy(), return_index=True)
    assert numbers[-1] == len(numbers) - 1, "the plan's peers are 0, 1, ..."
    locations: list[int] = peers["location"].to_numpy()[index].tolist()
    return locations


def judge(found: pa.Table, peers: pa.Table, network: Network) -> pa.Table:
    """The rows of the table `lookups` of one trial.

    `found` has a row for each lookup, `peers` one for each session (at least one for each peer).
    """
    at_s, delivered_s = (found[c].to_numpy() for c in ("at_s", "delivered_s"))
    keys = [decode(key) for key in found["key"].to_pylist()]
    established = np.maximum(at_s - ESTABLISHED_S, found["join_end_s"].to_numpy())
    ring = Ring(peers.filter(pc.is_valid(peers["start_s"])))
    closest = ring.closest(keys, established, np.where(np.isnan(delivered_s), at_s, delivered_s))
    origins, ends = found["origin"].to_pylist(), found["peer"].to_pylist()
    right = [
        end is not None and (best is None or distance(of_peer(end), key) <= distance(of_peer(best), key))
        for end, best, key in zip(ends, closest, keys, strict=True)
    ]
    direct_ms = [
        None if end is None else 0.0 if end == origin else network.one_way(origin, end) * 1e3
        for origin, end in zip(origins, ends, strict=True)
    ]
    columns = {name: found[name] for name in found.column_names if name in _SCHEMA.names} | {
        "counted": pa.array(at_s <= found["trial_end_s"].to_numpy() - LATE_S),
        "delivered": pc.is_valid(found["peer"]),
        "delay_ms": pc.multiply(pc.subtract(found["delivered_s"], found["at_s"]), 1e3),
        "right": pa.array(right),
        "closest": pa.array(closest, pa.int32()),
        "direct_ms": pa.array(direct_ms, pa.float64()),
    }
    return pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)


class Ring:
    """The peers of a trial in the order of their identifiers, and when each was up."""

    def __init__(self, sessions: pa.Table) -> None:
        """`sessions` has peer, start_s and end_s; those of one peer do not overlap."""
        self._peers: list[int] = sorted(pc.unique(sessions["peer"]).to_pylist(), key=of_peer)
        self._identifiers = [of_peer(peer) for peer in self._peers]
        rank_of = {peer: rank for rank, peer in enumerate(self._peers)}
        rank = np.array([rank_of[peer] for peer in sessions["peer"].to_pylist()], np.int64)
        start, end = sessions["start_s"].to_numpy(), sessions["end_s"].to_numpy()
        order = np.lexsort((start, rank))
        self._rank, self._end = rank[order], end[order]
        self._span = float(end.max(initial=0.0)) + 1
        self._begin: Numbers = self._rank * self._span + start[order]
        """Ascending over all sessions: those of one peer lie between two multiples of the span."""

    def closest(self, keys: Sequence[int], since: Numbers, until: Numbers) -> list[int | None]:
        """For each key the peer whose identifier is closest, of those up from `since` to `until`."""
        places = np.array([bisect_left(self._identifiers, key) for key in keys], np.int64)
        above = self._first_up(places, 1, since, until)
        below = self._first_up(places - 1, -1, since, until)
        return [
            self._closer(key, *ends) for key, *ends in zip(keys, above.tolist(), below.tolist(), strict=True)
        ]

    def _closer(self, key: int, above: int, below: int) -> int | None:
        if above < 0:
            return None
        best = min(above, below, key=lambda rank: distance(self._identifiers[rank], key))
        return self._peers[best]

    def _first_up(self, places: Ranks, step: int, since: Numbers, until: Numbers) -> Ranks:
        """From each place in one direction: the rank of the first peer that was up, or -1."""
        found = np.full(len(places), -1)
        rest = np.arange(len(places))
        for passed in range(len(self._peers)):
            rank = (places[rest] + step * passed) % len(self._peers)
            up = self._up(rank, since[rest], until[rest])
            found[rest[up]] = rank[up]
            rest = rest[~up]
            if not len(rest):
                break
        return found

    def _up(self, rank: Ranks, since: Numbers, until: Numbers) -> npt.NDArray[np.bool_]:
        """Whether each peer's last session that began by `since` went on until after `until`."""
        last = np.searchsorted(self._begin, rank * self._span + np.minimum(since, self._span), "right") - 1
        up: npt.NDArray[np.bool_] = (last >= 0) & (self._rank[last] == rank) & (self._end[last] > until)
        return up
