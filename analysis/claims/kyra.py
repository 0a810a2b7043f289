"""What the Kyra paper claims in its abstract and introduction.

The text that we have ends before the evaluation: there are neither numbers nor a setting. Load is compared
with filter-based routing's, and what the paper calls close, or independent, is about once the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.claims.bounds import about, above, below
from analysis.claims.claim import (
    Claim,
    Found,
    Number,
    Pair,
    Variants,
    is_static,
    members,
    of_pair,
    of_system,
    ratio,
)
from analysis.claims.pairs import pairs_by_system
from analysis.measures.variants import Estimate, VariantResult, estimate

_INTERESTS = "workload.subscriptions.interests"
_EVENTS = "workload.subscriptions.events"
_OVER_IDEAL = "network_cost_over_ideal"
_LOADS = {
    "table_entries": "table entries of a server",
    "table_entries_max": "table entries of the server with the most",
    "searches_per_event": "matches of an event and server",
    "searches_per_event_max": "matches of an event at the server with the most",
    "server_copies": "messages of an event and server",
    "server_copies_max": "messages of an event at the server with the most",
}


def _static(variants: Variants) -> list[VariantResult]:
    return [v for v in variants if is_static(v)]


def _pairs(variants: Variants) -> list[Pair]:
    """Kyra beside filter-based routing."""
    return pairs_by_system(_static(variants), "kyra", "siena")


def _of_both_systems(variants: Variants) -> list[VariantResult]:
    """Kyra and multicast groups, if each has several distributions."""
    found = [v for v in _static(variants) if v.get(_INTERESTS) is not None]
    systems = [of_system(found, name) for name in ("kyra", "groups")]
    several = all(len({(v.get(_INTERESTS), v.get(_EVENTS)) for v in of}) > 1 for of in systems)
    return systems[0] + systems[1] if several else []


def _variation(variants: Variants) -> Found:
    return {"kyra": _mean(_spreads(of_system(variants, "kyra")).values())}


def _variation_to_groups(variants: Variants) -> Found:
    kyra, groups = (_spreads(of_system(variants, name)) for name in ("kyra", "groups"))
    return {"kyra to groups": _mean(kyra[seed] / groups[seed] for seed in kyra.keys() & groups.keys())}


def _spreads(variants: Variants) -> dict[int, float]:
    """How many times the least cost over the ideal the most is, by seed."""
    found = {}
    for seed in set.intersection(*({*v.trials} for v in variants)):
        costs = [cost for v in variants if (cost := v.trials[seed].get(_OVER_IDEAL))]
        if len(costs) == len(variants):
            found[seed] = max(costs) / min(costs)
    return found


def _mean(values: Iterable[float]) -> Estimate | None:
    found = list(values)
    return estimate(found) if found else None


KYRA = (
    Claim(
        "K1",
        "Events cost the network about as much as with filter-based routing, and servers much less; the load "
        "is balanced. The text that we have gives neither numbers nor a setting.",
        lambda variants: members(_pairs(variants)),
        "pairs of Kyra and filter-based routing (siena)",
        {},
        (
            Number(
                "network cost, to filter-based routing's",
                about(1, "times", better="lower"),
                of_pair(_pairs, "network_cost_ms", ratio),
            ),
            *(
                Number(
                    f"{words}, to filter-based routing's",
                    below(1, "times"),
                    of_pair(_pairs, measure, ratio),
                )
                for measure, words in _LOADS.items()
            ),
            Number(
                "Jain's index of messages, to filter-based routing's",
                above(1, "times"),
                of_pair(_pairs, "server_copies_jain", ratio),
            ),
        ),
    ),
    Claim(
        "K2",
        "The effect is independent of how subscriptions and events are distributed; that of multicast groups "
        "is not. The text that we have gives neither numbers nor a setting.",
        _of_both_systems,
        "variants of both Kyra and multicast groups with several distributions",
        {},
        (
            Number(
                "network cost over the ideal, the most over all distributions to the least",
                about(1, "times"),
                _variation,
            ),
            Number("the same, to that of multicast groups", below(1, "times"), _variation_to_groups),
        ),
    ),
)
