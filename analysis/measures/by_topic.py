"""Measures of events by topic: how far each event and each topic reaches, filters, gradients, degrees."""

from __future__ import annotations

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, grouped, lower, share
from analysis.measures.coverage import (
    AFTER_JOIN_S,
    copies_and_messages,
    hit_ratio_after_joins,
    reach,
    reach_by_topic,
)
from analysis.measures.degrees import degrees
from analysis.measures.filters import filter_traffic
from analysis.measures.gradients import LEVELS, filters_kept, gradients

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
        for level in range(LEVELS)
    },
    "gradients_recovered": share(
        "Recovered by another gradient", "Of the false or stale ones; the others went on at random."
    ),
}
_FORMULAS = {
    "coverage*": "{statistic} over events of (expected deliveries made / expected deliveries)",
    "coverage_failed": "(events with expected deliveries made / expected deliveries < 0.05) / events",
    "last_hop*": "{statistic} over events of (maximum over expected deliveries made of the hops)",
    "hit_ratio_by_topic": "mean over topics of (expected deliveries made / expected deliveries)",
    **{
        f"hit_ratio_after_{begin}_s": "deliveries due that were made / deliveries due"
        for begin in AFTER_JOIN_S
    },
    **{f"due_after_{begin}_s": "pairs of an event and a peer at which it is due" for begin in AFTER_JOIN_S},
    "copies_per_delivery": "copies received / deliveries",
    "messages_per_delivery": "messages received about events / deliveries",
    "neighbours_sd": "standard deviation over peers of the different neighbours",
    "neighbours_above_15": "peers with more than 15 different neighbours / peers with neighbours",
    "neighbours_above_200": "peers with more than 200 different neighbours / peers with neighbours",
    "filter_bytes_max": "maximum over peers of the bytes of neighbours' filters kept",
    "filter_bytes_per_s": "bytes of GradientUpdate sent / time that peers were up",
    "gradients_false": "copies for which the gradient ended / copies that came by a gradient",
    **{
        f"gradients_false_{level}": (
            "copies for which the gradient ended / copies that came by a gradient of this level"
        )
        for level in range(LEVELS)
    },
    "gradients_recovered": "copies that found another gradient / copies for which the gradient ended",
}
BY_TOPIC = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (
        *(reach, reach_by_topic, hit_ratio_after_joins, copies_and_messages),
        *(degrees, filters_kept, gradients, filter_traffic),
    ),
)
"""The measures of trials whose peers subscribe to topics."""
