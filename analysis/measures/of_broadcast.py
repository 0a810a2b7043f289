"""Measures of messages for every peer: reliability, the last delivery, redundancy and control messages."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower, share
from analysis.engine.one_partition import few
from analysis.measures.aggregates import share_of

_HEADINGS = {"Broadcast": ("broadcast", "plumtree")}
_MEASURES = {
    "broadcast_reliability": share(
        "Reliability",
        "Of the peers at which a message was expected, those that it reached; mean over messages. Expected "
        "of peers that were up from 10 s before to 5 s after it.",
    ),
    "broadcast_atomic": share("Messages that reached all", "Of all messages: all peers that were expected."),
    "broadcast_reliability_first": share("Reliability of the first message", "Of the measure phase."),
    "broadcast_redundancy": lower(
        "Redundancy",
        "per delivery",
        "Relative message redundancy (Plumtree, section 4): payload messages that peers received, over the "
        "peers that the message reached, less 1; mean over messages. 0 is a tree.",
    ),
    "broadcast_redundancy_first": lower(
        "Redundancy of the first message", "per delivery", "Of the measure phase."
    ),
    "broadcast_redundancy_later": lower(
        "Redundancy from the second message on", "per delivery", "Mean over these messages."
    ),
    "broadcast_surplus_first": Measure(
        "Copies of the first message beyond flooding",
        "messages",
        None,
        "Payload messages that peers received, less 2E - (n - 1): E are the links when the measure phase "
        "began, n the peers that had the message. 0 if each peer sent it once over each of its links but the "
        "one that it came by.",
    ),
    "broadcast_reliability_after_fault": share(
        "Reliability of the first message after a fault", "The first that was sent after a fault had begun."
    ),
    "broadcast_redundancy_after_fault": lower(
        "Redundancy of the first message after a fault", "per delivery", "Of the same message."
    ),
    "broadcast_redundancy_mended": lower(
        "Redundancy after that message", "per delivery", "Of the messages that followed it, mean."
    ),
    "broadcast_control": lower(
        "Control messages",
        "per delivery",
        "Messages without payload that a message causes (announcements, requests, changes of the tree), that "
        "peers received.",
    ),
    "broadcast_last_ms": lower(
        "Last delivery",
        "ms",
        "From sending a message to its last delivery at an expected peer, mean over messages.",
    ),
    "broadcast_last_hops": lower(
        "Last delivery hop",
        "hops",
        "The most hops of a delivery of a message at an expected peer, mean over messages.",
    ),
    **{
        f"broadcast_ms_{percent}": lower(
            f"Time to {percent} % of the peers",
            "ms",
            "Until so many of the expected peers had a message, mean over the messages that reached as many.",
        )
        for percent in (50, 90, 99)
    },
    "broadcasts": Measure("Messages for every peer", "messages", None, "That were sent."),
    "plumtree_grafts_later": lower(
        "GRAFT from the second message on", "messages", "For a message, mean over these messages."
    ),
    "plumtree_prunes_later": lower(
        "PRUNE from the second message on", "messages", "For a message, mean over these messages."
    ),
}
_FORMULAS = {
    "broadcast_reliability": "mean over messages of (expected peers reached / expected peers)",
    "broadcast_atomic": "messages that reached all expected peers / messages expected at some peer",
    "broadcast_reliability_first": "expected peers reached / expected peers, of the first message",
    "broadcast_redundancy": "mean over messages of (payload messages received / peers reached - 1)",
    "broadcast_redundancy_first": "payload messages received / peers reached - 1, of the first message",
    "broadcast_redundancy_later": (
        "mean over messages but the first of (payload messages received / peers reached - 1)"
    ),
    "broadcast_surplus_first": (
        "payload messages received - (directed links - peers reached), of the first message"
    ),
    "broadcast_reliability_after_fault": "expected peers reached / expected peers, of that message",
    "broadcast_redundancy_after_fault": "payload messages received / peers reached - 1, of that message",
    "broadcast_redundancy_mended": (
        "mean over later messages of (payload messages received / peers reached - 1)"
    ),
    "broadcast_control": (
        "(messages received without payload, summed) / (peers reached, summed), over messages"
    ),
    "broadcast_last_ms": "mean over messages of (time of the last expected delivery - time of sending)",
    "broadcast_last_hops": "mean over messages of (maximum over expected deliveries of the hops)",
    **{
        f"broadcast_ms_{percent}": (
            f"mean over messages of (time until {percent} % of the expected peers had it - time of sending)"
        )
        for percent in (50, 90, 99)
    },
    "broadcasts": "messages sent to all",
    "plumtree_grafts_later": "GRAFT messages caused by messages but the first / messages but the first",
    "plumtree_prunes_later": "PRUNE messages caused by messages but the first / messages but the first",
}
_REPAIRS = {"plumtree_grafts_later": "PlumtreeGraft", "plumtree_prunes_later": "PlumtreePrune"}
_ANNOUNCEMENT = "PlumtreeIHave"


def _is_first() -> Column:
    return F.col("event") == 0


def _broadcasts(tables: Tables) -> DataFrame:
    first = _is_first()
    reached = F.try_divide("reached", "expected")
    names = ("last_ms", "last_hops", "ms_50", "ms_90", "ms_99")
    return (
        tables["broadcasts"]
        .groupBy("trial")
        .agg(
            F.count("*").alias("broadcasts"),
            F.avg(reached).alias("broadcast_reliability"),
            F.max(F.when(first, reached)).alias("broadcast_reliability_first"),
            share_of(F.col("reached") == F.col("expected"), F.col("expected") > 0).alias("broadcast_atomic"),
            F.avg("redundancy").alias("broadcast_redundancy"),
            F.max(F.when(first, F.col("redundancy"))).alias("broadcast_redundancy_first"),
            F.avg(F.when(~first, F.col("redundancy"))).alias("broadcast_redundancy_later"),
            F.try_divide(F.sum("others"), F.sum("delivered")).alias("broadcast_control"),
            *(F.avg(name).alias(f"broadcast_{name}") for name in names),
        )
    )


def _surplus(tables: Tables) -> DataFrame:
    links = (
        tables["links"]
        .where("moment = 'start'")
        .select("trial", "peer", "neighbour")
        .distinct()
        .groupBy("trial")
        .agg(F.count("*").alias("ends"))
    )
    first = tables["broadcasts"].where(_is_first() & (F.col("copies") > 0))
    surplus = F.col("copies") - (F.col("ends") - F.col("delivered"))
    return first.join(links, "trial").select("trial", surplus.alias("broadcast_surplus_first"))


def _after_faults(tables: Tables) -> DataFrame:
    """Return the measures of messages sent after a fault began; a run without faults has no rows."""
    if "faults" not in tables:
        return tables["broadcasts"].where("false").select("trial")
    began = tables["faults"].select("trial", "first_s").distinct()
    since = tables["broadcasts"].join(began, "trial").where("at_s >= first_s")
    first = F.col("event") == F.min("event").over(Window.partitionBy("trial"))
    reached = F.try_divide("reached", "expected")
    return (
        since.withColumn("is_first", first)
        .groupBy("trial")
        .agg(
            F.max(F.when(F.col("is_first"), reached)).alias("broadcast_reliability_after_fault"),
            F.max(F.when(F.col("is_first"), F.col("redundancy"))).alias("broadcast_redundancy_after_fault"),
            F.avg(F.when(~F.col("is_first"), F.col("redundancy"))).alias("broadcast_redundancy_mended"),
        )
    )


def _repairs(tables: Tables) -> DataFrame:
    """Return the changes of trees that messages from the second on caused, in trials that announce any."""
    later = tables["operations"].where("operation = 'publish'").where(~_is_first()).select("trial", "trace")
    told = tables["hops"].where(F.col("sender").isNotNull() & F.col("message").isin(*_REPAIRS.values()))
    caused = told.join(few(later), ["trial", "trace"]).groupBy("trial")
    counted = caused.agg(
        *(F.count_if(F.col("message") == message).alias(name) for name, message in _REPAIRS.items())
    )
    announcing = tables["messages"].where(F.col("message") == _ANNOUNCEMENT).select("trial").distinct()
    messages = later.groupBy("trial").agg(F.count("*").alias("later"))
    return (
        announcing.join(messages, "trial")
        .join(counted, "trial", "left")
        .select("trial", *((F.coalesce(name, F.lit(0)) / F.col("later")).alias(name) for name in _REPAIRS))
    )


_OF_PARTS = (
    *("broadcasts", "broadcast_reliability", "broadcast_atomic", "broadcast_redundancy", "broadcast_control"),
    *("broadcast_last_ms", "broadcast_last_hops", "broadcast_ms_50", "broadcast_ms_90", "broadcast_ms_99"),
)
BROADCAST = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (_broadcasts, _surplus, _after_faults, _repairs),
    of_parts={_broadcasts: _OF_PARTS},
)
"""The measures of trials whose peers send messages to all."""
