"""What became of each subscription that was made while its peer was up, and what operations cost."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]


def installations(tables: Tables) -> DataFrame:
    """The table of that name."""
    asked = (
        tables["operations"]
        .where("operation = 'subscribe'")
        .select("trial", "trace", "interest", "peer", F.col("at_s").alias("asked_s"), "messages", "bytes")
    )
    installed = (
        tables["hops"]
        .where("delivered")
        .select("trial", "trace", "handled_s", "hops")
        .join(F.broadcast(asked.select("trial", "trace")), ["trial", "trace"])
        .groupBy("trial", "trace")
        .agg(F.min(F.struct("handled_s", "hops")).alias("first"))
    )
    return asked.join(installed, ["trial", "trace"], "left").select(
        *("trial", "interest", "peer", "asked_s"),
        F.col("first.handled_s").alias("installed_s"),
        ((F.col("first.handled_s") - F.col("asked_s")) * 1e3).alias("delay_ms"),
        F.col("first.hops").alias("hops"),
        *("messages", "bytes"),
    )


def operation_traffic(tables: Tables) -> DataFrame:
    """The table of that name."""
    operations = tables["operations"].select("trial", "trace", "operation")
    return (
        tables["hops"]
        .where("sender is not null")
        .select("trial", "trace", "message", "peer", "bytes")
        .join(F.broadcast(operations), ["trial", "trace"])
        .groupBy("trial", "operation", "message", "peer")
        .agg(F.count("*").alias("messages"), F.sum("bytes").alias("bytes"))
    )
