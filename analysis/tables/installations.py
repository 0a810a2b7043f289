"""Installations: the fate of each subscription that was made while its peer was up."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.engine.one_partition import few

PIECES = (
    "trial string, interest int, peer int, asked_s double, stored_s double, answered_s double, "
    "delay_ms double"
)
BEFORE_S = 5.0
"""The seconds that a subscription may take to be stored."""

Tables = Mapping[str, DataFrame]
INSTALLATIONS = (
    "trial string, interest int, peer int, asked_s double, counted boolean, installed_s double, "
    "delay_ms double, hops int, messages bigint, bytes bigint"
)
"""The columns of the table."""


def installations(tables: Tables) -> DataFrame:
    """Return the rows of the table `installations`.

    A system may store a subscription in parts: it is in force when the last of them has arrived. A peer that
    is still joining acts on its subscriptions at the end of that, in its join's trace: they do not count.
    Neither do those of all peers that were made while a host died (`_spoilt`).
    """
    asked = (
        tables["operations"]
        .where("operation = 'subscribe'")
        .join(tables["trials"].select("trial"), "trial")
        .select("trial", "trace", "interest", "peer", F.col("at_s").alias("asked_s"), "messages", "bytes")
    )
    installed = (
        tables["hops"]
        .where("delivered and event is null and lookup is null")
        .select("trial", "trace", "handled_s", "hops")
        .join(few(asked.select("trial", "trace")), ["trial", "trace"])
        .groupBy("trial", "trace")
        .agg(F.max(F.struct("handled_s", "hops")).alias("last"))
    )
    acted = (F.col("messages") > 0) | F.col("last").isNotNull()
    with_last = asked.join(installed, ["trial", "trace"], "left")
    return with_last.join(_spoilt(tables, asked), ["trial", "trace"], "left").select(
        *("trial", "interest", "peer", "asked_s"),
        (acted & F.col("spoilt").isNull()).alias("counted"),
        F.col("last.handled_s").alias("installed_s"),
        ((F.col("last.handled_s") - F.col("asked_s")) * 1e3).alias("delay_ms"),
        F.col("last.hops").alias("hops"),
        *("messages", "bytes"),
    )


def pieces(tables: Tables) -> DataFrame:
    """Return the rows of the table `pieces`.

    A part is installed for its subscriber when the answer to its storing has come back, or when it is stored,
    if no answer is sent. A subscription that no peer stored has one row, without a delay.
    """
    counted = tables["installations"].where("counted").select("trial", "interest", "peer", "asked_s")
    operations = (
        tables["operations"].where("operation = 'subscribe'").select("trial", "trace", "interest", "peer")
    )
    asked = counted.join(operations, ["trial", "interest", "peer"])
    spans = tables["hops"].join(few(asked.select("trial", "trace").distinct()), ["trial", "trace"])
    stored = spans.where("delivered and event is null and lookup is null").select(
        "trial", "trace", "span", F.col("handled_s").alias("stored_s")
    )
    answers = spans.where("sender is not null").select(
        *("trial", "trace", "peer", F.col("parent").alias("span"), F.col("handled_s").alias("answered_s"))
    )
    parts = asked.join(stored, ["trial", "trace"], "left").join(
        answers, ["trial", "trace", "span", "peer"], "left"
    )
    key = ["trial", "interest", "peer", "asked_s", "span"]
    told_s = F.coalesce("answered_s", "stored_s")
    return (
        parts.groupBy(*key)
        .agg(F.min("stored_s").alias("stored_s"), F.min("answered_s").alias("answered_s"))
        .select(
            *("trial", "interest", "peer", "asked_s", "stored_s", "answered_s"),
            ((told_s - F.col("asked_s")) * 1e3).alias("delay_ms"),
        )
    )


def _spoilt(tables: Tables, asked: DataFrame) -> DataFrame:
    """Return subscriptions that may have been stored at a host of which nothing is known: trial, trace,
    spoilt.

    It is not known where a subscription was to be stored. So all are left out, whatever became of them, that
    began from `BEFORE_S` before a host's last record until it would have written the next one.
    """
    windows = (
        tables["absences"]
        .join(tables["trials"].select("trial", "interval_s"), "trial")
        .select(
            "trial",
            (F.col("from_s") - BEFORE_S).alias("first_s"),
            F.least("until_s", F.col("from_s") + F.col("interval_s")).alias("last_s"),
        )
        .distinct()
    )
    within = (
        (F.col("a.trial") == F.col("w.trial"))
        & (F.col("a.asked_s") >= F.col("w.first_s"))
        & (F.col("a.asked_s") <= F.col("w.last_s"))
    )
    return (
        asked.alias("a")
        .join(few(windows.alias("w")), within, "left_semi")
        .select("trial", "trace", F.lit(True).alias("spoilt"))
    )
