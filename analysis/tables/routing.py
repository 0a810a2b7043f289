"""Costs of events by content to the network and the servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few
from analysis.otlp.message_kinds import EVENT
from analysis.tables.deliveries import events
from emulator.layouts.trees import spanning_length
from emulator.network.round_trips import rtt_between
from emulator.network.spec import NetworkSpec

Tables = Mapping[str, DataFrame]
ROUTING = (
    "trial string, event int, interested int, copies bigint, uninterested bigint, cost_ms double, "
    "ideal_ms double"
)
"""The columns of the table `routing`."""
SERVERS = (
    "trial string, peer int, events bigint, copies bigint, entries double, searches double, "
    "comparisons double"
)
"""The columns of the table `servers`."""
_IDEAL = pa.schema([("trial", pa.string()), ("event", pa.int32()), ("ideal_ms", pa.float64())])


def routing(tables: Tables, planned_peers: DataFrame, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the rows of the table `routing`; `planned_peers` is the plan's, with locations."""
    keys = ["trial", "event"]
    some = tables["trials"].select("trial")
    wanted = tables["interests"].select(*keys, "peer").distinct()
    number = wanted.groupBy(*keys).agg(F.count("*").cast("int").alias("interested"))
    delays = (
        _copies(tables).groupBy(*keys).agg(F.count("*").alias("copies"), F.sum("delay_ms").alias("cost_ms"))
    )
    unwanted = tables["handled"].groupBy(*keys).agg(F.sum("unwanted_copies").alias("uninterested"))
    published = tables["publications"].join(some, "trial")
    ends = wanted.union(published.select(*keys, F.col("publisher").alias("peer"))).distinct()
    networks = {r.name: (r.spec.network, r.spec.seed) for r in records}
    ideal = (
        ends.groupBy("trial")
        .cogroup(planned_peers.select("trial", "peer", "location").groupBy("trial"))
        .applyInArrow(_ideals_by(networks), "trial string, event int, ideal_ms double")
    )
    return (
        events(tables)
        .join(some, "trial")
        .select(*keys)
        .join(number, keys, "left")
        .join(delays, keys, "left")
        .join(unwanted, keys, "left")
        .join(ideal, keys, "left")
        .na.fill(0, ["interested", "copies", "uninterested", "cost_ms"])
        .select("trial", "event", "interested", "copies", "uninterested", "cost_ms", "ideal_ms")
    )


def servers(tables: Tables) -> DataFrame:
    """Return the rows of the table `servers`: one row a peer that was up in the measure phase."""
    both = _copies(tables).select("trial", F.explode(F.array("sender", "peer")).alias("peer"))
    copies = both.groupBy("trial", "peer").agg(F.count("*").alias("copies"))
    number = (
        tables["operations"].where("operation = 'publish'").groupBy("trial").agg(F.count("*").alias("events"))
    )
    told = {"table_entries": "entries", "table_searches": "searches", "table_comparisons": "comparisons"}
    at_end, value = F.col("moment") == "end", F.col("value")
    columns = []
    for name, column in told.items():
        of_it = F.col("name") == name
        end = F.sum(F.when(of_it & at_end, value))
        if column == "entries":
            columns.append(end.alias(column))
        else:
            start = F.coalesce(F.sum(F.when(of_it & ~at_end, value)), F.lit(0.0))
            # The counter of a peer that came back meanwhile starts again from 0.
            columns.append(F.when(end >= start, end - start).otherwise(end).alias(column))
    states = (
        tables["states"].where("channel = '' and moment != 'sample'").groupBy("trial", "peer").agg(*columns)
    )
    return (
        tables["traffic"]
        .select("trial", "peer")
        .join(tables["trials"].select("trial"), "trial")
        .join(few(number), "trial", "left")
        .join(copies, ["trial", "peer"], "left")
        .join(states, ["trial", "peer"], "left")
        .na.fill(0, ["events", "copies"])
        .select("trial", "peer", "events", "copies", "entries", "searches", "comparisons")
    )


def _copies(tables: Tables) -> DataFrame:
    """Return the messages that carry events by content, each with the event that it carries."""
    published = tables["operations"].where("operation = 'publish'")
    of_trace = published.select("trial", "trace", F.col("event").alias("published"))
    return (
        tables["hops"]
        .where((F.col("kind") == EVENT) & F.col("sender").isNotNull())
        .join(tables["trials"].select("trial"), "trial")
        .join(few(of_trace), ["trial", "trace"], "left")
        .withColumn("event", F.coalesce("event", "published"))
        .where("event is not null")
        .select("trial", "event", "sender", "peer", "delay_ms")
    )


def _ideals_by(
    networks: Mapping[str, tuple[NetworkSpec, int]],
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def ideals(ends: pa.Table, planned: pa.Table) -> pa.Table:
        if not ends.num_rows or not planned.num_rows:
            return _IDEAL.empty_table()
        trial = ends["trial"][0].as_py()
        spec, seed = networks[trial]
        rtt = rtt_between(spec, planned.sort_by("peer")["location"].to_numpy(), seed)
        ordered = ends.sort_by("event")
        event, peer = ordered["event"].to_numpy(), ordered["peer"].to_numpy()
        numbers, first = np.unique(event, return_index=True)
        lengths = [
            spanning_length(rtt[np.ix_(servers, servers)]) / 2 * 1e3 for servers in np.split(peer, first[1:])
        ]
        columns = [pa.repeat(trial, len(numbers)), pa.array(numbers, pa.int32()), pa.array(lengths)]
        return pa.table(columns, schema=_IDEAL)

    return ideals
