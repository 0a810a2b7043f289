"""Measures of events by topic: how far each event and each topic reaches, filters, gradients, degrees."""

from __future__ import annotations

from analysis.contract.measures import Measure, MeasureGroup, grouped, lower, share
from analysis.measures.coverage import copies_and_messages, hit_ratio_after_joins, reach, reach_by_topic
from analysis.measures.degrees import degrees
from analysis.measures.filters import filter_traffic
from analysis.measures.gradients import filters_kept, gradients

_HEADINGS = {
    "Delivery": ("hit_ratio", "coverage"),
    "Delay": ("last_hop",),
    "Traffic": ("messages", "copies"),
    "Gradients": ("filter_", "gradients_"),
    "Overlay": ("neighbours",),
}


def _after_join(begin: int, end: int | None) -> dict[str, Measure]:
    """Return the measures of deliveries by the time (s) from a peer's last join to the publication."""
    when = f"{begin} s to less than {end} s before" if end else f"{begin} s or longer before"
    counted = " Coverage and hit ratio do not count these." if begin < 10 else ""
    return {
        f"hit_ratio_after_{begin}_s": share(
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


_MEASURES = {
    "coverage": share("Coverage", "Of each event's expected deliveries, those made; mean over events."),
    "coverage_sd": lower("Coverage, standard deviation", "share", "Over events."),
    "coverage_failed": lower("Events that reached almost nobody", "share", "Coverage below 5 %."),
    "last_hop": lower("Hops to the last subscriber", "hops", "Of each event; mean over events."),
    "last_hop_sd": lower("Hops to the last subscriber, standard deviation", "hops", "Over events."),
    "hit_ratio_by_topic": share("Hit ratio by topic", "As the hit ratio, of each topic; mean over topics."),
    **{
        name: measure
        for begin, end in ((0, 2), (2, 5), (5, 10), (10, 20), (20, 30), (30, 60), (60, None))
        for name, measure in _after_join(begin, end).items()
    },
    "copies_per_delivery": lower(
        "Copies a delivery", "copies", "Received by anybody, for each delivery made."
    ),
    "messages_per_delivery": lower(
        "Messages a delivery", "messages", "About events, for each delivery made."
    ),
    "neighbours_sd": Measure("Neighbours, standard deviation", "peers", None, "Over peers that have any."),
    "neighbours_above_15": lower("Peers with more than 15 neighbours", "share", "Of those that have any."),
    "neighbours_above_200": lower("Peers with more than 200 neighbours", "share", "Of those that have any."),
    "filter_bytes_max": lower(
        "Filters kept, maximum", "bytes", "Of neighbours' filters; the peer with the most."
    ),
    "filter_bytes_per_s": lower("Filters sent", "bytes/s a peer", "Updates in the measure phase."),
    "gradients_false": lower(
        "False or stale gradients",
        "share",
        "Of copies that came by a gradient, those for which it ended there.",
    ),
    **{
        f"gradients_false_{level}": lower(
            f"False or stale gradients, level {level}",
            "share",
            "Of copies that came by a gradient of this level.",
        )
        for level in range(3)
    },
    "gradients_recovered": share(
        "Recovered by another gradient", "Of the false or stale ones; the others went on at random."
    ),
}
BY_TOPIC = MeasureGroup(
    grouped(_HEADINGS, _MEASURES),
    (
        *(reach, reach_by_topic, hit_ratio_after_joins, copies_and_messages),
        *(degrees, filters_kept, gradients, filter_traffic),
    ),
)
"""The measures of trials whose peers subscribe to topics."""
