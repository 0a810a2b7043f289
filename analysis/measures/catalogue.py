"""What is measured of a trial: the metrics of the papers, and what explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from analysis.measures import routing, topology
from emulator.contract.gauges import Gauge
from emulator.contract.system import Workload

STATE_PREFIX = "state."
_BETTER: dict[str, Literal["lower", "higher"]] = {"lower": "lower", "higher": "higher"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a trial."""

    title: str
    unit: str
    """"share" is 0 to 1."""
    better: Literal["lower", "higher"] | None
    about: str


def _lower(title: str, unit: str, about: str) -> Measure:
    return Measure(title, unit, "lower", about)


def _share(title: str, about: str) -> Measure:
    return Measure(title, "share", "higher", about)


def _after_join(begin: int, end: int | None) -> dict[str, Measure]:
    """Of deliveries by the time from a peer's last join to the publication (s)."""
    when = f"{begin} s to less than {end} s before" if end else f"{begin} s or longer before"
    counted = " Coverage and hit ratio do not count these." if begin < 10 else ""
    return {
        f"hit_ratio_after_{begin}_s": _share(
            f"Hit ratio from {begin} s after a join",
            f"At peers that had joined {when} the publication and stayed for 5 s after it.{counted}",
        ),
        f"due_after_{begin}_s": Measure(
            f"Deliveries due from {begin} s after a join",
            "deliveries",
            None,
            "The denominator of that ratio.",
        ),
    }


_AN_EVENT = "bytes an event and peer"
_A_SUBSCRIPTION = "bytes a subscription and peer"
_OF_EVENTS = {
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
    "overhead": _lower(
        "Traffic overhead",
        "share",
        "Copies of events received by peers that had not asked for them, of all copies received. Peers that "
        "are relays or servers by the plan do not count.",
    ),
    "overhead_mean": _lower(
        "Traffic overhead, mean over peers",
        "share",
        "Each peer's own share, averaged over those that received any.",
    ),
    "overhead_messages": _lower(
        "Overhead of all messages", "share", "As traffic overhead, over all messages that publications cause."
    ),
    "overhead_above_10": _lower(
        "Peers above 10 % overhead",
        "share",
        "Peers to which more than a tenth of the copies came unwanted.",
    ),
    "overhead_above_20": _lower(
        "Peers above 20 % overhead",
        "share",
        "Peers to which more than a fifth of the copies came unwanted.",
    ),
    "overhead_variation": _lower(
        "Variation of traffic overhead",
        "share",
        "Standard deviation over the intervals of the time series, before a flash crowd, to the mean.",
    ),
    "delay_hops": _lower(
        "Delay in hops",
        "hops",
        "Overlay hops from publisher to subscriber, as travelled by the copy that was delivered first, mean "
        "over deliveries.",
    ),
    "delay_hops_fewest": _lower(
        "Fewest hops",
        "hops",
        "The least number of overlay hops over which a copy of the event, or word of it, came to the "
        "subscriber, even if it came later than another; mean over deliveries.",
    ),
    "delay_hops_max": _lower("Longest delay in hops", "hops", "Of all deliveries."),
    "delay_hops_variation": _lower(
        "Variation of the delay in hops",
        "share",
        "Standard deviation over the intervals of the time series, before a flash crowd, to the mean.",
    ),
    "delay_ms": _lower("Delay", "ms", "Publication to delivery, mean over deliveries."),
    "delay_ms_median": _lower("Delay, median", "ms", "Publication to delivery."),
    "delay_ms_p90": _lower("Delay, 90th percentile", "ms", "Publication to delivery."),
    "delay_ms_p99": _lower("Delay, 99th percentile", "ms", "Publication to delivery."),
    "delay_ms_max": _lower("Longest delay", "ms", "Publication to delivery."),
    "duplicates": _lower(
        "Duplicates",
        "per delivery",
        "Copies of an event beyond the first at a subscriber.",
    ),
    "repeated": _lower(
        "Repeated deliveries",
        "deliveries",
        "Handed to a subscriber's application more than once: a system may not do that.",
    ),
    "messages_per_event": _lower(
        "Messages an event",
        "messages",
        "All messages that a publication causes, and those by which lost events are recovered.",
    ),
    "bytes_per_event": _lower("Bytes an event", "bytes", "Of the same messages."),
    "relays_per_event": _lower(
        "Relays an event",
        "peers",
        "Peers that handled an event without having asked for it, but for relays and servers by the plan.",
    ),
    "relay_load": _lower(
        "Relay load",
        "messages a peer",
        "Messages that a peer handled for others, mean over peers that are neither relays nor servers by the "
        "plan.",
    ),
    "relay_load_p99": _lower("Relay load, 99th percentile", "messages a peer", "Over the same peers."),
    "relay_duty_load": _lower(
        "Relay load of relays and servers",
        "messages a peer",
        "Messages that a peer handled for others, mean over peers that the plan made relays or servers.",
    ),
    "relay_duty_load_p99": _lower(
        "Relay load of relays and servers, 99th percentile", "messages a peer", "Over those peers."
    ),
    "relay_duty_share": Measure(
        "Relaying done by relays and servers",
        "share",
        None,
        "Of all messages that were handled for others.",
    ),
    "clusters_per_topic": _lower(
        "Clusters a topic", "clusters", "Connected components of the links among a topic's subscribers."
    ),
    "gateways_per_topic": _lower(
        "Gateways a topic",
        "peers",
        "Peers that connect a cluster to the rendezvous node.",
    ),
    "overhead_popular": _lower(
        "Traffic overhead of popular topics",
        "share",
        "As traffic overhead, of events about the 100 topics with the most subscribers.",
    ),
    **{
        f"relays_per_event_{name}": _lower(
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
    "tree_depth": _lower(
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
_OF_TOPICS = {
    "coverage": _share("Coverage", "Of each event's expected deliveries, those made; mean over events."),
    "coverage_sd": _lower("Coverage, standard deviation", "share", "Over events."),
    "coverage_failed": _lower("Events that reached almost nobody", "share", "Coverage below 5 %."),
    "last_hop": _lower("Hops to the last subscriber", "hops", "Of each event; mean over events."),
    "last_hop_sd": _lower("Hops to the last subscriber, standard deviation", "hops", "Over events."),
    "hit_ratio_by_topic": _share("Hit ratio by topic", "As the hit ratio, of each topic; mean over topics."),
    **{
        name: measure
        for begin, end in ((0, 2), (2, 5), (5, 10), (10, 20), (20, 30), (30, 60), (60, None))
        for name, measure in _after_join(begin, end).items()
    },
    "copies_per_delivery": _lower(
        "Copies a delivery", "copies", "Received by anybody, for each delivery made."
    ),
    "messages_per_delivery": _lower(
        "Messages a delivery", "messages", "About events, for each delivery made."
    ),
    "neighbours_sd": Measure("Neighbours, standard deviation", "peers", None, "Over peers that have any."),
    "neighbours_above_15": _lower("Peers with more than 15 neighbours", "share", "Of those that have any."),
    "neighbours_above_200": _lower("Peers with more than 200 neighbours", "share", "Of those that have any."),
    "filter_bytes_max": _lower(
        "Filters kept, maximum", "bytes", "Of neighbours' filters; the peer with the most."
    ),
    "filter_bytes_per_s": _lower("Filters sent", "bytes/s a peer", "Updates in the measure phase."),
    "gradients_false": _lower(
        "False or stale gradients",
        "share",
        "Of copies that came by a gradient, those for which it ended there.",
    ),
    **{
        f"gradients_false_{level}": _lower(
            f"False or stale gradients, level {level}",
            "share",
            "Of copies that came by a gradient of this level.",
        )
        for level in range(3)
    },
    "gradients_recovered": _share(
        "Recovered by another gradient", "Of the false or stale ones; the others went on at random."
    ),
}
_OF_CONTENT = {
    "delay_within_400_ms": _share("Deliveries within 400 ms", "Of those made, since the publication."),
    "delay_within_1_s": _share("Deliveries within 1 s", "Of those made, since the publication."),
    "publish_bytes_per_event_and_node": _lower(
        "Publishing",
        _AN_EVENT,
        "Bytes of all messages that publications and recoveries cause, sent by a peer for each event, mean "
        "over peers.",
    ),
    "publish_bytes_p70": _lower("Publishing, 70th percentile", _AN_EVENT, "Over peers."),
    "publish_bytes_p90": _lower("Publishing, 90th percentile", _AN_EVENT, "Over peers."),
    "publish_bytes_top_20": _lower("Publishing, top 20", _AN_EVENT, "Mean over the 20 peers with the most."),
    "publish_bytes_max": _lower("Publishing, maximum", _AN_EVENT, "The peer with the most."),
    "matching_bytes_per_event_and_node": _lower(
        "Publishing without delivery",
        _AN_EVENT,
        "As publishing, but without the messages of kind event, which bring events to their subscribers: "
        "what it costs to find out who they are.",
    ),
    "matching_bytes_p70": _lower("Publishing without delivery, 70th percentile", _AN_EVENT, "Over peers."),
    "matching_bytes_top_20": _lower(
        "Publishing without delivery, top 20", _AN_EVENT, "Mean over the 20 peers with the most."
    ),
    "matching_bytes_max": _lower(
        "Publishing without delivery, maximum", _AN_EVENT, "The peer with the most."
    ),
    "installed": _share(
        "Subscriptions installed",
        "Seen where they are stored, of those made while the peer was up and no longer joining.",
    ),
    "install_delay_ms": _lower(
        "Installing", "ms", "From asking to the last place that stores the subscription, mean."
    ),
    "install_delay_ms_median": _lower("Installing, median", "ms", "Over subscriptions."),
    "install_within_600_ms": _share("Installed within 600 ms", "Of the same subscriptions."),
    "install_within_1_s": _share("Installed within 1 s", "Of the same subscriptions."),
    "install_hops": _lower("Installing", "hops", "Messages one after the other, mean over subscriptions."),
    "install_bytes_per_subscription_and_node": _lower(
        "Installing",
        _A_SUBSCRIPTION,
        "Bytes of all messages that subscribing causes, sent by a peer for each subscription, mean over "
        "peers.",
    ),
    "install_bytes_p78": _lower("Installing, 78th percentile", _A_SUBSCRIPTION, "Over peers."),
    "install_bytes_p98": _lower("Installing, 98th percentile", _A_SUBSCRIPTION, "Over peers."),
    "install_bytes_max": _lower("Installing, maximum", _A_SUBSCRIPTION, "The peer with the most."),
    "piece_delay_ms": _lower(
        "Installing a piece",
        "ms",
        "Of each part that a subscription is stored in: from asking to the answer that it is stored, mean "
        "over parts.",
    ),
    "piece_within_600_ms": _share("Pieces installed within 600 ms", "Of the same parts."),
    "piece_within_1_s": _share("Pieces installed within 1 s", "Of the same parts."),
    "insert_bytes_per_subscription_and_node": _lower(
        "Inserting",
        _A_SUBSCRIPTION,
        "As installing, but of the messages alone that Li's thesis counts: ProbeSub, InsertSub, LeafUpdate "
        "and TransferSub, with what they are routed in, without answers and copies.",
    ),
    "insert_bytes_p78": _lower("Inserting, 78th percentile", _A_SUBSCRIPTION, "Over peers."),
    "insert_bytes_p98": _lower("Inserting, 98th percentile", _A_SUBSCRIPTION, "Over peers."),
    "insert_bytes_max": _lower("Inserting, maximum", _A_SUBSCRIPTION, "The peer with the most."),
}
_OF_ROUTING = {
    name: Measure(title, unit, None if name in neither else "higher" if name in higher else "lower", about)
    for told, higher, neither in (
        (routing.ROUTING, routing.HIGHER_IS_BETTER, routing.NEITHER),
        (topology.TOPOLOGY, topology.HIGHER_IS_BETTER, topology.NEITHER),
    )
    for name, (title, unit, about) in told.items()
}
_OF_LOOKUPS = {
    "lookup_success": _share(
        "Lookups that succeeded",
        "Delivered at the right peer, of all lookups but those of the trial's last 5 s. Right: no peer that "
        "was up from 10 s before the lookup (or from the join phase on) until its delivery is closer to the "
        "key, by the metric of the overlay and the identifiers that its peers had told. A lookup whose "
        "origin crashed meanwhile counts too.",
    ),
    "lookup_success_lowest": _share("Lookups that succeeded in the worst interval", "Of the time series."),
    "lookup_delivered": _share("Lookups delivered", "At any peer, of the same lookups."),
    "lookup_hops": _lower("Lookup hops", "hops", "From the origin to where it ended, mean."),
    "lookup_hops_p99": _lower("Lookup hops, 99th percentile", "hops", "Of lookups that were delivered."),
    "lookup_delay_ms": _lower("Lookup delay", "ms", "From the origin to where it ended, mean."),
    "lookup_delay_ms_median": _lower("Lookup delay, median", "ms", "Of lookups that were delivered."),
    "lookup_delay_ms_p99": _lower("Lookup delay, 99th percentile", "ms", "Of lookups that were delivered."),
    "delay_penalty": _lower(
        "Relative delay penalty (ratio of means)",
        "",
        "Mean delay of the lookups over the mean one-way delay from their origins straight to where they "
        "ended. Those that ended at their origin do not count.",
    ),
    "delay_penalty_mean": _lower(
        "Relative delay penalty (mean of ratios)",
        "",
        "The mean over lookups of each one's own ratio: pairs that are near each other weigh as much as "
        "others.",
    ),
    "lookups": Measure("Lookups", "", None, "Of the measure phase, but for those of the trial's last 5 s."),
}
_OF_ALL = {
    "bytes_per_s": _lower(
        "Traffic",
        "bytes/s a peer",
        "Sent in the measure phase, maintenance included.",
    ),
    "maintenance_messages_per_s": _lower(
        "Maintenance messages",
        "messages/s a peer",
        "Sent in the measure phase by timers, not for an operation.",
    ),
    "maintenance_bytes_per_s": _lower(
        "Maintenance traffic", "bytes/s a peer", "Sent in the measure phase by timers, not for an operation."
    ),
    "neighbours": Measure(
        "Neighbours",
        "peers",
        None,
        "Different peers linked to on any channel, mean at the end of the measure phase.",
    ),
    "neighbours_max": Measure(
        "Most neighbours",
        "peers",
        None,
        "Of any peer at the end of the measure phase.",
    ),
    "in_degree_ratio": _lower(
        "Largest in-degree",
        "times the mean",
        "Long links that end at one peer, at the end of the measure phase; of overlays that name them.",
    ),
    "wrong_successors": _lower(
        "Peers with a wrong successor",
        "share",
        "When the measure phase began, of the peers that had a successor on the ring, by the identifiers "
        "that peers had told: the overlay had not formed yet, or had not mended. Lookups and relay paths may "
        "then end at the wrong peer.",
    ),
    "peers_up": Measure("Peers up", "peers", None, "Mean over the measure phase."),
    "peers_away": _lower(
        "Peers away",
        "peers",
        "Not up as planned for some time, because their hosts died. What was to reach them then neither "
        "counts as missed nor as received.",
    ),
    "lost_spans": _lower(
        "Lost spans",
        "spans",
        "Not recorded, as the hosts counted. Any makes the trial invalid.",
    ),
    "dropped_envelopes": _lower(
        "Dropped messages",
        "messages",
        "By full queues of the emulation itself.",
    ),
    "lost_telemetry": _lower(
        "Unreadable telemetry",
        "bytes",
        "Cut off or damaged parts of the trial's OTLP files.",
    ),
}
MEASURES = _OF_EVENTS | _OF_TOPICS | _OF_CONTENT | _OF_ROUTING | _OF_LOOKUPS | _OF_ALL
APPLICABLE: dict[Workload, frozenset[str]] = {
    "topics": frozenset(_OF_EVENTS | _OF_TOPICS | _OF_ALL),
    "content": frozenset(_OF_EVENTS | _OF_CONTENT | _OF_ROUTING | _OF_ALL),
    "lookups": frozenset(_OF_LOOKUPS | _OF_ALL),
}
"""What is measured of a trial, by what its peers were asked for."""


def describe(name: str, gauges: Mapping[str, Gauge] | None = None) -> Measure:
    """What a measure is; `state.<name>` is whatever a system tells of itself.

    `gauges` are what components declare, by that name.
    """
    if name.startswith(STATE_PREFIX):
        channel, _, gauge = name.removeprefix(STATE_PREFIX).rpartition("/")
        title = gauge.replace("_", " ").capitalize() + (f" ({channel})" if channel else "")
        about = "What peers told of themselves at the end of the measure phase, mean over peers."
        told = (gauges or {}).get(name.removeprefix(STATE_PREFIX), Gauge())
        better = _BETTER.get(told.better)
        return Measure(title, told.unit, better, f"{told.text} {about}" if told.text else about)
    return MEASURES[name]
