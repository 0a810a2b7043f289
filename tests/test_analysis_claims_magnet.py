"""Magnet's claims on made-up runs."""

from __future__ import annotations

from typing import Any

from analysis.claims.papers import judge
from analysis.measures.variants import VariantResult, estimate


def variant(
    kind: str, placement: str, relays: float, rates: str = "uniform", samples: int = 10, **workload: Any
) -> VariantResult:
    setting = {
        "system": {"name": "magnet-pastry", "parameters": {"placement": placement, "samples": samples}},
        "workload": {
            "subscriptions": {"kind": kind, **workload},
            "publications": {"rates": {"kind": rates}},
        },
        "churn": {"model": {"kind": "static"}, "flash_crowd": None},
        "seed": 1,
    }
    measures = {"relays_per_event": relays, "overhead_popular": 0.05, "ring_similarity": 0.4}
    trials: dict[int, Any] = {1: measures, 2: measures}
    name = f"{placement}.{kind}.{rates}.{samples}.{workload}"
    return VariantResult(name, {}, setting, {k: estimate([v, v]) for k, v in measures.items()}, trials)


def pair(kind: str, saved: float, rates: str = "uniform", **workload: Any) -> list[VariantResult]:
    return [
        variant(kind, "hashed", 100.0, rates, **workload),
        variant(kind, "similar", 100.0 * (1 - saved), rates, **workload),
    ]


def verdict(name: str, *variants: VariantResult) -> tuple[bool | None, str]:
    (found,) = judge([name], variants)
    return found.holds, found.why


def multi_modal(saved: dict[tuple[int, int, str], float]) -> list[VariantResult]:
    return [
        one
        for (chosen, categories, rates), value in saved.items()
        for one in pair("multi-modal", value, rates, chosen=chosen, categories=categories)
    ]


GOOD = {
    (1, 10, "uniform"): 0.8,
    (5, 50, "uniform"): 0.25,
    (1, 10, "power-law"): 0.9,
    (5, 50, "power-law"): 0.45,
}


def test_savings_must_follow_correlation_and_rates() -> None:
    assert verdict("M1", *multi_modal(GOOD)) == (True, "")
    turned = GOOD | {(5, 50, "power-law"): 0.95}
    holds, why = verdict("M1", *multi_modal(turned))
    assert holds is False and "less correlation saves more" in why
    flat = GOOD | {(1, 10, "power-law"): 0.7}
    holds, why = verdict("M1", *multi_modal(flat))
    assert holds is False and "skewed rates do not save more" in why
    assert verdict("M1", *multi_modal({(1, 10, "uniform"): 0.8}))[0] is None


def test_savings_must_grow_with_alpha_and_with_spatial_interests() -> None:
    rising = [v for a, s in ((0.5, 0.4), (1.0, 0.6)) for v in pair("multi-modal", s, alpha=a, per_peer=18)]
    assert verdict("M2", *rising) == (True, "")
    falling = [v for a, s in ((0.5, 0.6), (1.0, 0.4)) for v in pair("multi-modal", s, alpha=a, per_peer=18)]
    assert verdict("M2", *falling)[0] is False
    spatial = [v for t, s in ((8, 0.6), (32, 0.75)) for v in pair("spatial", s, per_peer=t)]
    assert verdict("M3", *spatial) == (True, "")
    assert verdict("M3", *pair("spatial", 0.6, per_peer=8))[0] is None


def test_a_hierarchy_must_save_more_with_more_homophily() -> None:
    def run(low: float, high: float) -> tuple[bool | None, str]:
        settings = {"initial": 0.1, "per_peer": 16}
        few = pair("hierarchical-topics", low, homophily=1, **settings)
        return verdict("M4", *few, *pair("hierarchical-topics", high, homophily=2, **settings))

    assert run(0.3, 0.5) == (True, "")
    assert run(0.5, 0.3) == (False, "homophily acts the other way")


def test_the_strawman_must_have_more_relays_with_editors_and_no_fewer_without_correlation() -> None:
    assert verdict("M5", *pair("editors", 0.4)) == (True, "")
    assert verdict("M5", *pair("editors", -0.1))[0] is False
    assert verdict("M6", *pair("random", 0.0)) == (True, "")
    assert verdict("M6", *pair("random", -0.05))[0] is False


def test_three_samples_must_come_within_three_points_of_ten() -> None:
    def run(three: float) -> bool | None:
        given = [variant("multi-modal", "hashed", 100.0)]
        given += [variant("multi-modal", "similar", r, samples=n) for n, r in ((3, three), (10, 30.0))]
        return verdict("M7", *given)[0]

    assert run(32.0) is True
    assert run(36.0) is False
    given = [variant("multi-modal", "hashed", 20.0)]
    given += [variant("multi-modal", "similar", 30.0, samples=n) for n in (3, 10)]
    assert verdict("M7", *given) == (False, "nothing is saved with ten samples")
