"""Deliveries of events: which peers should have got each event, which got it, and which handled it for
others."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.engine.one_partition import few, gathered
from analysis.otlp.message_kinds import EVENT, NOTIFICATION
from analysis.tables.roles import with_role, without_attackers
from analysis.tables.roots import begun

JOIN_GRACE_S = 10.0
"""The seconds by which a peer must have joined, or subscribed while up, before an event that counts (Vitis,
IV.F)."""
LEAVE_GRACE_S = 5.0
"""The seconds for which a peer must stay, and stay subscribed, after an event that counts."""
MARGIN_S = 1e-6
"""The seconds by which rounding may have moved a time."""

Tables = Mapping[str, DataFrame]
_KEY = ["trial", "event", "peer"]


def published(tables: Tables) -> DataFrame:
    """Return one row for each event that was published: trial, trace, event, topic, publisher,
    published_s."""
    return (
        begun(tables)
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


def events(tables: Tables) -> DataFrame:
    """Return one row for each event of the plans: trial, event, topic, publisher, published_s.

    If the publication itself is not in the telemetry, because its host died, the planned time stands for it,
    so that what became of the event is still told.
    """
    told = published(tables).groupBy("trial", "event").agg(F.min("published_s").alias("told_s"))
    planned = tables["publications"].select(
        "trial", "event", "topic", "publisher", F.col("at_s").alias("planned_s")
    )
    return planned.join(few(told), ["trial", "event"], "left").select(
        *("trial", "event", "topic", "publisher"),
        F.coalesce("told_s", "planned_s").alias("published_s"),
    )


def handled(tables: Tables) -> DataFrame:
    """Return the rows of the table `handled`.

    A message is about the event that its span names, else about the one that its trace publishes. A delivery
    is about the event that it names, in whatever trace it is. A span says whether its peer was subscribed to
    the topic; for events without a topic `interests` says so, whatever topic a system gives its messages, and
    for a message in the trace of no publication, whether the peer delivered the event.
    """
    is_message = F.col("sender").isNotNull()
    is_copy = is_message & (F.col("kind") == EVENT)
    is_word = is_message & F.col("kind").isin(EVENT, NOTIFICATION)
    is_delivery = F.col("delivered") & F.col("event").isNotNull()
    delivered_s = F.when(is_delivery, F.col("handled_s"))
    refused, untold = F.col("interested") == F.lit(False), F.col("interested").isNull()
    of_trace = published(tables).select("trial", "trace", F.col("event").alias("published"))
    counts = {
        "copies": F.when(is_copy, 1),
        "messages": F.when(is_message, 1),
        "bytes": F.when(is_message, F.col("bytes")),
    }

    def total(column: Column) -> Column:
        return F.coalesce(F.sum(column), F.lit(0))

    found = (
        tables["hops"]
        .where(is_message | is_delivery)
        .join(few(of_trace), ["trial", "trace"], "left")
        .withColumn("about", F.coalesce("event", "published"))
        .where("about is not null")
        .groupBy("trial", F.col("about").alias("event"), "peer")
        .agg(
            *(total(column).alias(name) for name, column in counts.items()),
            *(total(F.when(refused, column)).alias(f"unwanted_{name}") for name, column in counts.items()),
            *(total(F.when(untold, column)).alias(f"untold_{name}") for name, column in counts.items()),
            F.min(delivered_s).alias("delivered_s"),
            F.min_by("hops", delivered_s).alias("hops"),
            F.min(F.when(is_word | is_delivery, F.col("hops"))).alias("fewest_hops"),
            F.count_if(is_delivery).alias("deliveries"),
        )
    )
    interested = tables["interests"].select(*_KEY, F.lit(True).alias("matched"))
    wanted = F.col("matched") | (F.col("topic").isNotNull() & (F.col("deliveries") > 0))
    has_topic = F.col("topic").isNotNull()
    unwanted = {
        f"unwanted_{name}": F.when(has_topic, F.col(f"unwanted_{name}")).otherwise(0)
        + F.when(F.coalesce(wanted, F.lit(False)), 0).otherwise(
            F.col(f"untold_{name}") + F.when(has_topic, 0).otherwise(F.col(f"unwanted_{name}"))
        )
        for name in counts
    }
    return (
        with_role(found, tables["roles"])
        .join(interested, _KEY, "left")
        .join(few(events(tables)), ["trial", "event"])
        .withColumns(unwanted)
        .select(
            *("trial", "event", "topic", "publisher", "published_s", "peer", "role", *counts, *unwanted),
            *("delivered_s", "hops", "fewest_hops", "deliveries"),
        )
    )


def due(tables: Tables) -> DataFrame:
    """Return each event with each other peer that was subscribed and up then, and long enough after it.

    The columns are trial, event, peer, since_join_s: from the peer's last join to the publication, however
    short. A peer that subscribed after its join had done so `JOIN_GRACE_S` before. A server may have
    subscribed for several of its clients: the event is due to it once.
    """
    at = F.col("published_s")
    stays_until = F.least(at + LEAVE_GRACE_S, F.col("trial_end_s") - MARGIN_S)
    asked_at = F.when(F.col("asked_s") > 0, F.col("asked_s")).otherwise(F.lit(-JOIN_GRACE_S))
    asked_in_time = asked_at <= F.greatest(at - JOIN_GRACE_S, F.col("start_s")) + MARGIN_S
    subscriptions = tables["subscriptions"].select(
        "trial", "topic", "peer", F.col("start_s").alias("asked_s"), F.col("end_s").alias("given_up_s")
    )
    up = tables["sessions"].where("start_s is not null").select("trial", "peer", "start_s", "end_s")
    published_to = subscriptions.join(few(published(tables).drop("trace")), ["trial", "topic"])
    asked = (
        gathered(gathered(published_to).join(tables["trials"], "trial"))
        .where((F.col("peer") != F.col("publisher")) & (F.col("given_up_s") >= stays_until))
        .where(asked_at <= at + MARGIN_S)
    )
    return (
        gathered(asked.join(up, ["trial", "peer"]))
        .where((F.col("start_s") <= at + MARGIN_S) & (F.col("end_s") >= stays_until) & asked_in_time)
        .select(*_KEY, (at - F.col("start_s")).alias("since_join_s"))
        .distinct()
    )


def _expected(tables: Tables) -> DataFrame:
    """Return where an event counts: it was due to the peer, which had joined long enough before it and is no
    attacker."""
    counts = (
        due(tables)
        .where(F.col("since_join_s") >= JOIN_GRACE_S - MARGIN_S)
        .select(*_KEY, F.lit(True).alias("expected"))
        .distinct()
        .union(tables["interests"].where("expected").select(*_KEY, "expected"))
    )
    return without_attackers(counts, tables)


def deliveries(tables: Tables) -> DataFrame:
    """Return the rows of the table `deliveries`."""
    got = (
        tables["handled"]
        .where("delivered_s is not null or copies > unwanted_copies")
        .select(*_KEY, "delivered_s", "hops", "fewest_hops", "copies", "deliveries")
    )
    copies = F.coalesce("copies", F.lit(0))
    return (
        _expected(tables)
        .join(got, _KEY, "full")
        .join(few(events(tables)), ["trial", "event"])
        .where(F.col("peer") != F.col("publisher"))
        .select(
            *("trial", "event", "topic", "publisher", "published_s", "peer"),
            F.coalesce("expected", F.lit(False)).alias("expected"),
            F.col("delivered_s").isNotNull().alias("delivered"),
            "hops",
            F.when(F.col("delivered_s").isNotNull(), F.col("fewest_hops")).alias("fewest_hops"),
            ((F.col("delivered_s") - F.col("published_s")) * 1e3).alias("delay_ms"),
            copies.alias("copies"),
            F.greatest(copies - 1, F.lit(0)).alias("duplicates"),
            F.greatest(F.coalesce("deliveries", F.lit(0)) - 1, F.lit(0)).alias("repeated"),
        )
    )


def relays(tables: Tables) -> DataFrame:
    """Return the rows of the table `relays`."""
    return (
        tables["handled"]
        .where("unwanted_messages > 0")
        .select(
            *("trial", "event", "topic", "peer", "role"),
            F.col("unwanted_messages").alias("messages"),
            F.col("unwanted_copies").alias("copies"),
            F.col("unwanted_bytes").alias("bytes"),
        )
    )
