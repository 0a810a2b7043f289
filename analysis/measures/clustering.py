"""How alike neighbours on a ring are, how deep trees go, what popular topics cost (Magnet, section 4)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.tables.build import Tables
from analysis.tables.identifiers import CLOCK_SLACK_S
from emulator.identifiers import ClockwiseRing

POPULAR_TOPICS = 100
"""Magnet's figure 5 tells of the first 100."""
_HEX_DIGITS = 64
"""Of the longest identifiers: as text of this length they sort as numbers do."""
_OVERLAY = ("trial", "channel")


def ring_similarity(tables: Tables) -> DataFrame:
    """Shared topics by topics that either has, mean over a peer and its successor; of the ring with the most.

    Places are those of peers that were up when the measure phase began, by the identifiers that they told
    last. Interests are those of then.
    """
    began = F.col("measure_start_s")
    up = (
        tables["sessions"]
        .join(tables["trials"], "trial")
        .where((F.col("start_s") <= began) & (began < F.col("end_s")))
        .select("trial", "peer", "start_s", "measure_start_s")
    )
    places = (
        tables["identifiers"]
        .where(F.col("space") == ClockwiseRing.name)
        .join(up, ["trial", "peer"])
        .where((F.col("at_s") >= F.col("start_s") - CLOCK_SLACK_S) & (F.col("at_s") <= began))
        .groupBy(*_OVERLAY, "peer")
        .agg(F.max_by(F.lpad("identifier", _HEX_DIGITS, "0"), "at_s").alias("place"))
    )
    ring = Window.partitionBy(*_OVERLAY)
    ordered = ring.orderBy("place", "peer")
    first = F.min(F.struct("place", "peer")).over(ring)["peer"]
    pairs = places.select(
        *_OVERLAY, "peer", F.coalesce(F.lead("peer").over(ordered), first).alias("next")
    ).where("peer != next")
    held = _topics_held(tables)
    other = held.select("trial", F.col("peer").alias("next"), F.col("topics").alias("others"))
    alike = F.size(F.array_intersect("topics", "others")) / F.size(F.array_union("topics", "others"))
    return (
        pairs.join(held, ["trial", "peer"])
        .join(other, ["trial", "next"])
        .groupBy(*_OVERLAY)
        .agg(F.avg(alike).alias("ring_similarity"))
        .groupBy("trial")
        .agg(F.max("ring_similarity").alias("ring_similarity"))
    )


def _topics_held(tables: Tables) -> DataFrame:
    """trial, peer, topics: what each peer was subscribed to when the measure phase began."""
    began = tables["trials"].select("trial", "measure_start_s")
    return (
        tables["subscriptions"]
        .where("topic is not null")
        .select("trial", "peer", "topic", "start_s", "end_s")
        .join(began, "trial")
        .where("start_s <= measure_start_s and measure_start_s < end_s")
        .groupBy("trial", "peer")
        .agg(F.collect_set("topic").alias("topics"))
    )


def tree_depth(tables: Tables) -> DataFrame:
    """The hops of the delivery that took most of them, mean over the events that were delivered."""
    return (
        tables["deliveries"]
        .where("hops is not null")
        .groupBy("trial", "event")
        .agg(F.max("hops").alias("deepest"))
        .groupBy("trial")
        .agg(F.avg("deepest").alias("tree_depth"))
    )


def popular_overhead(tables: Tables) -> DataFrame:
    """Unwanted copies of events, by all copies, about the topics with the most subscribers."""
    subscribers = (
        _topics_held(tables)
        .select("trial", F.explode("topics").alias("topic"))
        .groupBy("trial", "topic")
        .agg(F.count("*").alias("subscribers"))
    )
    by_popularity = Window.partitionBy("trial").orderBy(F.desc("subscribers"), "topic")
    popular = subscribers.withColumn("rank", F.row_number().over(by_popularity)).where(
        F.col("rank") <= POPULAR_TOPICS
    )
    return (
        tables["handled"]
        .join(popular.select("trial", "topic"), ["trial", "topic"])
        .groupBy("trial")
        .agg(F.try_divide(F.sum("unwanted_copies"), F.sum("copies")).alias("overhead_popular"))
    )


def in_degree(tables: Tables) -> DataFrame:
    """The most long links that end at one peer, by how many end at one on average."""
    up = tables["links"].where("moment = 'end' and kind = 'long'")
    peers = up.groupBy(*_OVERLAY).agg(F.count_distinct("peer").alias("peers"), F.count("*").alias("links"))
    return (
        up.groupBy(*_OVERLAY, "neighbour")
        .agg(F.count("*").alias("incoming"))
        .groupBy(*_OVERLAY)
        .agg(F.max("incoming").alias("most"))
        .join(peers, list(_OVERLAY))
        .groupBy("trial")
        .agg(F.max(F.col("most") * F.col("peers") / F.col("links")).alias("in_degree_ratio"))
    )
