"""What became of each peer: its sessions, traffic, state and links."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emulator.telemetry import names

Tables = Mapping[str, DataFrame]
_COUNTS = ["copies", "unwanted_copies", "messages", "unwanted_messages", "bytes", "unwanted_bytes"]
_COUNTERS = [
    f"{traffic}_{unit}" for traffic in ("operation", "maintenance") for unit in ("messages", "bytes")
]


def sessions(planned: DataFrame, tables: Tables, hosts: DataFrame) -> DataFrame:
    """The table of that name, from the plan's sessions and the joins and leaves that happened."""
    keys = ["trial", "peer", "session"]
    operations = tables["operations"]
    joins = (
        operations.where("operation = 'join'")
        .groupBy(*keys)
        .agg(F.min(F.struct("at_s", "host")).alias("joined"))
        .select(*keys, "joined.host", F.col("joined.at_s").alias("start_s"))
    )
    leaves = (
        operations.where("operation = 'leave'")
        .groupBy(*keys)
        .agg(F.min(F.struct("at_s", "graceful")).alias("left"))
        .select(*keys, F.col("left.at_s").alias("left_s"), F.col("left.graceful").alias("said_goodbye"))
    )
    lost = hosts.where("lost_at_s is not null").select("trial", "host", "lost_at_s")
    over_s = F.least(F.coalesce("left_s", "planned_end_s"), F.col("trial_end_s"))
    ended = (
        F.when(F.col("start_s").isNull(), F.lit(None))
        .when(F.col("lost_at_s") < over_s, "host lost")
        .when(F.coalesce("said_goodbye", "graceful"), "leave")
        .when(F.col("left_s").isNotNull() | (F.col("planned_end_s") < F.col("trial_end_s")), "crash")
        .otherwise("trial end")
    )
    return (
        planned.withColumnsRenamed({"start_s": "planned_start_s", "end_s": "planned_end_s"})
        .join(tables["trials"].select("trial", "trial_end_s"), "trial")
        .join(joins, keys, "left")
        .join(leaves, keys, "left")
        .join(lost, ["trial", "host"], "left")
        .select(
            *keys,
            "cause",
            "host",
            "planned_start_s",
            "planned_end_s",
            "start_s",
            F.when(F.col("start_s").isNotNull(), F.least(over_s, "lost_at_s")).alias("end_s"),
            ended.alias("ended"),
        )
    )


def _moment() -> Column:
    """Of the two snapshots: the one nearer to the start or to the end of the measure phase."""
    middle = (F.col("measure_start_s") + F.col("measure_end_s")) / 2
    return F.when(F.col("at_s") < middle, "start").otherwise("end")


def _points(tables: Tables, *columns: str) -> DataFrame:
    return (
        tables["points"].join(tables["trials"], "trial").select("trial", _moment().alias("moment"), *columns)
    )


def states(tables: Tables) -> DataFrame:
    """The table of that name."""
    return (
        _points(tables, "peer", "at_s", "name", "value")
        .where(F.col("name").startswith(names.STATE))
        .withColumn("name", F.substring("name", len(names.STATE) + 1, 200))
    )


def links(tables: Tables) -> DataFrame:
    """The table of that name."""
    return (
        _points(tables, "peer", "neighbour", "kind", "at_s", "name")
        .where(F.col("name") == names.LINK)
        .drop("name")
    )


def counters(tables: Tables) -> DataFrame:
    """The table of that name.

    Only of hosts that wrote their counters at its end; a host that started in between began at 0.
    """
    is_end = F.col("moment") == "end"
    units = {names.PEER_SENT_MESSAGES: "messages", names.PEER_SENT_BYTES: "bytes"}
    change = {
        unit: F.sum(F.when(F.col("name") == name, F.when(is_end, F.col("value")).otherwise(-F.col("value"))))
        for name, unit in units.items()
    }
    return (
        _points(tables, "file", "peer", "name", "message", "traffic", "value")
        .where(F.col("name").isin(*units))
        .groupBy("trial", "file", "peer", "message", "traffic")
        .agg(*(c.cast("bigint").alias(unit) for unit, c in change.items()), F.max(is_end).alias("whole"))
        .where("whole")
        .groupBy("trial", "peer", "message", "traffic")
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def messages(tables: Tables) -> DataFrame:
    """The table of that name."""
    return (
        tables["counters"]
        .groupBy("trial", "message", "traffic")
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def traffic(tables: Tables) -> DataFrame:
    """The table of that name."""
    begin, end = F.col("measure_start_s"), F.col("measure_end_s")
    within = F.least("end_s", end) - F.greatest("start_s", begin)
    up = (
        tables["sessions"]
        .join(tables["trials"], "trial")
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
    return (
        up.join(received, ["trial", "peer"], "left")
        .join(sent, ["trial", "peer"], "left")
        .na.fill(0, _COUNTS)
        .withColumnsRenamed({"copies": "received", "unwanted_copies": "unwanted"})
        .withColumn("overhead", F.try_divide("unwanted", "received"))
        .select(
            *("trial", "peer", "up_s", "received", "unwanted", "overhead"),
            *("messages", "unwanted_messages", "bytes", "unwanted_bytes", *_COUNTERS),
        )
    )
