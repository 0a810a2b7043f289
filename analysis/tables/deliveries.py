"""Who was to get each event, who got it, and who handled it for others."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.tables.carriers import CARRIERS, TOPIC_CARRIERS

JOIN_GRACE_S = 10.0
"""An event counts for a peer that joined, or subscribed while up, this long before (Vitis, IV.F)."""
LEAVE_GRACE_S = 5.0
"""An event does not count for a peer that left, or unsubscribed, sooner than this after it."""
MARGIN_S = 1e-6
"""What rounding may have moved a time by."""

Tables = Mapping[str, DataFrame]
_KEY = ["trial", "event", "peer"]


def published(tables: Tables) -> DataFrame:
    """One row for each event that was published: trial, trace, event, topic, publisher, published_s."""
    return (
        tables["operations"]
        .where("operation = 'publish'")
        .select(
            "trial",
            "trace",
            "event",
            "topic",
            F.col("peer").alias("publisher"),
            F.col("at_s").alias("published_s"),
        )
    )


def handled(tables: Tables) -> DataFrame:
    """The table of that name.

    A span says whether its peer asked for the event's topic; of other events, `interests` tells.
    """
    is_message = F.col("sender").isNotNull()
    unwanted = is_message & ~F.coalesce("interested", F.lit(False))
    message = F.col("message")
    is_copy = message.isin(*CARRIERS) | (F.col("topic").isNotNull() & message.isin(*TOPIC_CARRIERS))
    delivered_s = F.when(F.col("delivered"), F.col("handled_s"))
    events = F.broadcast(published(tables))
    found = (
        tables["hops"]
        .where("parent is not null")
        .drop("event")
        .join(events.select("trial", "trace", "event"), ["trial", "trace"])
        .groupBy(*_KEY)
        .agg(
            F.count_if(is_copy).alias("copies"),
            F.count_if(is_message).alias("messages"),
            F.coalesce(F.sum("bytes"), F.lit(0)).alias("bytes"),
            F.count_if(is_copy & unwanted).alias("unwanted_copies"),
            F.count_if(unwanted).alias("unwanted_messages"),
            F.coalesce(F.sum(F.when(unwanted, F.col("bytes"))), F.lit(0)).alias("unwanted_bytes"),
            F.min(delivered_s).alias("delivered_s"),
            F.min_by("hops", delivered_s).alias("hops"),
            F.count_if("delivered").alias("deliveries"),
        )
    )
    interested = tables["interests"].select(*_KEY, F.lit(True).alias("matched"))
    wanted = {c: F.when(F.col("matched"), 0).otherwise(F.col(c)) for c in found.columns if "unwanted" in c}
    return (
        found.join(interested, _KEY, "left")
        .withColumns(wanted)
        .drop("matched")
        .join(events.drop("trace"), ["trial", "event"])
    )


def _expected(tables: Tables) -> DataFrame:
    """Each event with each other peer that was subscribed and up long enough before and after it."""
    due = F.col("published_s")
    stays_until = F.least(due + LEAVE_GRACE_S, F.col("trial_end_s") - MARGIN_S)

    def held(start: Column, end: Column) -> Column:
        return (start <= due - JOIN_GRACE_S + MARGIN_S) & (end >= stays_until)

    asked_at = F.when(F.col("asked_s") > 0, F.col("asked_s")).otherwise(F.lit(-JOIN_GRACE_S))
    subscriptions = tables["subscriptions"].select(
        "trial", "topic", "peer", F.col("start_s").alias("asked_s"), F.col("end_s").alias("given_up_s")
    )
    up = tables["sessions"].where("start_s is not null").select("trial", "peer", "start_s", "end_s")
    return (
        subscriptions.join(F.broadcast(published(tables).drop("trace")), ["trial", "topic"])
        .join(tables["trials"], "trial")
        .where((F.col("peer") != F.col("publisher")) & held(asked_at, F.col("given_up_s")))
        .join(up, ["trial", "peer"])
        .where(held(F.col("start_s"), F.col("end_s")))
        .select(*_KEY, F.lit(True).alias("expected"))
        .union(tables["interests"].where("expected").select(*_KEY, "expected"))
    )


def deliveries(tables: Tables) -> DataFrame:
    """The table of that name."""
    got = (
        tables["handled"]
        .where("delivered_s is not null or copies > unwanted_copies")
        .select(*_KEY, "delivered_s", "hops", "copies", "deliveries")
    )
    copies = F.coalesce("copies", F.lit(0))
    return (
        _expected(tables)
        .join(got, _KEY, "full")
        .join(F.broadcast(published(tables).drop("trace")), ["trial", "event"])
        .where(F.col("peer") != F.col("publisher"))
        .select(
            *("trial", "event", "topic", "publisher", "published_s", "peer"),
            F.coalesce("expected", F.lit(False)).alias("expected"),
            F.col("delivered_s").isNotNull().alias("delivered"),
            "hops",
            ((F.col("delivered_s") - F.col("published_s")) * 1e3).alias("delay_ms"),
            copies.alias("copies"),
            F.greatest(copies - 1, F.lit(0)).alias("duplicates"),
            F.greatest(F.coalesce("deliveries", F.lit(0)) - 1, F.lit(0)).alias("repeated"),
        )
    )


def relays(tables: Tables) -> DataFrame:
    """The table of that name."""
    return (
        tables["handled"]
        .where("unwanted_messages > 0")
        .select(
            *("trial", "event", "topic", "peer"),
            F.col("unwanted_messages").alias("messages"),
            F.col("unwanted_copies").alias("copies"),
            F.col("unwanted_bytes").alias("bytes"),
        )
    )
