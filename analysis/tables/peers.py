"""Tables about each peer: its traffic, state and links."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.engine.one_partition import few, gathered
from analysis.tables.roles import with_role
from emulator.telemetry import names

Tables = Mapping[str, DataFrame]
_MESSAGE = ["message", "kind", "channel", "traffic"]
_COUNTS = ["copies", "unwanted_copies", "messages", "unwanted_messages", "bytes", "unwanted_bytes"]
_COUNTERS = [
    f"{traffic}_{unit}" for traffic in ("operation", "maintenance") for unit in ("messages", "bytes")
]


SAMPLED = "sample"
"""The moment of a gauge that is recorded over time."""


def _moment() -> Column:
    """Return the moment of a snapshot: the start or the end of the measure phase, whichever is nearer."""
    middle = (F.col("measure_start_s") + F.col("measure_end_s")) / 2
    return F.when(F.col("at_s") < middle, "start").otherwise("end")


def _points(tables: Tables, *columns: str) -> DataFrame:
    """Return data points with their moment; `channel` is empty at the root channel."""
    return (
        tables["points"]
        .join(tables["trials"], "trial")
        .withColumn("channel", F.coalesce("channel", F.lit("")))
        .select("trial", _moment().alias("moment"), *columns)
    )


def states(tables: Tables) -> DataFrame:
    """Return the rows of the table `states`."""
    points = _points(tables, "peer", "channel", "at_s", "name", "value")
    sampled = F.col("name").startswith(names.SAMPLE)
    begin = F.when(sampled, len(names.SAMPLE) + 1).otherwise(len(names.STATE) + 1)
    return (
        points.where(F.col("name").startswith(names.STATE) | sampled)
        .withColumn("moment", F.when(sampled, SAMPLED).otherwise(F.col("moment")))
        .withColumn("name", F.substring("name", begin, F.lit(200)))
    )


def links(tables: Tables) -> DataFrame:
    """Return the rows of the table `links`."""
    return (
        _points(tables, "peer", "channel", "neighbour", "kind", "at_s", "name")
        .where(F.col("name") == names.LINK)
        .drop("name")
    )


def counters(tables: Tables) -> DataFrame:
    """Return the rows of the table `counters`.

    Only hosts that wrote their counters at the end of the phase count; a host that started in between began
    at 0.
    """
    is_end = F.col("moment") == "end"
    units = {names.PEER_SENT_MESSAGES: "messages", names.PEER_SENT_BYTES: "bytes"}
    change = {
        unit: F.sum(F.when(F.col("name") == name, F.when(is_end, F.col("value")).otherwise(-F.col("value"))))
        for name, unit in units.items()
    }
    sent = ["peer", *_MESSAGE]
    return (
        _points(tables, "host", "incarnation", *sent, "name", "value")
        .where(F.col("name").isin(*units))
        .groupBy("trial", "host", "incarnation", *sent)
        .agg(*(c.cast("bigint").alias(unit) for unit, c in change.items()), F.max(is_end).alias("whole"))
        .where("whole")
        .groupBy("trial", *sent)
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def messages(tables: Tables) -> DataFrame:
    """Return the rows of the table `messages`."""
    return (
        tables["counters"]
        .groupBy("trial", *_MESSAGE)
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def traffic(tables: Tables) -> DataFrame:
    """Return the rows of the table `traffic`.

    What the peers of a host that dies had sent since its last record is lost, so they have no counters.
    """
    begin, end = F.col("measure_start_s"), F.col("measure_end_s")
    within = F.least("end_s", end) - F.greatest("start_s", begin)
    up = (
        gathered(tables["sessions"].join(tables["trials"], "trial"))
        .where(within > 0)
        .groupBy("trial", "peer")
        .agg(F.round(F.sum(within), 9).alias("up_s"))
    )
    received = tables["handled"].groupBy("trial", "peer").agg(*(F.sum(c).alias(c) for c in _COUNTS))
    sent = (
        tables["counters"]
        .groupBy("trial", "peer")
        .agg(
            *(
                F.coalesce(F.sum(F.when(F.col("traffic") == kind, F.col(unit))), F.lit(0)).alias(
                    f"{kind}_{unit}"
                )
                for kind, _, unit in (name.partition("_") for name in _COUNTERS)
            )
        )
    )
    away = tables["absences"].select("trial", "peer", F.lit(True).alias("away")).distinct()
    told = {name: F.when(F.col("away").isNull(), F.col(name)) for name in _COUNTERS}
    return (
        with_role(up, tables["roles"])
        .join(received, ["trial", "peer"], "left")
        .join(sent, ["trial", "peer"], "left")
        .join(few(away), ["trial", "peer"], "left")
        .na.fill(0, _COUNTS)
        .withColumns(told)
        .withColumnsRenamed({"copies": "received", "unwanted_copies": "unwanted"})
        .withColumn("overhead", F.try_divide("unwanted", "received"))
        .select(
            *("trial", "peer", "role", "up_s", "received", "unwanted", "overhead"),
            *("messages", "unwanted_messages", "bytes", "unwanted_bytes", *_COUNTERS),
        )
    )
