"""Coverage of events, topic by topic, the time since a join, and the copies that delivery takes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables
from analysis.tables.deliveries import due

AFTER_JOIN_S = (0, 2, 5, 10, 20, 30, 60)
"""The starts (s) of intervals since a peer's last join; the last interval has no end."""
_FEW = 0.05


def _expected(tables: Tables) -> DataFrame:
    return tables["deliveries"].where("expected and topic is not null")


def _hit() -> Column:
    return F.avg(F.col("delivered").cast("double"))


def reach(tables: Tables) -> DataFrame:
    """Return for each event how many of its subscribers it reached, and the hops to the last of them."""
    last = F.max(F.when(F.col("delivered"), F.col("hops")))
    by_event = (
        _expected(tables).groupBy("trial", "event").agg(_hit().alias("reached"), last.alias("last_hop"))
    )
    return by_event.groupBy("trial").agg(
        F.avg("reached").alias("coverage"),
        F.stddev_pop("reached").alias("coverage_sd"),
        F.avg((F.col("reached") < _FEW).cast("double")).alias("coverage_failed"),
        F.avg("last_hop").alias("last_hop"),
        F.stddev_pop("last_hop").alias("last_hop_sd"),
    )


def reach_by_topic(tables: Tables) -> DataFrame:
    """Return the hit ratio of each topic, mean over topics."""
    by_topic = _expected(tables).groupBy("trial", "topic").agg(_hit().alias("reached"))
    return by_topic.groupBy("trial").agg(F.avg("reached").alias("hit_ratio_by_topic"))


def hit_ratio_after_joins(tables: Tables) -> DataFrame:
    """Return the hit ratio by the time between a peer's last join and the publication."""
    made = tables["deliveries"].where("delivered").select("trial", "event", "peer", F.lit(1).alias("made"))
    columns = []
    for begin, end in zip(AFTER_JOIN_S, (*AFTER_JOIN_S[1:], None), strict=True):
        counted = F.col("since_join_s") >= begin
        if end is not None:
            counted &= F.col("since_join_s") < end
        columns += [
            F.avg(F.when(counted, F.coalesce("made", F.lit(0)))).alias(f"hit_ratio_after_{begin}_s"),
            F.count_if(counted).alias(f"due_after_{begin}_s"),
        ]
    return due(tables).join(made, ["trial", "event", "peer"], "left").groupBy("trial").agg(*columns)


def copies_and_messages(tables: Tables) -> DataFrame:
    """Return the copies and messages that were received, for each delivery made."""
    made = tables["deliveries"].where("delivered").groupBy("trial").agg(F.count("*").alias("made"))
    sent = (
        tables["handled"]
        .where("topic is not null")
        .groupBy("trial")
        .agg(F.sum("copies").alias("copies"), F.sum("messages").alias("messages"))
    )
    return sent.join(made, "trial").select(
        "trial",
        (F.nullif("copies", F.lit(0)) / F.col("made")).alias("copies_per_delivery"),
        (F.nullif("messages", F.lit(0)) / F.col("made")).alias("messages_per_delivery"),
    )
