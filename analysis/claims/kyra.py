"""What the Kyra paper claims, and whether a run bears it out.

The claims are those of abstract and introduction: the evaluation is cut off in the text that we have.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.claims.evidence import Claim, Evidence, Finding, Variants, compare, lacks, of_system, ratio
from analysis.measures.variants import VariantResult

INTERESTED = "workload.subscriptions.interested"
INTERESTS = "workload.subscriptions.interests"
EVENTS = "workload.subscriptions.events"
_CLOSE = 1.45
"""Network cost over filter-based routing's that counts as close: the paper's text has no number."""
_LOADS = ("table_entries", "table_entries_max", "searches_per_event", "server_copies", "server_copies_max")


def _efficient_and_light(variants: Variants) -> Finding:
    found = list(_pairs(variants))
    if not found:
        return lacks("pairs of Kyra and filter-based routing (siena)")
    evidence = Evidence()
    for label, kyra, siena in found:
        cost = evidence.value(f"network cost, {label}", compare(kyra, siena, "network_cost_ms", ratio))
        evidence.check((cost or 0) <= _CLOSE, f"{cost or 0:.2f} times the network cost with {label}")
        for measure in _LOADS:
            times = evidence.value(f"{measure}, {label}", compare(kyra, siena, measure, ratio))
            evidence.check((times or 0) < 1, f"{times or 0:.2f} times the {measure} with {label}")
        even = evidence.value(f"Jain's index, {label}", compare(kyra, siena, "server_copies_jain", ratio))
        evidence.check((even or 0) > 1, f"load is not more even with {label}")
    return evidence.finding()


def _whatever_the_distribution(variants: Variants) -> Finding:
    evidence = Evidence()
    spreads = {}
    for system in ("kyra", "groups"):
        costs = []
        for variant in of_system(variants, system):
            if variant.get(INTERESTS) is None:
                continue
            label = f"{system}, {variant.get(INTERESTS)} interests, {variant.get(EVENTS)} events"
            costs.append(evidence.value(label, variant.measures.get("network_cost_over_ideal")) or 0.0)
        if len(costs) < 2 or min(costs) <= 0:
            return lacks(f"variants of {system} with several distributions")
        spreads[system] = max(costs) / min(costs)
    kyra, groups = spreads["kyra"], spreads["groups"]
    evidence.check(
        kyra - 1 <= (groups - 1) / 2,
        f"cost over the ideal varies by a factor of {kyra:.2f} with Kyra, of {groups:.2f} with groups",
    )
    return evidence.finding("" if evidence.against else f"a factor of {kyra:.2f}, with groups {groups:.2f}")


def _pairs(variants: Variants) -> Iterator[tuple[str, VariantResult, VariantResult]]:
    """Each variant of Kyra with the one of filter-based routing for the same workload."""
    baselines = {_key(variant): variant for variant in of_system(variants, "siena")}
    for variant in of_system(variants, "kyra"):
        if _key(variant) in baselines:
            yield f"{variant.get(INTERESTED)} interested", variant, baselines[_key(variant)]


def _key(variant: VariantResult) -> str:
    return repr(sorted((k, v) for k, v in variant.setting.items() if k not in ("system", "seed")))


KYRA = (
    Claim(
        "K1",
        "Events cost the network little more than with filter-based routing, and servers much less; the "
        "load is balanced.",
        "no number in the text that we have",
        _efficient_and_light,
    ),
    Claim(
        "K2",
        "The effect does not depend on how subscriptions are distributed, unlike that of multicast groups.",
        "no number in the text that we have",
        _whatever_the_distribution,
    ),
)
