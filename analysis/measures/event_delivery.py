"""Measures of events: which peers got them, how soon, by how many hops, and what that cost each peer."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower
from analysis.engine.one_partition import few
from analysis.measures import clustering
from analysis.measures.aggregates import share_of
from analysis.measures.distributions import rounded
from analysis.tables.roles import has_duty
from emulator.telemetry import names

_HEADINGS = {
    "Delivery": ("hit_ratio", "duplicates", "repeated"),
    "Traffic overhead": ("overhead", "relay"),
    "Delay": ("delay", "tree_depth"),
    "Traffic": ("messages", "bytes"),
    "Overlay": ("clusters", "gateways", "ring_similarity"),
}
_MEASURES = {
    "hit_ratio": Measure(
        "Hit ratio",
        "share",
        "higher",
        "Expected deliveries that were made. Expected of peers that were subscribed and up from 10 s before "
        "to 5 s after the publication; the publisher itself does not count.",
    ),
    "hit_ratio_lowest": Measure(
        "Hit ratio in the worst interval", "share", "higher", "The lowest hit ratio of the time series."
    ),
    "overhead": lower(
        "Traffic overhead",
        "share",
        "Copies of events received by peers that had not asked for them, of all copies received. Peers that "
        "are relays or servers by the plan do not count.",
    ),
    "overhead_mean": lower(
        "Traffic overhead, mean over peers",
        "share",
        "Each peer's own share, averaged over those that received any.",
    ),
    "overhead_messages": lower(
        "Overhead of all messages", "share", "As traffic overhead, over all messages that publications cause."
    ),
    "overhead_above_10": lower(
        "Peers above 10 % overhead",
        "share",
        "Peers to which more than a tenth of the copies came unwanted.",
    ),
    "overhead_above_20": lower(
        "Peers above 20 % overhead",
        "share",
        "Peers to which more than a fifth of the copies came unwanted.",
    ),
    "overhead_variation": lower(
        "Variation of traffic overhead",
        "share",
        "Standard deviation over the intervals of the time series, before a flash crowd, to the mean.",
    ),
    "delay_hops": lower(
        "Delay in hops",
        "hops",
        "Overlay hops from publisher to subscriber, as travelled by the copy that was delivered first, mean "
        "over deliveries.",
    ),
    "delay_hops_fewest": lower(
        "Fewest hops",
        "hops",
        "The least number of overlay hops over which a copy of the event, or word of it, came to the "
        "subscriber, even if it came later than another; mean over deliveries.",
    ),
    "delay_hops_max": lower("Longest delay in hops", "hops", "Of all deliveries."),
    "delay_hops_variation": lower(
        "Variation of the delay in hops",
        "share",
        "Standard deviation over the intervals of the time series, before a flash crowd, to the mean.",
    ),
    "delay_ms": lower("Delay", "ms", "Publication to delivery, mean over deliveries."),
    "delay_ms_median": lower("Delay, median", "ms", "Publication to delivery."),
    "delay_ms_p90": lower("Delay, 90th percentile", "ms", "Publication to delivery."),
    "delay_ms_p99": lower("Delay, 99th percentile", "ms", "Publication to delivery."),
    "delay_ms_max": lower("Longest delay", "ms", "Publication to delivery."),
    "duplicates": lower(
        "Duplicates",
        "per delivery",
        "Copies of an event beyond the first at a subscriber.",
    ),
    "repeated": lower(
        "Repeated deliveries",
        "deliveries",
        "Handed to a subscriber's application more than once: a system may not do that.",
    ),
    "messages_per_event": lower(
        "Messages an event",
        "messages",
        "All messages that a publication causes, and those by which lost events are recovered.",
    ),
    "bytes_per_event": lower("Bytes an event", "bytes", "Of the same messages."),
    "relays_per_event": lower(
        "Relays an event",
        "peers",
        "Peers that handled an event without having asked for it, but for relays and servers by the plan.",
    ),
    "relay_load": lower(
        "Relay load",
        "messages a peer",
        "Messages that a peer handled for others, mean over peers that are neither relays nor servers by the "
        "plan.",
    ),
    "relay_load_p99": lower("Relay load, 99th percentile", "messages a peer", "Over the same peers."),
    "relay_duty_load": lower(
        "Relay load of relays and servers",
        "messages a peer",
        "Messages that a peer handled for others, mean over peers that the plan made relays or servers.",
    ),
    "relay_duty_load_p99": lower(
        "Relay load of relays and servers, 99th percentile", "messages a peer", "Over those peers."
    ),
    "relay_duty_share": Measure(
        "Relaying done by relays and servers",
        "share",
        None,
        "Of all messages that were handled for others.",
    ),
    "clusters_per_topic": lower(
        "Clusters a topic", "clusters", "Connected components of the links among a topic's subscribers."
    ),
    "gateways_per_topic": lower(
        "Gateways a topic",
        "peers",
        "Peers that connect a cluster to the rendezvous node.",
    ),
    "overhead_popular": lower(
        "Traffic overhead of popular topics",
        "share",
        "As traffic overhead, of events about the 100 topics with the most subscribers.",
    ),
    **{
        f"relays_per_event_{name}": lower(
            f"Relays an event, topics {title}",
            "peers",
            "As relays an event, of events about the topics with these ranks, by their subscribers when the "
            "measure phase began.",
        )
        for name, title in (("1_100", "1 to 100"), ("101_300", "101 to 300"), ("301_on", "from 301 on"))
    },
    "popularity_exponent": Measure(
        "Exponent of the popularity of topics",
        "",
        None,
        "Of the power law that fits the share of topics with at least so many subscribers, for 20 to 300 of "
        "them, when the measure phase began.",
    ),
    "tree_depth": lower(
        "Depth of trees",
        "hops",
        "Overlay hops from the root of an event's tree, or the publisher where there is none, to the peer "
        "that is farthest from it; mean over events. Of systems that send events as EventData.",
    ),
    "ring_similarity": Measure(
        "Similarity of ring neighbours",
        "share",
        "higher",
        "Topics that a peer and its clockwise successor share, of those that either has, mean over peers "
        "when the measure phase began; of overlays with clockwise rings, the one with the most.",
    ),
    "ring_similarity_end": Measure(
        "Similarity of ring neighbours at the end",
        "share",
        "higher",
        "The same when the measure phase ended: what churn has left of it.",
    ),
    "published": Measure("Events published", "events", None, "In the measure phase."),
    "expected": Measure("Expected deliveries", "deliveries", None, "The denominator of the hit ratio."),
}
_FORMULAS = {
    "hit_ratio": "expected deliveries made / expected deliveries",
    "hit_ratio_lowest": "minimum over intervals of (expected deliveries made / expected deliveries)",
    "overhead": "unwanted copies / copies, each summed over peers that are no relays or servers",
    "overhead_mean": (
        "mean over peers with copies that are no relays or servers of (unwanted copies / copies)"
    ),
    "overhead_messages": "unwanted messages / messages, each summed over peers that are no relays or servers",
    "overhead_above_10": (
        "(peers with unwanted copies / copies > 0.1) / peers, both of those that are no relays or servers"
    ),
    "overhead_above_20": (
        "(peers with unwanted copies / copies > 0.2) / peers, both of those that are no relays or servers"
    ),
    "overhead_variation": (
        "sample standard deviation / mean, both over the intervals before a flash crowd, of (unwanted copies "
        "/ copies, each summed over peers that are no relays or servers)"
    ),
    "delay_hops*": "{statistic} over deliveries of the hops of the first copy",
    "delay_hops_fewest": "mean over deliveries of (minimum over copies of the hops)",
    "delay_hops_variation": (
        "sample standard deviation / mean, both over the intervals before a flash crowd, of the mean hops"
    ),
    "delay_ms*": "{statistic} over deliveries of (time of delivery - time of publication)",
    "duplicates": "(max(copies - 1, 0), summed over events and peers) / deliveries",
    "repeated": "max(times handed to the application - 1, 0), summed over events and peers",
    "messages_per_event": "messages of publications and recoveries / publications",
    "bytes_per_event": "bytes of messages of publications and recoveries / publications",
    "relays_per_event": (
        "pairs of an event and a peer with unwanted messages of it that is no relay or server / publications"
    ),
    "relay_load*": "{statistic} over peers that are no relays or servers of the unwanted messages handled",
    "relay_duty_load*": "{statistic} over relays and servers of the unwanted messages handled",
    "relay_duty_share": "unwanted messages of relays and servers / unwanted messages of all peers",
    "clusters_per_topic": "mean over topics with subscribers of the connected components",
    "gateways_per_topic": "topics that a peer is a gateway of, summed over peers / topics with subscribers",
    "overhead_popular": (
        "unwanted copies / copies, each summed over events about these topics and over all peers"
    ),
    **dict.fromkeys(
        ("relays_per_event_1_100", "relays_per_event_101_300", "relays_per_event_301_on"),
        "pairs of an event about these topics and a peer with unwanted messages of it that is no relay or "
        "server / events about them",
    ),
    "popularity_exponent": (
        "-(slope of the least-squares line of ln(rank) over ln(subscribers)), topics of 20 to 300 subscribers"
    ),
    "tree_depth": "mean over events of (most - fewest hops of an EventData message + 1)",
    "ring_similarity": "mean over peers of (topics of both / topics of either); maximum over rings",
    "ring_similarity_end": "mean over peers of (topics of both / topics of either); maximum over rings",
    "published": "publications",
    "expected": "pairs of an event and a peer at which it is expected",
}


def _deliveries(tables: Tables) -> DataFrame:
    expected, made = F.col("expected"), F.col("delivered")
    quantiles = {"delay_ms_median": 0.5, "delay_ms_p90": 0.9, "delay_ms_p99": 0.99}
    return (
        tables["deliveries"]
        .groupBy("trial")
        .agg(
            share_of(expected & made, expected).alias("hit_ratio"),
            F.count_if(expected).alias("expected"),
            F.avg("hops").alias("delay_hops"),
            F.max("hops").alias("delay_hops_max"),
            F.avg("fewest_hops").alias("delay_hops_fewest"),
            F.avg("delay_ms").alias("delay_ms"),
            *(F.percentile(rounded("delay_ms"), q).alias(name) for name, q in quantiles.items()),
            F.max("delay_ms").alias("delay_ms_max"),
            F.when(
                (F.sum("copies") > 0) | (F.count_if(made) == 0),
                F.try_divide(F.sum("duplicates"), F.count_if(made)),
            ).alias("duplicates"),
            F.sum("repeated").alias("repeated"),
        )
    )


def _variation(column: str) -> Column:
    """Return the standard deviation to the mean of a series before a flash crowd."""
    calm = F.when(F.col("end_s") <= F.col("calm_until_s"), F.col(column))
    return F.try_divide(F.stddev_samp(calm), F.avg(calm))


def _in_time(tables: Tables) -> DataFrame:
    series = tables["series"].join(tables["trials"].select("trial", "calm_until_s"), "trial")
    return series.groupBy("trial").agg(
        F.min("hit_ratio").alias("hit_ratio_lowest"),
        _variation("overhead").alias("overhead_variation"),
        _variation("hops").alias("delay_hops_variation"),
    )


def _overhead(tables: Tables) -> DataFrame:
    overhead = F.coalesce("overhead", F.lit(0.0))
    duty = has_duty()
    load_of_duty = F.when(duty, F.col("unwanted_messages"))

    def free(column: str) -> Column:
        """Return the column for peers that are neither relays nor servers."""
        return F.when(~duty, F.col(column))

    return (
        tables["traffic"]
        .groupBy("trial")
        .agg(
            F.try_divide(F.sum(free("unwanted")), F.sum(free("received"))).alias("overhead"),
            F.avg(free("overhead")).alias("overhead_mean"),
            F.try_divide(F.sum(free("unwanted_messages")), F.sum(free("messages"))).alias(
                "overhead_messages"
            ),
            share_of((overhead > 0.1) & ~duty, ~duty).alias("overhead_above_10"),
            share_of((overhead > 0.2) & ~duty, ~duty).alias("overhead_above_20"),
            F.avg(free("unwanted_messages")).alias("relay_load"),
            F.percentile(free("unwanted_messages"), 0.99).alias("relay_load_p99"),
            F.avg(load_of_duty).alias("relay_duty_load"),
            F.percentile(load_of_duty, 0.99).alias("relay_duty_load_p99"),
            F.try_divide(F.sum(load_of_duty), F.sum("unwanted_messages")).alias("relay_duty_share"),
        )
    )


def _publications(tables: Tables) -> DataFrame:
    relays = tables["relays"].where(~has_duty()).groupBy("trial", "event").agg(F.count("*").alias("relays"))
    publications = F.count_if(F.col("operation") == "publish")
    made = tables["deliveries"].where("delivered").groupBy("trial").agg(F.count("*").alias("made"))
    # Events that ride on maintenance messages cause no messages that are told of: then nothing was measured.
    is_told = (F.sum("messages") > 0) | F.first("made").isNull()

    def an_event(total: Column) -> Column:
        return F.when(is_told, F.try_divide(total, publications))

    return (
        tables["operations"]
        .where(F.col("operation").isin("publish", names.RECOVERY))
        .join(relays, ["trial", "event"], "left")
        .join(few(made), "trial", "left")
        .groupBy("trial")
        .agg(
            publications.alias("published"),
            an_event(F.sum("messages")).alias("messages_per_event"),
            an_event(F.sum("bytes")).alias("bytes_per_event"),
            an_event(F.coalesce(F.sum("relays"), F.lit(0))).alias("relays_per_event"),
        )
    )


def _clusters(tables: Tables) -> DataFrame:
    return tables["clusters"].groupBy("trial").agg(F.avg("clusters").alias("clusters_per_topic"))


def _gateways(tables: Tables) -> DataFrame:
    """Return the gateways a topic; `gateway_topics` is the number of topics that a peer is a gateway of."""
    topics = tables["clusters"].groupBy("trial").agg(F.count("*").alias("topics"))
    return (
        tables["states"]
        .where("moment = 'end' and name = 'gateway_topics'")
        .groupBy("trial")
        .agg(F.sum("value").alias("gateways"))
        .join(topics, "trial")
        .select("trial", (F.col("gateways") / F.col("topics")).alias("gateways_per_topic"))
    )


EVENTS = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (
        *(_deliveries, _in_time, _overhead, _publications, _clusters, _gateways),
        *(clustering.ring_similarity_at_start, clustering.ring_similarity_at_end, clustering.tree_depth),
        *(clustering.popular_overhead, clustering.relays_by_popularity, clustering.popularity_exponent),
    ),
    zero=("expected",),
    of_parts={
        _deliveries: [
            *("hit_ratio", "expected", "delay_hops", "delay_hops_max", "delay_hops_fewest", "delay_ms"),
            *("delay_ms_median", "delay_ms_p90", "delay_ms_p99", "delay_ms_max", "duplicates", "repeated"),
        ]
    },
)
"""The measures of trials whose peers publish events, by topic or by content."""
