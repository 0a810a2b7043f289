"""Deliveries that cannot be, in real time: the plan and the telemetry of all hosts show them together.

The virtual clock judges each delivery when it is made (`emulator.runtime.delivery_judge`). A host does not
know what others published. Clocks of hosts differ, so nothing is told of what is early by less than the limit
of delays; of what is faster than the network allows, by less than the trial measured (`_tolerance`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few
from analysis.tables.deliveries import events, published
from analysis.tables.plan import read_plan
from emulator.experiment.run.fidelity import Check, allowed
from emulator.network.build_network import build_network
from emulator.network.spec import NetworkSpec
from emulator.runtime.delivery_judge import IMPOSSIBLE, LONGER_WAY, REPEATED
from emulator.runtime.shortest_ways import ShortestWays

Tables = Mapping[str, DataFrame]
_WRONG = pa.schema(
    [
        ("trial", pa.string()),
        ("what", pa.string()),
        ("number", pa.int32()),
        ("peer", pa.int32()),
        ("at_s", pa.float64()),
    ]
)
_OFFSET_ERROR_S = 0.01
"""The wall seconds by which the offsets of two hosts may be wrong, each by half of the round trip at which
its measurement ends."""
_TOO_FAST = "an event faster than the network allows"


def judged(spark: SparkSession, tables: Tables, records: Sequence[TrialRecord]) -> dict[str, list[Check]]:
    """Return the checks of the deliveries of each trial that ran in real time."""
    late = [record for record in records if record.fidelity.get("runtime") not in (None, "virtual")]
    if not late:
        return {}
    names = [record.name for record in late]
    made = tables["hops"].where(F.col("delivered") & F.col("trial").isin(names))
    whole = {row.trial: row["count"] for row in made.groupBy("trial").count().collect()}
    tolerance = max(record.spec.fidelity.delay_error_p99 for record in late)
    subscribed = [record.name for record in late if record.spec.workload.kind.holding is not None]
    of_events = _events(tables, made, tolerance, subscribed)
    columns = ["trial", "what", "number", "peer", "at_s"]
    wrong = _told(
        of_events.where("what is not null")
        .select(*columns)
        .unionByName(_too_fast(spark, late, of_events.where("what is null")))
        .unionByName(_lookups(spark, late, made))
    )
    again = _told(_again(tables, made))
    found = {}
    for record in late:
        limits, name = record.spec.fidelity, record.name
        system = record.spec.system.name
        found[name] = [
            allowed(
                check,
                sum(row["count"] for row in rows if row.trial == name),
                key,
                amount,
                whole.get(name, 0),
                "deliveries",
                [_said(system, row) for row in rows if row.trial == name],
            )
            for check, key, amount, rows in (
                (IMPOSSIBLE, "impossible_deliveries", limits.impossible_deliveries, wrong),
                (REPEATED, "repeated_deliveries", limits.repeated_deliveries, again),
            )
        ]
    return found


def _tolerance(record: TrialRecord) -> float:
    """Return the seconds of trial time by which an honest delivery may seem to be early.

    The greatest error of any probe between two hosts has the errors of their clocks' offsets in it, as a
    delivery has. To it come the error that an offset may have by itself, and the most by which one changed
    between its two measurements, because in between the clock may have gone otherwise than along a line. A
    trial without probes is held to the limit of their errors.
    """
    drifts = (
        abs(host.get("clock_offset_end_ns", 0) - host.get("clock_offset_start_ns", 0))
        for host in record.fidelity.get("hosts", [])
    )
    limit_ms = record.spec.fidelity.delay_error_p99 * 1e3
    probes_ms = record.fidelity.get("measured", {}).get("delay_error_max_ms", limit_ms)
    clocks_s = _OFFSET_ERROR_S + max(drifts, default=0) / 1e9
    return float(probes_ms) / 1e3 + clocks_s / record.time_scale


def _events(tables: Tables, made: DataFrame, tolerance: float, subscribed: Sequence[str]) -> DataFrame:
    """Return the deliveries of events: trial, what (null: it can be), number, peer, at_s, publisher,
    published_s."""
    of_trace = published(tables).select("trial", "trace", F.col("event").alias("own"))
    subscriptions = tables["subscriptions"]
    asked = subscriptions.where("topic is not null").groupBy("trial", "topic", "peer")
    # What another peer than the publisher sends may have come to it by a longer way than the trace shows.
    most_hops = F.col("depth") + F.when(F.col("depth") > 1, LONGER_WAY).otherwise(0)
    asks = subscriptions.select("trial", "peer").distinct().withColumn("asks", F.lit(True))
    return (
        made.where("event is not null")
        .select("trial", "trace", "event", "peer", "hops", "depth", F.col("handled_s").alias("at_s"))
        .join(few(of_trace), ["trial", "trace"], "left")
        .join(few(events(tables)), ["trial", "event"], "left")
        .join(asked.agg(F.min("start_s").alias("asked_s")), ["trial", "topic", "peer"], "left")
        .join(few(asks), ["trial", "peer"], "left")
        .withColumn(
            "what",
            F.when(F.col("published_s").isNull(), "an event that nobody has published")
            .when(F.col("at_s") < F.col("published_s") - tolerance, "an event that nobody has published")
            .when(
                F.col("trial").isin(*subscribed)
                & (
                    F.coalesce(F.col("asked_s") > F.col("at_s") + tolerance, F.col("topic").isNotNull())
                    | F.col("asks").isNull()
                ),
                "an event that the peer has not asked for",
            )
            .when(F.col("hops") < 1, "an event without a hop from its publisher")
            .when(
                (F.col("own") == F.col("event")) & (F.col("depth") > 0) & (F.col("hops") > most_hops),
                "an event with more hops than messages can have made",
            ),
        )
        .select("trial", "what", F.col("event").alias("number"), "peer", "at_s", "publisher", "published_s")
    )


def _too_fast(spark: SparkSession, records: Sequence[TrialRecord], deliveries: DataFrame) -> DataFrame:
    """Return the deliveries that were made sooner after the publication than the shortest way between the two
    peers takes, over any others: trial, what, number, peer, at_s.

    Lateness, bandwidth and faults only add to the delays of the plan's network; how early jitter makes a
    message at most, the shortest ways know.
    """
    networks = {r.name: (r.spec.network, r.spec.seed, _tolerance(r)) for r in records}
    places = read_plan(spark, list(records), "peers").select("trial", "peer", "location")
    return (
        deliveries.where("peer != publisher")
        .groupBy("trial")
        .cogroup(places.groupBy("trial"))
        .applyInArrow(_judge_by(networks), "trial string, what string, number int, peer int, at_s double")
    )


def _judge_by(
    networks: Mapping[str, tuple[NetworkSpec, int, float]],
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def too_fast(deliveries: pa.Table, planned: pa.Table) -> pa.Table:
        if not deliveries.num_rows or not planned.num_rows:
            return _WRONG.empty_table()
        spec, seed, tolerance = networks[deliveries["trial"][0].as_py()]
        network = build_network(spec, planned.sort_by("peer")["location"].to_pylist(), seed)
        ways = ShortestWays(network)
        wrong = []
        for row in deliveries.to_pylist():
            publisher, peer = row["publisher"], row["peer"]
            # The delivery took at most this long, because clocks may err by as much as the tolerance.
            took = row["at_s"] - row["published_s"] + tolerance
            if took < network.one_way(publisher, peer) and took < ways.least(publisher, peer, enough=took):
                wrong.append({**{name: row[name] for name in _WRONG.names}, "what": _TOO_FAST})
        return pa.Table.from_pylist(wrong, _WRONG)

    return too_fast


def _lookups(spark: SparkSession, records: Sequence[TrialRecord], made: DataFrame) -> DataFrame:
    """Return the deliveries of lookups that the plan does not have, in the same columns."""
    planned = read_plan(spark, list(records), "lookups").select("trial", "lookup")
    return (
        made.where("lookup is not null")
        .join(few(planned), ["trial", "lookup"], "left_anti")
        .select(
            "trial",
            F.lit("a lookup that nobody has begun").alias("what"),
            F.col("lookup").alias("number"),
            "peer",
            F.col("handled_s").alias("at_s"),
        )
    )


def _again(tables: Tables, made: DataFrame) -> DataFrame:
    """Return the deliveries of an event to a peer beyond one for each time that the peer came up."""
    starts = tables["sessions"].where("start_s is not null").groupBy("trial", "peer")
    counts = (
        made.where("event is not null")
        .groupBy("trial", "event", "peer")
        .agg(F.count("*").alias("times"), F.max("handled_s").alias("at_s"))
    )
    return (
        counts.where("times > 1")
        .join(starts.agg(F.count("*").alias("starts")), ["trial", "peer"], "left")
        .withColumn("more", F.col("times") - F.greatest(F.coalesce("starts", F.lit(1)), F.lit(1)))
        .where("more > 0")
        .withColumn("each", F.explode(F.sequence(F.lit(1).cast("bigint"), F.col("more"))))
        .select(
            "trial", F.lit("an event again").alias("what"), F.col("event").alias("number"), "peer", "at_s"
        )
    )


def _told(wrong: DataFrame) -> list[Any]:
    first = F.min_by(F.struct("number", "peer", "at_s"), F.struct("at_s", "peer", "number"))
    rows = wrong.groupBy("trial", "what").agg(F.count("*").alias("count"), first.alias("first"))
    return sorted(rows.collect(), key=lambda row: (row.trial, row.what))


def _said(system: str, row: Any) -> str:
    first = row.first
    where = f"{row.what.split()[1]} {first.number} at peer {first.peer} at {first.at_s:.3f} s"
    times = f" ({row['count']} times)" if row["count"] > 1 else ""
    return f"{system} delivered {row.what}, first {where}{times}"
