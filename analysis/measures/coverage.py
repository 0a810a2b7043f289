"""How far events reach, topic by topic, what that costs, and what gradients are worth."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.tables.build import Tables

LEVELS = 3
"""Levels of a filter whose false positives are told apart."""
AFTER_JOIN_S = (10, 20, 30, 60)
"""Where intervals since a peer's last join begin; the last one has no end."""
_FEW = 0.05


def coverage(tables: Tables) -> Iterator[DataFrame]:
    """Frames of one row a trial, whose columns are measures of systems that serve topics."""
    due = tables["deliveries"].where("expected and topic is not null")
    hit = F.avg(F.col("delivered").cast("double"))
    last = F.max(F.when(F.col("delivered"), F.col("hops")))
    by_event = due.groupBy("trial", "event").agg(hit.alias("reached"), last.alias("last_hop"))
    yield by_event.groupBy("trial").agg(
        F.avg("reached").alias("coverage"),
        F.stddev_pop("reached").alias("coverage_sd"),
        F.avg((F.col("reached") < _FEW).cast("double")).alias("coverage_failed"),
        F.avg("last_hop").alias("last_hop"),
        F.stddev_pop("last_hop").alias("last_hop_sd"),
    )
    by_topic = due.groupBy("trial", "topic").agg(hit.alias("reached"))
    yield by_topic.groupBy("trial").agg(F.avg("reached").alias("hit_ratio_by_topic"))
    yield _after_joins(tables, due)
    yield _costs(tables)
    yield _degrees(tables)
    yield _gradients(tables)
    yield _updates(tables)


def _after_joins(tables: Tables, due: DataFrame) -> DataFrame:
    """Hit ratio by the time between a peer's last join and the publication."""
    up = tables["sessions"].where("start_s is not null").select("trial", "peer", "start_s", "end_s")
    since = F.col("published_s") - F.col("start_s")
    columns = []
    for begin, end in zip(AFTER_JOIN_S, (*AFTER_JOIN_S[1:], None), strict=True):
        counted = F.col("since") >= begin
        if end is not None:
            counted &= F.col("since") < end
        hit = F.avg(F.when(counted, F.col("delivered").cast("double")))
        columns.append(hit.alias(f"hit_ratio_after_{begin}_s"))
    return (
        due.join(up, ["trial", "peer"])
        .where("start_s <= published_s and end_s > published_s")
        .withColumn("since", since)
        .groupBy("trial")
        .agg(*columns)
    )


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


def _degrees(tables: Tables) -> DataFrame:
    degrees = (
        tables["links"]
        .where("moment = 'end'")
        .groupBy("trial", "peer")
        .agg(F.count_distinct("neighbour").alias("degree"))
    )
    return degrees.groupBy("trial").agg(
        F.stddev_pop("degree").alias("neighbours_sd"),
        *(F.avg((F.col("degree") > n).cast("double")).alias(f"neighbours_above_{n}") for n in (15, 200)),
    )


def _gradients(tables: Tables) -> DataFrame:
    """By the counts that peers keep of copies that came to them by a gradient."""

    def total(name: str, level: int) -> Column:
        return F.sum(F.when(F.col("name") == f"{name}_{level}", F.col("value")))

    totals = {
        f"{name}_{level}": total(name, level)
        for name in ("directed", "astray", "recovered")
        for level in range(LEVELS)
    }

    def all_levels(name: str) -> Column:
        return F.coalesce(F.col(f"{name}_0"), F.lit(0)) + sum(
            (F.coalesce(F.col(f"{name}_{level}"), F.lit(0)) for level in range(1, LEVELS)), F.lit(0)
        )

    return (
        tables["states"]
        .where("moment = 'end'")
        .groupBy("trial")
        .agg(
            *(column.alias(name) for name, column in totals.items()),
            F.max(F.when(F.col("name") == "filter_bytes", F.col("value"))).alias("filter_bytes_max"),
        )
        .select(
            *("trial", "filter_bytes_max"),
            F.try_divide(all_levels("astray"), all_levels("directed")).alias("gradients_false"),
            F.try_divide(all_levels("recovered"), all_levels("astray")).alias("gradients_recovered"),
            *(
                F.try_divide(f"astray_{level}", f"directed_{level}").alias(f"gradients_false_{level}")
                for level in range(LEVELS)
            ),
        )
    )


def _updates(tables: Tables) -> DataFrame:
    """Filters as they travel in the measure phase, a second and peer."""
    up = tables["traffic"].groupBy("trial").agg(F.sum("up_s").alias("up_s"))
    return (
        tables["messages"]
        .where("message = 'GradientUpdate'")
        .groupBy("trial")
        .agg(F.sum("bytes").alias("bytes"))
        .join(up, "trial")
        .select("trial", (F.col("bytes") / F.col("up_s")).alias("filter_bytes_per_s"))
    )
