"""Magnet's claims on made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.claims.claim import Verdict
from analysis.claims.papers import judge
from analysis.measures.variant_results import VariantResult, estimate

UNIFORM: dict[str, Any] = {"kind": "uniform"}
SKEWED: dict[str, Any] = {"kind": "power-law", "alpha": 0.75}
MULTI_MODAL = {
    "kind": "multi-modal",
    "topics": 1000,
    "chosen": 1,
    "categories": 5,
    "alpha": 1.0,
    "per_peer": 50.0,
}
SPATIAL = {"kind": "spatial", "per_peer": 8.0}
HIERARCHY = {
    "kind": "hierarchical-topics",
    "height": 14,
    "alpha": 2.0,
    "homophily": 2.0,
    "initial": 0.1,
    "per_peer": 16.0,
}
EDITORS = {"kind": "editors-file", "articles": 3000}
RANDOM = {"kind": "random", "topics": 1000, "per_peer": 50}


def variant(
    subscriptions: dict[str, Any],
    placement: str,
    relays: float,
    rates: dict[str, Any] = UNIFORM,
    samples: int = 10,
    peers: int = 10_000,
    links: int = 17,
    popular: float = 0.03,
    exponent: float = 1.65,
    churn: str = "static",
) -> VariantResult:
    parameters = {"placement": placement, "samples": samples, "interest": {"long_links": links}}
    setting = {
        "system": {"name": "magnet-pastry", "parameters": parameters},
        "peers": peers,
        "network": {"jitter": "0 s", "loss": 0.0},
        "workload": {"subscriptions": subscriptions, "publications": {"rates": rates}},
        "churn": {"model": {"kind": churn}, "flash_crowd": None},
        "seed": 1,
    }
    measures = {"relays_per_event": relays, "overhead_popular": popular, "popularity_exponent": exponent}
    trials: dict[int, Any] = {1: measures, 2: measures}
    name = f"{placement}.{subscriptions}.{rates}.{samples}"
    return VariantResult(name, {}, setting, {k: estimate([v, v]) for k, v in measures.items()}, trials)


def pair(
    subscriptions: dict[str, Any], saved: float, rates: dict[str, Any] = UNIFORM, **more: Any
) -> list[VariantResult]:
    return [
        variant(subscriptions, "hashed", 100.0, rates, **more),
        variant(subscriptions, "similar", 100.0 * (1 - saved), rates, **more),
    ]


def verdict(name: str, *variants: VariantResult) -> Verdict:
    return judge([name], variants)[0]


def outcomes(name: str, *variants: VariantResult) -> list[str]:
    found = verdict(name, *variants)
    assert found.differs == []
    return [number.outcome for number in found.numbers]


CORRELATION = {
    (1, 10, "uniform"): 0.7,
    (5, 50, "uniform"): 0.25,
    (1, 10, "power-law"): 0.8,
    (5, 50, "power-law"): 0.45,
    (1, 5, "uniform"): 0.6,
    (5, 25, "uniform"): 0.22,
}


def correlation(changed: dict[tuple[int, int, str], float], **more: Any) -> list[VariantResult]:
    return [
        one
        for (chosen, categories, rates), saved in (CORRELATION | changed).items()
        for one in pair(
            MULTI_MODAL | {"chosen": chosen, "categories": categories},
            saved,
            SKEWED if rates == "power-law" else UNIFORM,
            **more,
        )
    ]


def test_savings_must_follow_correlation_and_rates() -> None:
    assert verdict("M1", *correlation({})).outcome == "yes"
    assert outcomes("M1", *correlation({(1, 10, "uniform"): 0.24})) == ["held", "missed", "held", "held"]
    assert outcomes("M1", *correlation({(5, 50, "power-law"): 0.24})) == ["held", "held", "missed", "held"]
    assert outcomes("M1", *correlation({(5, 25, "uniform"): 0.1})) == ["missed", "held", "held", "held"]
    assert outcomes("M1", *correlation({}, popular=0.3))[-1] == "missed"


def test_a_saving_is_compared_only_with_those_of_the_same_share_of_categories() -> None:
    (_, more, *_) = verdict("M1", *correlation({})).numbers
    assert sorted(round(e.mean, 6) for e in more.measured.values()) == [0.35, 0.38, 0.45]


def test_a_smaller_network_is_another_setting() -> None:
    found = verdict("M1", *correlation({}, peers=1000))
    assert found.outcome == "other setting" and found.differs == ["peers is 1,000, the paper's 10,000"]


def test_correlations_and_rates_that_were_not_varied_are_not_judged() -> None:
    found = verdict("M1", *pair(MULTI_MODAL, 0.7, peers=10_000))
    assert [n.outcome for n in found.numbers] == ["held", *["not measured"] * 3]


def popularity(first: float, last: float, small: float = 0.3) -> list[VariantResult]:
    few = MULTI_MODAL | {"per_peer": 18.0}
    alphas = ((0.5, first), (1.0, last))
    found = [v for alpha, saved in alphas for v in pair(few | {"alpha": alpha}, saved, peers=5000)]
    return [*found, *pair(MULTI_MODAL | {"per_peer": 6.0}, small, peers=5000)]


def test_savings_must_grow_with_alpha_and_be_there_with_all_sizes() -> None:
    assert verdict("M2", *popularity(0.4, 0.6)).outcome == "yes"
    assert outcomes("M2", *popularity(0.6, 0.4)) == ["missed", "missed", "held"]
    assert outcomes("M2", *popularity(0.4, 0.6, small=-0.01)) == ["held", "held", "missed"]
    dent = pair(MULTI_MODAL | {"per_peer": 18.0, "alpha": 0.75}, 0.35, peers=5000)
    assert outcomes("M2", *popularity(0.4, 0.6), *dent) == ["held", "missed", "held"]
    assert verdict("M2", *popularity(0.4, 0.6)[:4]).outcome == "not decided", "one size alone"
    larger = [v for alpha, s in ((0.5, 0.4), (1.0, 0.6)) for v in pair(MULTI_MODAL | {"alpha": alpha}, s)]
    assert [n.outcome for n in verdict("M2", *larger).numbers] == ["not measured"] * 3, (
        "alpha at another size"
    )


def test_savings_must_grow_with_spatial_interests_up_to_the_papers() -> None:
    def run(first: float, last: float) -> list[VariantResult]:
        return [*pair(SPATIAL, first), *pair(SPATIAL | {"per_peer": 32.0}, last)]

    assert verdict("M3", *run(0.6, 0.78)).outcome == "yes"
    assert outcomes("M3", *run(0.6, 0.9)) == ["better", "held", "held"]
    assert outcomes("M3", *run(0.6, 0.7)) == ["missed", "held", "held"]
    assert outcomes("M3", *run(0.8, 0.76)) == ["held", "missed", "missed"]
    dent = pair(SPATIAL | {"per_peer": 16.0}, 0.79)
    assert outcomes("M3", *run(0.6, 0.78), *dent) == ["held", "held", "missed"]


@pytest.mark.parametrize(
    ("changed", "place"), [({"homophily": 1.0}, 2), ({"initial": 0.3}, 3), ({"per_peer": 8.0}, 4)]
)
def test_a_hierarchy_must_save_more_with_more_homophily_and_less_at_random(
    changed: dict[str, float], place: int
) -> None:
    less_correlated = "per_peer" not in changed

    def run(usual: float, other: float) -> list[VariantResult]:
        return [
            *pair(HIERARCHY, usual, peers=2**14),
            *pair(HIERARCHY | changed, other, peers=2**14),
        ]

    good, bad = (0.5, 0.3), (0.3, 0.5)
    if not less_correlated:
        good, bad = bad, good
    assert outcomes("M4", *run(*good))[place] == "held"
    assert outcomes("M4", *run(*bad))[place] == "missed"
    assert outcomes("M4", *run(0.5, 0.1))[1] == "missed"


def test_the_popularity_of_a_hierarchys_topics_must_have_the_papers_exponent_in_the_papers_setting() -> None:
    def run(exponent: float, other: float) -> str:
        usual = pair(HIERARCHY, 0.5, peers=2**14, exponent=exponent)
        return outcomes("M4", *usual, *pair(HIERARCHY | {"initial": 0.3}, 0.3, exponent=other, peers=2**14))[
            0
        ]

    assert run(1.6, 3.0) == "held"
    assert run(1.4, 1.68) == "missed"


def test_the_strawman_must_have_the_papers_surplus_of_relays_with_editors() -> None:
    def run(times: float, kind: dict[str, Any] = EDITORS) -> list[VariantResult]:
        return pair(kind, 1 - 1 / times, links=10)

    assert verdict("M5", *run(1.77)).outcome == "yes"
    assert outcomes("M5", *run(2.4)) == ["better"]
    assert outcomes("M5", *run(1.3)) == ["missed"]
    drawn = verdict("M5", *run(1.77, EDITORS | {"kind": "editors"}))
    assert drawn.differs == ["workload.subscriptions.kind is editors, the paper's editors-file"]


def test_the_strawman_may_not_have_fewer_relays_without_correlation() -> None:
    assert verdict("M6", *pair(RANDOM, 0.0)).outcome == "yes"
    assert verdict("M6", *pair(RANDOM, -0.01)).outcome == "no"
    churning = verdict("M6", *pair(RANDOM, 0.5, churn="skype"))
    assert churning.why == "the run has no pair of Magnet and strawman with random interests"


def test_more_samples_than_ten_may_not_save_much_more() -> None:
    def run(ten: float, thirty: float, three: float | None = None) -> list[VariantResult]:
        relays = {3: ten + 3 if three is None else three, 10: ten, 30: thirty}
        found = [variant(MULTI_MODAL, "similar", r, samples=n) for n, r in relays.items()]
        return [variant(MULTI_MODAL, "hashed", 100.0), *found]

    assert verdict("M7", *run(30, 28)).outcome == "yes"
    assert outcomes("M7", *run(40, 30)) == ["held", "missed", "held"]
    assert outcomes("M7", *run(90, 88)) == ["missed", "held", "held"]
    assert outcomes("M7", *run(30, 28, three=36)) == ["held", "held", "missed"]
    assert verdict("M7", *run(30, 28)[:3]).outcome == "not decided"
