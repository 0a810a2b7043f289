"""Costs of operations to the peers that send their messages: "contributes" is Li's word (section 4.3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.engine.one_partition import few
from analysis.otlp.message_kinds import EVENT
from emulator.telemetry import names

Tables = Mapping[str, DataFrame]
KINDS = ("installing", "publishing", "matching")
"""The kinds of cost: subscribing, publishing, and publishing without the messages that carry the event.

The recovery of an event belongs to publishing it.
"""

_CHARGED = (*KINDS, "inserting")
_INSERTING = ("ProbeSub", "InsertSub", "LeafUpdate", "TransferSub", "Routed")
"""The messages that Li's thesis counts as installing (section 4.3.1): neither answers nor copies. The overlay
routes all but InsertSub in an envelope, which counts too, at each hop."""

COSTS = "trial string, peer int, " + ", ".join(f"{kind} double" for kind in _CHARGED)
"""The columns of the table."""


def operation_traffic(tables: Tables) -> DataFrame:
    """Return the rows of the table `operation_traffic`."""
    operations = tables["operations"].join(tables["trials"], "trial").select("trial", "trace", "operation")
    return (
        tables["hops"]
        .where("sender is not null")
        .select("trial", "trace", "message", "kind", F.col("sender").alias("peer"), "bytes")
        .join(few(operations), ["trial", "trace"])
        .groupBy("trial", "operation", "message", "kind", "peer")
        .agg(F.count("*").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def costs(tables: Tables) -> DataFrame:
    """Return the rows of the table `costs`: a peer that sent nothing has no cost."""
    publishing = F.col("operation").isin("publish", names.RECOVERY)
    charged = {
        "installing": F.col("operation") == "subscribe",
        "publishing": publishing,
        "matching": publishing & (F.col("kind") != EVENT),
        "inserting": (F.col("operation") == "subscribe") & F.col("message").isin(*_INSERTING),
    }
    sent = (
        tables["operation_traffic"]
        .groupBy("trial", "peer")
        .agg(*(F.sum(F.when(which, F.col("bytes"))).alias(kind) for kind, which in charged.items()))
    )
    events = (
        tables["operations"].where("operation = 'publish'").groupBy("trial").agg(F.count("*").alias("events"))
    )
    asked = tables["installations"].groupBy("trial").agg(F.count_if("counted").alias("subscriptions"))
    number = dict.fromkeys(("installing", "inserting"), "subscriptions") | dict.fromkeys(
        ("publishing", "matching"), "events"
    )
    return (
        tables["traffic"]
        .select("trial", "peer")
        .join(tables["trials"].select("trial"), "trial")
        .join(few(events), "trial", "left")
        .join(few(asked), "trial", "left")
        .join(sent, ["trial", "peer"], "left")
        .select(
            *("trial", "peer"),
            *(F.try_divide(F.coalesce(F.col(k), F.lit(0)), F.col(number[k])).alias(k) for k in _CHARGED),
        )
    )
