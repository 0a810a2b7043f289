"""How far events reach, topic by topic, how soon after a join, and how many copies that takes."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.tables.build import Tables
from analysis.tables.deliveries import due

AFTER_JOIN_S = (0, 2, 5, 10, 20, 30, 60)
"""Where intervals since a peer's last join begin; the last one has no end."""
_FEW = 0.05


def coverage(tables: Tables) -> Iterator[DataFrame]:
    """Frames of one row a trial, whose columns are measures of systems that serve topics."""
    expected = tables["deliveries"].where("expected and topic is not null")
    hit = F.avg(F.col("delivered").cast("double"))
    last = F.max(F.when(F.col("delivered"), F.col("hops")))
    by_event = expected.groupBy("trial", "event").agg(hit.alias("reached"), last.alias("last_hop"))
    yield by_event.groupBy("trial").agg(
        F.avg("reached").alias("coverage"),
        F.stddev_pop("reached").alias("coverage_sd"),
        F.avg((F.col("reached") < _FEW).cast("double")).alias("coverage_failed"),
        F.avg("last_hop").alias("last_hop"),
        F.stddev_pop("last_hop").alias("last_hop_sd"),
    )
    by_topic = expected.groupBy("trial", "topic").agg(hit.alias("reached"))
    yield by_topic.groupBy("trial").agg(F.avg("reached").alias("hit_ratio_by_topic"))
    yield _after_joins(tables)
    yield _costs(tables)


def _after_joins(tables: Tables) -> DataFrame:
    """Hit ratio by the time between a peer's last join and the publication."""
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


def _costs(tables: Tables) -> DataFrame:
    made = tables["deliveries"].where("delivered").groupBy("trial").agg(F.count("*").alias("made"))
    sent = (
        tables["handled"]
        .where("topic is not null")
        .groupBy("trial")
        .agg(F.sum("copies").alias("copies"), F.sum("messages").alias("messages"))
    )
    return sent.join(made, "trial").select(
        "trial",
        (F.col("copies") / F.col("made")).alias("copies_per_delivery"),
        (F.col("messages") / F.col("made")).alias("messages_per_delivery"),
    )
