"""Measures of trials, from their tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.measures import clustering
from analysis.measures.catalogue import APPLICABLE, MEASURES, STATE_PREFIX
from analysis.measures.coverage import coverage
from analysis.measures.degrees import degrees
from analysis.measures.distributions import rounded
from analysis.measures.filters import filter_traffic
from analysis.measures.gradients import gradients
from analysis.measures.routing import routing_measures
from analysis.measures.topology import topology_measures
from analysis.tables.build import Tables
from analysis.tables.identifiers import CLOCK_SLACK_S
from analysis.tables.roles import has_duty
from emulator.contract.identifiers import ClockwiseRing, Ring
from emulator.telemetry import names

_AT_ONCE = 3
"""Questions asked of Spark at a time: planning each keeps one core busy."""
_TOP = 20
_HEX_DIGITS = 64
"""Of the longest identifiers: as text of this length they sort as numbers do."""
Values = dict[str, float | None]


def measure(tables: Tables) -> dict[str, Values]:
    """All measures of each trial. A measure is None where there is nothing to measure it by."""
    found: dict[str, Values] = {}
    for row in tables["trials"].collect():
        applicable = [name for name in MEASURES if name in APPLICABLE[row.serves]]
        found[row.trial] = dict.fromkeys(applicable) | {"lost_telemetry": 0.0, "peers_away": 0.0}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        *aggregates, states = pool.map(
            lambda frame: frame.collect(), chain(_aggregates(tables), (_states(tables),))
        )
    for rows in aggregates:
        for row in rows:
            values = found[row.trial]
            values.update({k: _number(v) for k, v in row.asDict().items() if k in values})
    for row in sorted(states, key=lambda row: (row.trial, row.name)):
        found[row.trial][STATE_PREFIX + row.name] = _number(row.value)
    return found


def _number(value: object) -> float | None:
    """A number of a summary; what is not finite was not measured."""
    number = math.nan if value is None else float(str(value))
    return number if math.isfinite(number) else None


def _share(counted: Column, of: Column) -> Column:
    return F.try_divide(F.count_if(counted), F.count_if(of))


def _variation(column: str) -> Column:
    """Of a series before a flash crowd: standard deviation to mean."""
    calm = F.when(F.col("end_s") <= F.col("calm_until_s"), F.col(column))
    return F.try_divide(F.stddev_samp(calm), F.avg(calm))


def _aggregates(tables: Tables) -> Iterator[DataFrame]:
    """Frames of one row a trial, whose columns are measures. Each is asked while the next is put together."""

    def by_trial(table: str, *columns: Column) -> DataFrame:
        return tables[table].groupBy("trial").agg(*columns)

    expected, made = F.col("expected"), F.col("delivered")
    quantiles = {"delay_ms_median": 0.5, "delay_ms_p90": 0.9, "delay_ms_p99": 0.99}
    overhead = F.coalesce("overhead", F.lit(0.0))
    duty = has_duty()
    load_of_duty = F.when(duty, F.col("unwanted_messages"))

    def free(column: str) -> Column:
        """Only of peers that are neither relays nor servers."""
        return F.when(~duty, F.col(column))

    sent = F.col("operation_bytes") + F.col("maintenance_bytes")
    counted_s = F.sum(F.when(sent.isNotNull(), F.col("up_s")))
    phase_s = F.first(F.col("measure_end_s") - F.col("measure_start_s"))
    traffic = tables["traffic"].join(tables["trials"], "trial")
    yield by_trial(
        "deliveries",
        _share(expected & made, expected).alias("hit_ratio"),
        F.count_if(expected).alias("expected"),
        F.avg("hops").alias("delay_hops"),
        F.max("hops").alias("delay_hops_max"),
        F.avg("fewest_hops").alias("delay_hops_fewest"),
        F.avg("delay_ms").alias("delay_ms"),
        *(F.percentile(rounded("delay_ms"), q).alias(name) for name, q in quantiles.items()),
        F.max("delay_ms").alias("delay_ms_max"),
        _share(F.col("delay_ms") <= 400, made).alias("delay_within_400_ms"),
        _share(F.col("delay_ms") <= 1000, made).alias("delay_within_1_s"),
        F.try_divide(F.sum("duplicates"), F.count_if(made)).alias("duplicates"),
        F.sum("repeated").alias("repeated"),
    )
    series = tables["series"].join(tables["trials"].select("trial", "calm_until_s"), "trial")
    yield series.groupBy("trial").agg(
        F.min("hit_ratio").alias("hit_ratio_lowest"),
        F.min("lookup_success").alias("lookup_success_lowest"),
        _variation("overhead").alias("overhead_variation"),
        _variation("hops").alias("delay_hops_variation"),
    )
    yield by_trial("absences", F.count_distinct("peer").alias("peers_away"))
    yield traffic.groupBy("trial").agg(
        F.try_divide(F.sum(free("unwanted")), F.sum(free("received"))).alias("overhead"),
        F.avg(free("overhead")).alias("overhead_mean"),
        F.try_divide(F.sum(free("unwanted_messages")), F.sum(free("messages"))).alias("overhead_messages"),
        _share((overhead > 0.1) & ~duty, ~duty).alias("overhead_above_10"),
        _share((overhead > 0.2) & ~duty, ~duty).alias("overhead_above_20"),
        F.avg(free("unwanted_messages")).alias("relay_load"),
        F.percentile(free("unwanted_messages"), 0.99).alias("relay_load_p99"),
        F.avg(load_of_duty).alias("relay_duty_load"),
        F.percentile(load_of_duty, 0.99).alias("relay_duty_load_p99"),
        F.try_divide(F.sum(load_of_duty), F.sum("unwanted_messages")).alias("relay_duty_share"),
        F.try_divide(F.sum(sent), counted_s).alias("bytes_per_s"),
        F.try_divide(F.sum("maintenance_messages"), counted_s).alias("maintenance_messages_per_s"),
        F.try_divide(F.sum("maintenance_bytes"), counted_s).alias("maintenance_bytes_per_s"),
        (F.sum("up_s") / phase_s).alias("peers_up"),
    )
    yield from coverage(tables)
    yield degrees(tables)
    yield from gradients(tables)
    yield filter_traffic(tables)
    yield _events(tables)
    yield _lookups(tables)
    yield _installations(tables)
    yield _pieces(tables)
    yield _costs(tables)
    yield from routing_measures(tables)
    yield from topology_measures(tables)
    yield by_trial("clusters", F.avg("clusters").alias("clusters_per_topic"))
    yield _gateways(tables)
    yield _neighbours(tables)
    yield _successors(tables)
    yield clustering.ring_similarity(tables, "start")
    yield clustering.ring_similarity(tables, "end")
    yield clustering.tree_depth(tables)
    yield clustering.popular_overhead(tables)
    yield clustering.relays_by_popularity(tables)
    yield clustering.popularity_exponent(tables)
    yield clustering.in_degree(tables)
    yield _lost(tables)
    yield by_trial("losses", F.sum("lost_bytes").alias("lost_telemetry"))


def _events(tables: Tables) -> DataFrame:
    relays = tables["relays"].where(~has_duty()).groupBy("trial", "event").agg(F.count("*").alias("relays"))
    publications = F.count_if(F.col("operation") == "publish")
    return (
        tables["operations"]
        .where(F.col("operation").isin("publish", names.RECOVERY))
        .join(relays, ["trial", "event"], "left")
        .groupBy("trial")
        .agg(
            publications.alias("published"),
            F.try_divide(F.sum("messages"), publications).alias("messages_per_event"),
            F.try_divide(F.sum("bytes"), publications).alias("bytes_per_event"),
            F.try_divide(F.coalesce(F.sum("relays"), F.lit(0)), publications).alias("relays_per_event"),
        )
    )


def _lookups(tables: Tables) -> DataFrame:
    counted = F.col("counted")
    apart = F.col("direct_ms") > 0
    route, direct = (F.when(apart, F.col(c)) for c in ("delay_ms", "direct_ms"))
    return (
        tables["lookups"]
        .groupBy("trial")
        .agg(
            F.count_if(counted).alias("lookups"),
            _share(counted & F.col("right"), counted).alias("lookup_success"),
            _share(counted & F.col("delivered"), counted).alias("lookup_delivered"),
            F.avg("hops").alias("lookup_hops"),
            F.percentile("hops", 0.99).alias("lookup_hops_p99"),
            F.avg("delay_ms").alias("lookup_delay_ms"),
            F.percentile(rounded("delay_ms"), 0.5).alias("lookup_delay_ms_median"),
            F.percentile(rounded("delay_ms"), 0.99).alias("lookup_delay_ms_p99"),
            (F.avg(route) / F.avg(direct)).alias("delay_penalty"),
            F.avg(route / direct).alias("delay_penalty_mean"),
        )
    )


def _installations(tables: Tables) -> DataFrame:
    asked = F.lit(True)
    return (
        tables["installations"]
        .where("counted")
        .groupBy("trial")
        .agg(
            _share(F.col("delay_ms").isNotNull(), asked).alias("installed"),
            F.avg("delay_ms").alias("install_delay_ms"),
            F.percentile(rounded("delay_ms"), 0.5).alias("install_delay_ms_median"),
            _share(F.col("delay_ms") <= 600, asked).alias("install_within_600_ms"),
            _share(F.col("delay_ms") <= 1000, asked).alias("install_within_1_s"),
            F.avg("hops").alias("install_hops"),
        )
    )


def _pieces(tables: Tables) -> DataFrame:
    every = F.lit(True)
    return (
        tables["pieces"]
        .groupBy("trial")
        .agg(
            F.avg("delay_ms").alias("piece_delay_ms"),
            _share(F.coalesce(F.col("delay_ms") <= 600, F.lit(False)), every).alias("piece_within_600_ms"),
            _share(F.coalesce(F.col("delay_ms") <= 1000, F.lit(False)), every).alias("piece_within_1_s"),
        )
    )


def _costs(tables: Tables) -> DataFrame:
    """Means, quantiles and extremes over the peers."""
    quantiles = {"installing": (78, 98), "inserting": (78, 98), "publishing": (70, 90), "matching": (70,)}
    names_of = {
        "installing": "install",
        "inserting": "insert",
        "publishing": "publish",
        "matching": "matching",
    }
    each = {
        "installing": "subscription",
        "inserting": "subscription",
        "publishing": "event",
        "matching": "event",
    }
    columns = []
    for kind, name in names_of.items():
        most = F.slice(F.sort_array(F.collect_list(kind), asc=False), 1, _TOP)
        top = F.aggregate(most, F.lit(0.0), lambda total, value: total + value) / F.size(most)
        columns += [
            F.avg(kind).alias(f"{name}_bytes_per_{each[kind]}_and_node"),
            F.max(kind).alias(f"{name}_bytes_max"),
            F.when(F.size(most) > 0, top).alias(f"{name}_bytes_top_20"),
            *(F.percentile(kind, q / 100).alias(f"{name}_bytes_p{q}") for q in quantiles[kind]),
        ]
    return tables["costs"].groupBy("trial").agg(*columns)


def _gateways(tables: Tables) -> DataFrame:
    """The gauge `gateway_topics` is the number of topics that a peer is a gateway of."""
    topics = tables["clusters"].groupBy("trial").agg(F.count("*").alias("topics"))
    return (
        tables["states"]
        .where("moment = 'end' and name = 'gateway_topics'")
        .groupBy("trial")
        .agg(F.sum("value").alias("gateways"))
        .join(topics, "trial")
        .select("trial", (F.col("gateways") / F.col("topics")).alias("gateways_per_topic"))
    )


def _neighbours(tables: Tables) -> DataFrame:
    return (
        tables["links"]
        .where("moment = 'end'")
        .groupBy("trial", "peer")
        .agg(F.count_distinct("neighbour").alias("neighbours"))
        .groupBy("trial")
        .agg(F.avg("neighbours").alias("neighbours"), F.max("neighbours").alias("neighbours_max"))
    )


def _successors(tables: Tables) -> DataFrame:
    """Overlays with a ring tell their successors; the next on the ring is the next identifier."""
    overlay = ["trial", "channel"]
    taken = (
        tables["identifiers"]
        .where(F.col("space").isin(Ring.name, ClockwiseRing.name))
        .select(
            *overlay,
            "peer",
            F.col("at_s").alias("taken_s"),
            F.lpad("identifier", _HEX_DIGITS, "0").alias("id"),
        )
    )
    ring = Window.partitionBy(*overlay)
    next_peer = F.lead("peer").over(ring.orderBy("id", "peer"))
    first = F.min(F.struct("id", "peer")).over(ring)["peer"]
    return (
        tables["links"]
        .where("moment = 'start' and kind = 'successor'")
        .join(taken, [*overlay, "peer"])
        .where(F.col("taken_s") <= F.col("at_s") + CLOCK_SLACK_S)
        .groupBy(*overlay, "peer", "neighbour")
        .agg(F.max_by("id", "taken_s").alias("id"))
        .select("trial", "neighbour", F.coalesce(next_peer, first).alias("next"))
        .groupBy("trial")
        .agg(_share(F.col("neighbour") != F.col("next"), F.lit(True)).alias("wrong_successors"))
    )


def _lost(tables: Tables) -> DataFrame:
    counters = {names.LOST_SPANS: "lost_spans", names.DROPPED: "dropped_envelopes"}
    last = (
        tables["points"]
        .where(F.col("name").isin(*counters))
        .groupBy("trial", "host", "incarnation", "name")
        .agg(F.max("value").alias("value"))
    )
    return last.groupBy("trial").agg(
        *(F.sum(F.when(F.col("name") == name, F.col("value"))).alias(c) for name, c in counters.items())
    )


def _states(tables: Tables) -> DataFrame:
    """trial, name, value: means over peers.

    Where components of several channels tell of one name, the channel goes before it.
    """
    means = (
        tables["states"]
        .where("moment = 'end'")
        .groupBy("trial", "name", "channel")
        .agg(F.avg("value").alias("value"))
    )
    alike = F.count("*").over(Window.partitionBy("trial", "name"))
    with_channel = F.concat_ws("/", F.when(F.col("channel") != "", F.col("channel")), F.col("name"))
    return means.select(
        "trial", F.when(alike > 1, with_channel).otherwise(F.col("name")).alias("name"), "value"
    )
