"""What became of each subscription that was made while its peer was up."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
INSTALLATIONS = (
    "trial string, interest int, peer int, asked_s double, counted boolean, installed_s double, "
    "delay_ms double, hops int, messages bigint, bytes bigint"
)
"""Columns of the table."""


def installations(tables: Tables) -> DataFrame:
    """The table of that name.

    A system may store a subscription in parts: it is in force when the last of them has arrived. A peer
    that is still joining acts on its subscriptions at the end of that, in its join's trace: they do not
    count.
    """
    asked = (
        tables["operations"]
        .where("operation = 'subscribe'")
        .join(tables["trials"].where("serves = 'content'").select("trial"), "trial")
        .select("trial", "trace", "interest", "peer", F.col("at_s").alias("asked_s"), "messages", "bytes")
    )
    installed = (
        tables["hops"]
        .where("delivered and event is null and lookup is null")
        .select("trial", "trace", "handled_s", "hops")
        .join(F.broadcast(asked.select("trial", "trace")), ["trial", "trace"])
        .groupBy("trial", "trace")
        .agg(F.max(F.struct("handled_s", "hops")).alias("last"))
    )
    return asked.join(installed, ["trial", "trace"], "left").select(
        *("trial", "interest", "peer", "asked_s"),
        ((F.col("messages") > 0) | F.col("last").isNotNull()).alias("counted"),
        F.col("last.handled_s").alias("installed_s"),
        ((F.col("last.handled_s") - F.col("asked_s")) * 1e3).alias("delay_ms"),
        F.col("last.hops").alias("hops"),
        *("messages", "bytes"),
    )
