"""What is measured of a trial: the metrics of the Vitis paper (section IV.A), and what explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

STATE_PREFIX = "state."


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


MEASURES = {
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
        "EventData received by peers that had not asked for it, of all EventData.",
    ),
    "overhead_mean": _lower(
        "Traffic overhead, mean over peers",
        "share",
        "Each peer's own share, averaged over those that received any.",
    ),
    "overhead_messages": _lower(
        "Overhead of all messages", "share", "As traffic overhead, over notifications and pulls too."
    ),
    "overhead_above_10": _lower(
        "Peers above 10 % overhead",
        "share",
        "Peers of whose received EventData more than a tenth was unwanted.",
    ),
    "overhead_above_20": _lower(
        "Peers above 20 % overhead",
        "share",
        "Peers of whose received EventData more than a fifth was unwanted.",
    ),
    "delay_hops": _lower(
        "Delay in hops",
        "hops",
        "Overlay hops from publisher to subscriber, mean over deliveries.",
    ),
    "delay_hops_max": _lower("Longest delay in hops", "hops", "Of all deliveries."),
    "delay_ms": _lower("Delay", "ms", "Publication to delivery, mean over deliveries."),
    "delay_ms_median": _lower("Delay, median", "ms", "Publication to delivery."),
    "delay_ms_p90": _lower("Delay, 90th percentile", "ms", "Publication to delivery."),
    "delay_ms_p99": _lower("Delay, 99th percentile", "ms", "Publication to delivery."),
    "duplicates": _lower(
        "Duplicates",
        "per delivery",
        "Copies of an event beyond the first at a subscriber.",
    ),
    "messages_per_event": _lower(
        "Messages an event",
        "messages",
        "All messages that a publication causes.",
    ),
    "bytes_per_event": _lower("Bytes an event", "bytes", "Of all messages that a publication causes."),
    "relays_per_event": _lower(
        "Relays an event",
        "peers",
        "Peers that handled an event without having asked for it.",
    ),
    "relay_load": _lower(
        "Relay load",
        "messages a peer",
        "Messages that a peer handled for others, mean over peers.",
    ),
    "relay_load_p99": _lower("Relay load, 99th percentile", "messages a peer", "Over peers."),
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
    "clusters_per_topic": _lower(
        "Clusters a topic", "clusters", "Connected components of the links among a topic's subscribers."
    ),
    "gateways_per_topic": _lower(
        "Gateways a topic",
        "peers",
        "Peers that connect a cluster to the rendezvous node.",
    ),
    "neighbours": Measure(
        "Neighbours",
        "peers",
        None,
        "Different peers linked to, mean at the end of the measure phase.",
    ),
    "neighbours_max": Measure(
        "Most neighbours",
        "peers",
        None,
        "Of any peer at the end of the measure phase.",
    ),
    "peers_up": Measure("Peers up", "peers", None, "Mean over the measure phase."),
    "published": Measure("Events published", "events", None, "In the measure phase."),
    "expected": Measure("Expected deliveries", "deliveries", None, "The denominator of the hit ratio."),
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


def describe(name: str) -> Measure:
    """What a measure is; `state.<name>` is whatever a system tells of itself."""
    if name.startswith(STATE_PREFIX):
        words = name.removeprefix(STATE_PREFIX).replace("_", " ")
        about = "What peers told of themselves at the end of the measure phase, mean over peers."
        return Measure(words.capitalize(), "", None, about)
    return MEASURES[name]
