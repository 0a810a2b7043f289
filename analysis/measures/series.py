"""Time series and clusters: tables that the figures show."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.measures.clusters import CLUSTERS, count_clusters
from analysis.measures.distributions import cost_cdf, delay_cdf, overhead_histogram
from analysis.tables.build import Tables
from analysis.tables.deliveries import published
from analysis.tables.parquet import TablesInMaking
from analysis.tables.roles import has_duty
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names

_MAINTENANCE = {names.SENT_MESSAGES: "maintenance_messages", names.SENT_BYTES: "maintenance_bytes"}
_TOPIC_GROUPS = 8
"""Of a trial's topics, each for one task, which gets all links."""


def build_series(run: RunDirectory, tables: Tables) -> Tables:
    """Write series, overhead_histogram, delay_cdf, cost_cdf and clusters; returns them and `tables`."""
    with TablesInMaking(run, tables) as making:
        making.write("clusters", lambda: _clusters(tables), "topic")
        making.write("series", lambda: _series(tables), "start_s")
        making.write("delay_cdf", lambda: delay_cdf(tables), "operation", "unit", "value")
        making.write("overhead_histogram", lambda: overhead_histogram(tables), "low")
        making.write("cost_cdf", lambda: cost_cdf(tables), "kind", "value")
    return dict(making)


def _slots(tables: Tables) -> DataFrame:
    """Every interval: trial, slot, start_s, end_s, interval_s."""
    start = F.col("measure_start_s") + F.col("slot") * F.col("interval_s")
    last = F.ceil((F.col("measure_end_s") - F.col("measure_start_s")) / F.col("interval_s") - 1e-9) - 1
    return (
        tables["trials"]
        .withColumn("slot", F.explode(F.sequence(F.lit(0), F.greatest(last, F.lit(0)).cast("int"))))
        .select(
            *("trial", "slot", "interval_s"),
            start.alias("start_s"),
            F.least(start + F.col("interval_s"), "measure_end_s").alias("end_s"),
        )
    )


def _series(tables: Tables) -> DataFrame:
    keys = ["trial", "slot"]
    slots = F.broadcast(_slots(tables))
    slot = F.floor((F.col("at_s") - F.col("measure_start_s")) / F.col("interval_s")).cast("int")
    counted = (
        _happened(tables)
        .join(tables["trials"], "trial")
        .groupBy("trial", slot.alias("slot"))
        .agg(
            F.sum("published").alias("published"),
            F.count_if("expected").alias("expected"),
            F.count_if(F.expr("expected and delivered")).alias("delivered"),
            F.avg("hops").alias("hops"),
            _mean_ms("delay_ms").alias("delay_ms"),
            F.sum("received").alias("received"),
            F.sum("unwanted").alias("unwanted"),
            F.count("right").alias("lookups"),
            F.try_divide(F.count_if("right"), F.count("right")).alias("lookup_success"),
            F.avg("lookup_hops").alias("lookup_hops"),
            _mean_ms("lookup_delay_ms").alias("lookup_delay_ms"),
            *(F.sum(unit).alias(unit) for unit in _MAINTENANCE.values()),
        )
    )
    peer_seconds = F.col("peers_up") * (F.col("end_s") - F.col("start_s"))
    return (
        slots.join(_peers_up(tables, slots), keys, "left")
        .join(counted, keys, "left")
        .na.fill(0, ["peers_up", "published", "expected", "delivered", "received", "unwanted", "lookups"])
        .select(
            *("trial", "start_s", "end_s", "peers_up", "published", "expected", "delivered"),
            F.try_divide("delivered", "expected").alias("hit_ratio"),
            *("received", "unwanted", F.try_divide("unwanted", "received").alias("overhead")),
            *("hops", "delay_ms", "lookups", "lookup_success", "lookup_hops", "lookup_delay_ms"),
            *(F.try_divide(unit, peer_seconds).alias(unit) for unit in _MAINTENANCE.values()),
        )
    )


def _mean_ms(column: str) -> Column:
    """A mean that does not depend on the order of the rows: of whole nanoseconds."""
    return F.avg(F.round(F.col(column) * 1e6).cast("bigint")) / 1e6


def _happened(tables: Tables) -> DataFrame:
    """trial, at_s and what the series counts: a row of one kind has nulls in the columns of the others."""
    publications = published(tables).select(
        "trial", F.col("published_s").alias("at_s"), F.lit(1).alias("published")
    )
    due = tables["deliveries"].select(
        "trial", F.col("published_s").alias("at_s"), "expected", "delivered", "hops", "delay_ms"
    )
    received = (
        tables["handled"]
        .where(~has_duty())
        .select(
            *("trial", F.col("published_s").alias("at_s")),
            *(F.col("copies").alias("received"), F.col("unwanted_copies").alias("unwanted")),
        )
    )
    lookups = (
        tables["lookups"]
        .where("counted")
        .select(
            *("trial", "at_s", "right"),
            *(F.col(column).alias(f"lookup_{column}") for column in ("hops", "delay_ms")),
        )
    )
    kinds = (publications, due, received, lookups, _maintenance(tables))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), kinds)


def _peers_up(tables: Tables, slots: DataFrame) -> DataFrame:
    """Mean number of peers that were up: trial, slot, peers_up."""
    within = F.least(F.col("s.end_s"), F.col("i.end_s")) - F.greatest(F.col("s.start_s"), F.col("i.start_s"))
    return (
        tables["sessions"]
        .alias("s")
        .join(slots.alias("i"), F.expr("s.trial = i.trial and s.start_s < i.end_s and s.end_s > i.start_s"))
        .groupBy("i.trial", "slot", "i.start_s", "i.end_s")
        .agg(F.sum(F.round(within * 1e9).cast("bigint")).alias("up_ns"))
        .select(
            "trial", "slot", (F.col("up_ns") / ((F.col("end_s") - F.col("start_s")) * 1e9)).alias("peers_up")
        )
    )


def _maintenance(tables: Tables) -> DataFrame:
    """Maintenance traffic of all hosts: trial, at_s, maintenance_messages?, maintenance_bytes?.

    From the hosts' counters, which are read each metrics interval: the growth since the reading before
    belongs to the interval of the series in which its middle lies.
    """
    source = ["trial", "host", "incarnation", "name"]
    readings = (
        tables["points"]
        .where(F.col("name").isin(*_MAINTENANCE) & (F.col("traffic") == "maintenance"))
        .groupBy(*source, "at_s")
        .agg(F.sum("value").alias("value"))
    )
    in_time = Window.partitionBy(*source).orderBy("at_s")
    growth = F.col("value") - F.lag("value", 1, 0.0).over(in_time)
    middle_s = (F.col("at_s") + F.lag("at_s", 1, 0.0).over(in_time)) / 2
    return readings.select("trial", "name", middle_s.alias("at_s"), growth.alias("growth")).select(
        *("trial", "at_s"),
        *(F.when(F.col("name") == name, F.col("growth")).alias(unit) for name, unit in _MAINTENANCE.items()),
    )


def _clusters(tables: Tables) -> DataFrame:
    """Connected components of each topic's subscribers; a link counts in both directions."""
    up = (
        tables["sessions"]
        .join(tables["trials"], "trial")
        .where("start_s <= measure_end_s and end_s > measure_end_s")
        .select("trial", "peer")
    )
    members = (
        tables["subscriptions"]
        .join(tables["trials"], "trial")
        .where("topic is not null and start_s <= measure_end_s and end_s > measure_end_s")
        .join(up, ["trial", "peer"])
        .select("trial", "topic", "peer", (F.col("topic") % _TOPIC_GROUPS).alias("topics"))
    )
    every = F.explode(F.sequence(F.lit(0), F.lit(_TOPIC_GROUPS - 1)))
    links = (
        tables["links"].where("moment = 'end'").select("trial", "peer", "neighbour", every.alias("topics"))
    )
    keys = ["trial", "topics"]
    return (
        members.groupBy(*keys)
        .cogroup(links.groupBy(*keys))
        .applyInArrow(count_clusters, from_arrow_schema(CLUSTERS))
    )
