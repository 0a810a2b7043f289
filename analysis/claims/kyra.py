"""The claims of the Kyra paper in its abstract and introduction.

The text that we have ends before the evaluation: there are neither numbers nor a setting. Load is compared
with that of filter-based routing. A ratio of about 1 stands for what the paper calls close, or independent,
and at most a half for what it calls much lower.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.claims.bounds import about, above, at_most
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
from analysis.measures.variant_results import Estimate, VariantResult, estimate

_INTERESTS = "workload.subscriptions.interests"
_EVENTS = "workload.subscriptions.events"
_DISTRIBUTIONS = {(i, e) for i in ("uniform", "skewed", "local") for e in ("uniform", "skewed")}
"""The pairs of distributions, of interests and of events."""
_NO_EXCESS = 1e-6
"""The excess that is assumed for groups that do not vary at all."""
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
    """Return the pairs of Kyra and filter-based routing."""
    return pairs_by_system(_static(variants), "kyra", "siena")


def _over_six(variants: Variants) -> list[VariantResult]:
    """Return Kyra and multicast groups in all six distributions, with filter-based routing where it
    ran too."""
    found = [v for v in _static(variants) if v.get(_INTERESTS) is not None]
    systems = {name: of_system(found, name) for name in ("kyra", "groups", "siena")}
    for name in ("kyra", "groups"):
        if not {_distribution(v) for v in systems[name]} >= _DISTRIBUTIONS:
            return []
    return [variant for of in systems.values() for variant in of]


def _distribution(variant: VariantResult) -> tuple[str, str]:
    return variant.get(_INTERESTS), variant.get(_EVENTS)


def _variation(variants: Variants) -> Found:
    return {"kyra": _mean(_spreads(of_system(variants, "kyra"), _OVER_IDEAL).values())}


def _excess_to_groups(variants: Variants) -> Found:
    """Return by how much the highest cost exceeds the lowest, relative to the same excess of groups."""
    kyra, groups = (_spreads(of_system(variants, name), _OVER_IDEAL) for name in ("kyra", "groups"))
    seeds = kyra.keys() & groups.keys()
    return {"kyra to groups": _mean((kyra[seed] - 1) / max(groups[seed] - 1, _NO_EXCESS) for seed in seeds)}


def _variation_to_filters(variants: Variants) -> Found:
    """Return how much the cost relative to filter-based routing's varies."""
    kyra, siena = (of_system(variants, name) for name in ("kyra", "siena"))
    beside = {_distribution(v): v for v in siena}
    if not beside.keys() >= _DISTRIBUTIONS:
        return {}
    found: dict[int, list[float]] = {}
    for ours in kyra:
        theirs = beside[_distribution(ours)]
        for seed in ours.trials.keys() & theirs.trials.keys():
            costs = [v.trials[seed].get("network_cost_ms") for v in (ours, theirs)]
            if costs[0] and costs[1]:
                found.setdefault(seed, []).append(costs[0] / costs[1])
    whole = [ratios for ratios in found.values() if len(ratios) == len(kyra)]
    return {"kyra to siena": _mean(max(ratios) / min(ratios) for ratios in whole)}


def _spreads(variants: Variants, measure: str) -> dict[int, float]:
    """Return the ratio of the highest to the lowest value of a measure, by seed."""
    found = {}
    for seed in set.intersection(*({*v.trials} for v in variants)):
        costs = [cost for v in variants if (cost := v.trials[seed].get(measure))]
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
                    at_most(0.5, "times"),
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
        _over_six,
        "variants of both Kyra and multicast groups in six distributions (interests uniform, skewed and "
        "local; events uniform and skewed)",
        {},
        (
            Number(
                "network cost over the ideal, the most over all distributions to the least",
                about(1, "times"),
                _variation,
            ),
            Number(
                "its excess over 1, to that of multicast groups", at_most(0.5, "times"), _excess_to_groups
            ),
            Number(
                "network cost over filter-based routing's, the most over all distributions to the least",
                about(1, "times"),
                _variation_to_filters,
            ),
        ),
    ),
)
