"""Distributions over peers, deliveries, lookups and subscriptions: tables that the figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.workload_kinds import Kind
from analysis.engine.one_partition import gathered
from analysis.tables.costs import KINDS
from analysis.tables.roles import has_duty

Tables = Mapping[str, DataFrame]
_CLASSES = 20
_QUANTILES = 100
_STEPS = [i / _QUANTILES for i in range(_QUANTILES + 1)]


def rounded(column: str) -> Column:
    """Return the column to a hundredth, so that exact quantiles of millions of values keep few of them in
    memory."""
    return F.round(column, 2)


def nothing() -> Column:
    """Return null, for rows that do not have the value."""
    return F.lit(None).cast("double")


def overhead_histogram(tables: Tables) -> DataFrame:
    """Return the rows of the table `overhead_histogram`.

    Peers that received nothing have no overhead; relays and servers are left out, and so are trials that have
    no other peers.
    """
    spark = tables["traffic"].sparkSession
    trials = tables["trials"].select("trial")
    edge = F.floor(F.coalesce("overhead", F.lit(0.0)) * _CLASSES + 1e-9)
    counted = (
        tables["traffic"]
        .where(~has_duty())
        .groupBy("trial", F.least(edge, F.lit(_CLASSES - 1)).alias("edge"))
        .agg(F.count("*").alias("peers"))
    )
    classes = trials.crossJoin(spark.range(_CLASSES).withColumnRenamed("id", "edge"))
    total = F.sum("peers").over(Window.partitionBy("trial"))
    upwards = F.sum("peers").over(Window.partitionBy("trial").orderBy(F.desc("edge")))
    return (
        gathered(classes)
        .join(counted, ["trial", "edge"], "left")
        .na.fill(0, ["peers"])
        .select(
            "trial",
            (F.col("edge") / _CLASSES).alias("low"),
            ((F.col("edge") + 1) / _CLASSES).alias("high"),
            "peers",
            F.try_divide("peers", total).alias("share"),
            F.try_divide(upwards, total).alias("above"),
        )
        .where("share is not null")
    )


def delay_cdf(tables: Tables, known: Sequence[Kind]) -> DataFrame:
    """Return the rows of the table `delay_cdf`: hops at each value that occurs, the rest at each hundredth of
    the rows."""
    sources = {"publish": tables["deliveries"].where("delivered").withColumn("penalty", nothing())}
    sources |= {name: rows(tables) for kind in known for name, rows in kind.analysis.delays.items()}
    keys = ["trial", "operation"]
    made: DataFrame | None = None
    for operation, frame in sources.items():
        rows = frame.select("trial", F.lit(operation).alias("operation"), "hops", "delay_ms", "penalty")
        made = rows if made is None else made.union(rows)
    assert made is not None
    counts = made.groupBy(*keys, F.col("hops").cast("double").alias("value")).agg(F.count("*").alias("n"))
    total = F.sum("n").over(Window.partitionBy(*keys))
    upto = F.sum("n").over(Window.partitionBy(*keys).orderBy("value"))
    hops = counts.select(*keys, F.lit("hops").alias("unit"), "value", (upto / total).alias("share"))
    quantiles = made.groupBy(*keys).agg(
        F.percentile(rounded("delay_ms"), _STEPS).alias("ms"),
        F.percentile(rounded("penalty"), _STEPS).alias("penalty"),
    )
    return hops.union(_cdf(quantiles, keys, "unit", ("ms", "penalty")))


def cost_cdf(tables: Tables) -> DataFrame:
    """Return the rows of the table `cost_cdf`: at each hundredth of the peers."""
    quantiles = (
        tables["costs"].groupBy("trial").agg(*(F.percentile(kind, _STEPS).alias(kind) for kind in KINDS))
    )
    return _cdf(quantiles, ["trial"], "kind", KINDS)


def _cdf(quantiles: DataFrame, keys: list[str], name: str, columns: tuple[str, ...]) -> DataFrame:
    """Return rows `value` and `share` from columns of quantiles; a value that several of them have, once."""
    named = F.explode(F.array(*(F.struct(F.lit(c).alias(name), F.col(c).alias("values")) for c in columns)))
    return (
        quantiles.select(*keys, named.alias("of"))
        .select(*keys, f"of.{name}", F.posexplode("of.values").alias("step", "value"))
        .groupBy(*keys, name, "value")
        .agg((F.max("step") / _QUANTILES).alias("share"))
    )
