"""Measures of events by content: how soon subscriptions are in force, and what operations cost the peers."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, lower, share
from analysis.measures.aggregates import share_of
from analysis.measures.distributions import rounded

_TOP = 20
_HEADINGS = {
    "Delay": ("delay",),
    "Installing subscriptions": ("install", "piece_", "insert_"),
    "Traffic of publications": ("publish_", "matching_"),
}
_AN_EVENT = "bytes an event and peer"
_A_SUBSCRIPTION = "bytes a subscription and peer"
_MEASURES = {
    "delay_within_400_ms": share("Deliveries within 400 ms", "Of those made, since the publication."),
    "delay_within_1_s": share("Deliveries within 1 s", "Of those made, since the publication."),
    "publish_bytes_per_event_and_node": lower(
        "Publishing",
        _AN_EVENT,
        "Bytes of all messages that publications and recoveries cause, sent by a peer for each event, mean "
        "over peers.",
    ),
    "publish_bytes_p70": lower("Publishing, 70th percentile", _AN_EVENT, "Over peers."),
    "publish_bytes_p90": lower("Publishing, 90th percentile", _AN_EVENT, "Over peers."),
    "publish_bytes_top_20": lower("Publishing, top 20", _AN_EVENT, "Mean over the 20 peers with the most."),
    "publish_bytes_max": lower("Publishing, maximum", _AN_EVENT, "The peer with the most."),
    "matching_bytes_per_event_and_node": lower(
        "Publishing without delivery",
        _AN_EVENT,
        "As publishing, but without the messages of kind event, which bring events to their subscribers: "
        "what it costs to find out who they are.",
    ),
    "matching_bytes_p70": lower("Publishing without delivery, 70th percentile", _AN_EVENT, "Over peers."),
    "matching_bytes_top_20": lower(
        "Publishing without delivery, top 20", _AN_EVENT, "Mean over the 20 peers with the most."
    ),
    "matching_bytes_max": lower("Publishing without delivery, maximum", _AN_EVENT, "The peer with the most."),
    "installed": share(
        "Subscriptions installed",
        "Seen where they are stored, of those made while the peer was up and no longer joining.",
    ),
    "install_delay_ms": lower(
        "Installing", "ms", "From asking to the last place that stores the subscription, mean."
    ),
    "install_delay_ms_median": lower("Installing, median", "ms", "Over subscriptions."),
    "install_within_600_ms": share("Installed within 600 ms", "Of the same subscriptions."),
    "install_within_1_s": share("Installed within 1 s", "Of the same subscriptions."),
    "install_hops": lower("Installing", "hops", "Messages one after the other, mean over subscriptions."),
    "install_bytes_per_subscription_and_node": lower(
        "Installing",
        _A_SUBSCRIPTION,
        "Bytes of all messages that subscribing causes, sent by a peer for each subscription, mean over "
        "peers.",
    ),
    "install_bytes_p78": lower("Installing, 78th percentile", _A_SUBSCRIPTION, "Over peers."),
    "install_bytes_p98": lower("Installing, 98th percentile", _A_SUBSCRIPTION, "Over peers."),
    "install_bytes_max": lower("Installing, maximum", _A_SUBSCRIPTION, "The peer with the most."),
    "piece_delay_ms": lower(
        "Installing a piece",
        "ms",
        "Of each part that a subscription is stored in: from asking to the answer that it is stored, mean "
        "over parts.",
    ),
    "piece_within_600_ms": share("Pieces installed within 600 ms", "Of the same parts."),
    "piece_within_1_s": share("Pieces installed within 1 s", "Of the same parts."),
    "insert_bytes_per_subscription_and_node": lower(
        "Inserting",
        _A_SUBSCRIPTION,
        "As installing, but of the messages alone that Li's thesis counts: ProbeSub, InsertSub, LeafUpdate "
        "and TransferSub, with what they are routed in, without answers and copies.",
    ),
    "insert_bytes_p78": lower("Inserting, 78th percentile", _A_SUBSCRIPTION, "Over peers."),
    "insert_bytes_p98": lower("Inserting, 98th percentile", _A_SUBSCRIPTION, "Over peers."),
    "insert_bytes_max": lower("Inserting, maximum", _A_SUBSCRIPTION, "The peer with the most."),
}
_COSTS = (
    ("publish", "event", "messages of publications and recoveries"),
    ("matching", "event", "messages of publications and recoveries that are not of kind event"),
    ("install", "subscription", "messages of subscribing"),
    ("insert", "subscription", "those messages of subscribing"),
)
_FORMULAS = {
    "delay_within_400_ms": "deliveries within 400 ms of the publication / deliveries",
    "delay_within_1_s": "deliveries within 1,000 ms of the publication / deliveries",
    "installed": "subscriptions that were stored / subscriptions",
    "install_delay_ms*": (
        "{statistic} over stored subscriptions of (time of the last storing - time of asking)"
    ),
    "install_within_600_ms": "subscriptions stored within 600 ms / subscriptions",
    "install_within_1_s": "subscriptions stored within 1,000 ms / subscriptions",
    "install_hops": "mean over stored subscriptions of the hops to the place that stored last",
    "piece_delay_ms": (
        "mean over parts of (time of the answer, or of storing if there is none, - time of asking)"
    ),
    "piece_within_600_ms": "parts stored and answered within 600 ms / parts",
    "piece_within_1_s": "parts stored and answered within 1,000 ms / parts",
    **{
        f"{kind}_bytes{end}": f"{statistic} over peers of (bytes of {sent} sent by the peer / {each}s)"
        for kind, each, sent in _COSTS
        for end, statistic in ((f"_per_{each}_and_node", "mean"), ("*", "{statistic}"))
    },
}


def _within(tables: Tables) -> DataFrame:
    made = F.col("delivered")
    return (
        tables["deliveries"]
        .groupBy("trial")
        .agg(
            share_of(F.col("delay_ms") <= 400, made).alias("delay_within_400_ms"),
            share_of(F.col("delay_ms") <= 1000, made).alias("delay_within_1_s"),
        )
    )


def _installations(tables: Tables) -> DataFrame:
    asked = F.lit(True)
    return (
        tables["installations"]
        .where("counted")
        .groupBy("trial")
        .agg(
            share_of(F.col("delay_ms").isNotNull(), asked).alias("installed"),
            F.avg("delay_ms").alias("install_delay_ms"),
            F.percentile(rounded("delay_ms"), 0.5).alias("install_delay_ms_median"),
            share_of(F.col("delay_ms") <= 600, asked).alias("install_within_600_ms"),
            share_of(F.col("delay_ms") <= 1000, asked).alias("install_within_1_s"),
            F.avg("hops").alias("install_hops"),
        )
    )


def _pieces(tables: Tables) -> DataFrame:
    every = F.lit(True)
    return (
        tables["pieces"]
        .groupBy("trial")
        .agg(
            F.avg("delay_ms").alias("piece_delay_ms"),
            share_of(F.coalesce(F.col("delay_ms") <= 600, F.lit(False)), every).alias("piece_within_600_ms"),
            share_of(F.coalesce(F.col("delay_ms") <= 1000, F.lit(False)), every).alias("piece_within_1_s"),
        )
    )


def _costs(tables: Tables) -> DataFrame:
    """Return means, quantiles and extremes over the peers."""
    quantiles = {"installing": (78, 98), "inserting": (78, 98), "publishing": (70, 90), "matching": (70,)}
    names_of = {
        "installing": "install",
        "inserting": "insert",
        "publishing": "publish",
        "matching": "matching",
    }
    each = {
        "installing": "subscription",
        "inserting": "subscription",
        "publishing": "event",
        "matching": "event",
    }
    columns = []
    for kind, name in names_of.items():
        most = F.slice(F.sort_array(F.collect_list(kind), asc=False), 1, _TOP)
        top = F.aggregate(most, F.lit(0.0), lambda total, value: total + value) / F.size(most)
        columns += [
            F.avg(kind).alias(f"{name}_bytes_per_{each[kind]}_and_node"),
            F.max(kind).alias(f"{name}_bytes_max"),
            F.when(F.size(most) > 0, top).alias(f"{name}_bytes_top_20"),
            *(F.percentile(kind, q / 100).alias(f"{name}_bytes_p{q}") for q in quantiles[kind]),
        ]
    return tables["costs"].groupBy("trial").agg(*columns)


BY_CONTENT = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)), (_within, _installations, _pieces, _costs)
)
"""The measures of trials whose peers subscribe to ranges and sets of values."""
