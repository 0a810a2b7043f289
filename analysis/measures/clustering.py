"""The similarity of neighbours on a ring, the depth of trees, and the cost of popular topics (Magnet, section
4)."""

from __future__ import annotations

from typing import Final, Literal

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.measures import Tables
from analysis.engine.one_partition import few, gathered
from analysis.measures.successors import HEX_DIGITS, OVERLAY, with_next
from analysis.tables.identifiers import CLOCK_SLACK_S
from analysis.tables.roles import has_duty
from emulator.contract.identifiers import ClockwiseRing

POPULAR_TOPICS = 100
"""The number of topics that count as popular: Magnet's figure 5 shows the first 100."""
RANKS: Final = {"1_100": (1, 100), "101_300": (101, 300), "301_on": (301, None)}
"""The classes of topics by their rank in popularity, from 1. Topics without subscribers are in the
last one."""
FITTED: Final = (20, 300)
"""The numbers of subscribers of the topics that the exponent of popularity is fitted to."""
_TREE_EDGE: Final = "EventData"
"""The message that goes down the edges of trees. Other messages go to their roots: Routed, Multicast."""


def ring_similarity_at_start(tables: Tables) -> DataFrame:
    """Return the similarity when the measure phase began."""
    return ring_similarity(tables, "start")


def ring_similarity_at_end(tables: Tables) -> DataFrame:
    """Return the similarity when the measure phase ended."""
    return ring_similarity(tables, "end")


def ring_similarity(tables: Tables, moment: Literal["start", "end"]) -> DataFrame:
    """Return the shared topics by the topics that either has: the mean over a peer and its successor on a
    ring.

    It is that of the ring with the highest mean. Places are those of peers that were up when the measure
    phase began, or when it ended, by the identifiers that they told last. Interests are those of then. If the
    control overlay is such a ring too, peers stand on it at hashes and are alike by chance; the ring where
    they choose their places is the one with the highest mean.
    """
    name = "ring_similarity" if moment == "start" else "ring_similarity_end"
    asked = F.col(f"measure_{moment}_s")
    up = (
        gathered(tables["sessions"].join(tables["trials"], "trial"))
        .where((F.col("start_s") <= asked) & (asked < F.col("end_s")))
        .select("trial", "peer", "start_s", asked.alias("asked_s"))
    )
    places = (
        tables["identifiers"]
        .where(F.col("space") == ClockwiseRing.name)
        .transform(lambda told: gathered(told.join(up, ["trial", "peer"])))
        .where((F.col("at_s") >= F.col("start_s") - CLOCK_SLACK_S) & (F.col("at_s") <= F.col("asked_s")))
        .groupBy(*OVERLAY, "peer")
        .agg(F.max_by(F.lpad("identifier", HEX_DIGITS, "0"), "at_s").alias("place"))
    )
    pairs = with_next(places, "place", "peer").select(*OVERLAY, "peer", "next").where("peer != next")
    held = _topics_held(tables, moment)
    other = held.select("trial", F.col("peer").alias("next"), F.col("topics").alias("others"))
    alike = F.size(F.array_intersect("topics", "others")) / F.size(F.array_union("topics", "others"))
    return (
        gathered(pairs.join(held, ["trial", "peer"]))
        .join(other, ["trial", "next"])
        .groupBy(*OVERLAY)
        .agg(F.avg(alike).alias("alike"))
        .groupBy("trial")
        .agg(F.max("alike").alias(name))
    )


def _topics_held(tables: Tables, moment: Literal["start", "end"]) -> DataFrame:
    """Return what each peer was subscribed to when the measure phase began, or ended: trial, peer, topics."""
    asked = tables["trials"].select("trial", F.col(f"measure_{moment}_s").alias("asked_s"))
    return (
        tables["subscriptions"]
        .where("topic is not null")
        .select("trial", "peer", "topic", "start_s", "end_s")
        .transform(lambda subscribed: gathered(subscribed.join(asked, "trial")))
        .where("start_s <= asked_s and asked_s < end_s")
        .groupBy("trial", "peer")
        .agg(F.collect_set("topic").alias("topics"))
    )


def tree_depth(tables: Tables) -> DataFrame:
    """Return the edges from the root of an event's tree to the peer that is farthest from it, mean over
    events.

    A copy carries the number of hops since the publisher. The way to the root is the same for all copies of
    an event, so the copies on the first edges have made the fewest hops, and those on the last ones the most.
    """
    events = tables["operations"].where("operation = 'publish'").select("trial", "trace")
    return (
        tables["hops"]
        .where((F.col("message") == _TREE_EDGE) & F.col("sender").isNotNull() & F.col("hops").isNotNull())
        .join(few(events), ["trial", "trace"])
        .groupBy("trial", "trace")
        .agg((F.max("hops") - F.min("hops") + 1).alias("depth"))
        .groupBy("trial")
        .agg(F.avg("depth").alias("tree_depth"))
    )


def _ranked(tables: Tables) -> DataFrame:
    """Return topics by the number of subscribers when the measure phase begins: trial, topic, subscribers,
    rank."""
    by_popularity = Window.partitionBy("trial").orderBy(F.desc("subscribers"), "topic")
    return (
        _topics_held(tables, "start")
        .select("trial", F.explode("topics").alias("topic"))
        .groupBy("trial", "topic")
        .agg(F.count("*").alias("subscribers"))
        .withColumn("rank", F.row_number().over(by_popularity))
    )


def popular_overhead(tables: Tables) -> DataFrame:
    """Return unwanted copies of events, by all copies, about the topics with the most subscribers."""
    popular = _ranked(tables).where(F.col("rank") <= POPULAR_TOPICS)
    return (
        tables["handled"]
        .join(popular.select("trial", "topic"), ["trial", "topic"])
        .groupBy("trial")
        .agg(F.try_divide(F.sum("unwanted_copies"), F.sum("copies")).alias("overhead_popular"))
    )


def relays_by_popularity(tables: Tables) -> DataFrame:
    """Return relays an event, as `relays_per_event`, of each class of topics by their rank in popularity."""
    relays = tables["relays"].where(~has_duty()).groupBy("trial", "event").agg(F.count("*").alias("relays"))
    rank = F.coalesce("rank", F.lit(RANKS["301_on"][0]))
    columns = []
    for name, (first, last) in RANKS.items():
        counted = rank >= first if last is None else rank.between(first, last)
        relayed = F.sum(F.when(counted, F.coalesce("relays", F.lit(0))))
        columns.append(F.try_divide(relayed, F.count_if(counted)).alias(f"relays_per_event_{name}"))
    return (
        tables["operations"]
        .where("operation = 'publish' and topic is not null")
        .join(relays, ["trial", "event"], "left")
        .join(_ranked(tables).select("trial", "topic", "rank"), ["trial", "topic"], "left")
        .groupBy("trial")
        .agg(*columns)
    )


def popularity_exponent(tables: Tables) -> DataFrame:
    """Return the slope of the complementary distribution of popularity, both axes logarithmic (Magnet, figure
    7).

    The share of topics with at least as many subscribers as a topic is its rank by the number of topics.
    """
    slope = F.regr_slope(F.log(F.col("rank").cast("double")), F.log(F.col("subscribers").cast("double")))
    return (
        _ranked(tables)
        .where(F.col("subscribers").between(*FITTED))
        .groupBy("trial")
        .agg((-slope).alias("popularity_exponent"))
    )


def in_degree(tables: Tables) -> DataFrame:
    """Return the most long links that end at one peer, by how many end at one on average."""
    up = tables["links"].where("moment = 'end' and kind = 'long'")
    peers = up.groupBy(*OVERLAY).agg(F.count_distinct("peer").alias("peers"), F.count("*").alias("links"))
    return (
        up.groupBy(*OVERLAY, "neighbour")
        .agg(F.count("*").alias("incoming"))
        .groupBy(*OVERLAY)
        .agg(F.max("incoming").alias("most"))
        .join(peers, list(OVERLAY))
        .groupBy("trial")
        .agg(F.max(F.col("most") * F.col("peers") / F.col("links")).alias("in_degree_ratio"))
    )
