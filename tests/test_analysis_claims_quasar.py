"""Quasar's claims, and those on OPT, on made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.claims.claim import Verdict, compare, of_ends, ratio, saving
from analysis.claims.curves import curves
from analysis.claims.papers import judge
from analysis.measures.variant_results import VariantResult, estimate

SIZES = (1024, 32_768)


def variant(
    name: str,
    peers: int,
    system: dict[str, Any],
    subscriptions: dict[str, Any],
    measures: dict[str, float],
    values: dict[str, Any] | None = None,
) -> VariantResult:
    setting = {
        "system": system,
        "peers": peers,
        "network": {"jitter": "0 s", "loss": 0.0},
        "workload": {"subscriptions": subscriptions, "publications": {"rates": {"kind": "uniform"}}},
        "churn": {"model": {"kind": "static"}, "flash_crowd": None},
    }
    trials: dict[int, Any] = {1: measures, 2: measures}
    estimates = {k: estimate([v, v]) for k, v in measures.items()}
    return VariantResult(name, values or {}, setting, estimates, trials)


def quasar(peers: int, size: float | None, overlay: str = "random-graph", **measures: float) -> VariantResult:
    system = {"name": f"quasar-{overlay}", "parameters": {"depth": 3, "filter_bytes": 512}}
    subscriptions = {"kind": "groups", "size": size, "smallest": 2, "largest": 1055}
    return variant(f"{peers}.{size}", peers, system, subscriptions, measures)


def twitter(system: str, degree: int, knowledge: str = "full", **measures: float) -> VariantResult:
    parameters: dict[str, Any] = {"routing_table": degree}
    if system == "opt":
        parameters = {"degree": degree, "knowledge": knowledge}
    name = f"{system}.{degree}.{knowledge}"
    return variant(name, 10_000, {"name": system, "parameters": parameters}, {"kind": "edges"}, measures)


def verdict(name: str, *variants: VariantResult) -> Verdict:
    return judge([name], variants)[0]


def outcomes(name: str, *variants: VariantResult) -> list[str]:
    return [number.outcome for number in verdict(name, *variants).numbers]


def coverage(changed: dict[float | None, tuple[float, float]]) -> list[VariantResult]:
    lines = {None: (0.975, 0.98), 100.0: (0.95, 0.94), 0.02: (0.94, 0.95)} | changed
    return [
        quasar(peers, size, coverage=reached)
        for size, line in lines.items()
        for peers, reached in zip(SIZES, line, strict=True)
    ]


def test_coverage_has_to_be_high_for_myspaces_groups_and_without_a_trend() -> None:
    assert verdict("Q1", *coverage({})).outcome == "yes"
    assert outcomes("Q1", *coverage({None: (0.96, 0.975)})) == ["missed", *["held"] * 4]
    assert outcomes("Q1", *coverage({100.0: (0.96, 0.85)})) == ["held", "held", "missed", "held", "held"]
    assert outcomes("Q1", *coverage({0.02: (0.96, 0.85)})) == ["held", "held", "held", "missed", "held"]
    assert outcomes("Q1", *coverage({100.0: (0.7, 0.8), 0.02: (0.4, 0.4), None: (0.9, 0.9)})) == [
        *("missed", "held", "better", "held", "missed")
    ]


def test_the_papers_sizes_and_its_random_graph_are_part_of_the_setting() -> None:
    small = verdict("Q1", *[v for v in coverage({}) if v.get("peers") == 1024])
    assert small.differs == ["peers is 1,024, the paper's 1,024 to 32,768"]
    pastry = [quasar(peers, None, "pastry", filter_bytes_max=20_000) for peers in SIZES]
    assert verdict("Q3", *pastry).differs == ["system.name is quasar-pastry, the paper's quasar-random-graph"]


def test_hops_have_to_grow_modestly() -> None:
    def curve(*hops: float) -> list[VariantResult]:
        return [quasar(peers, 100.0, last_hop=each) for peers, each in zip(SIZES, hops, strict=True)]

    assert verdict("Q2", *curve(15.5, 23)).outcome == "yes"
    assert outcomes("Q2", *curve(19, 17)) == ["held", "missed", "held"]
    assert outcomes("Q2", *curve(15, 26)) == ["missed", "held", "missed"]
    assert outcomes("Q2", *curve(6, 8)) == ["better", "held", "held"]
    assert verdict("Q2", quasar(1024, 100.0, last_hop=16)).numbers[1].outcome == "not measured"


def test_filters_and_their_false_positives_have_bounds() -> None:
    def both(**measures: Any) -> list[VariantResult]:
        return [quasar(peers, None, **measures) for peers in SIZES]

    assert verdict("Q3", *both(filter_bytes_max=21504.0)).outcome == "yes"
    assert verdict("Q3", *both(filter_bytes_max=23040.0)).outcome == "no"
    assert outcomes("Q4", *both(gradients_false=0.005, gradients_recovered=1.0)) == ["held", "held"]
    assert outcomes("Q4", *both(gradients_false=0.001, gradients_recovered=0.4)) == ["better", "missed"]
    assert outcomes("Q4", *both(gradients_false=0.02, gradients_recovered=1.0)) == ["missed", "held"]


def test_coverage_has_to_vary_less_in_larger_groups() -> None:
    def curve(*deviations: float) -> list[VariantResult]:
        return [quasar(peers, 0.02, coverage_sd=each) for peers, each in zip(SIZES, deviations, strict=True)]

    assert verdict("Q5", *curve(0.03, 0.01)).outcome == "yes"
    assert verdict("Q5", *curve(0.01, 0.03)).outcome == "no"


def sized(peers: int, degree: int, branch: int = 3, **measures: float) -> VariantResult:
    """Return a variant of a sweep over these three, with groups of 2 %."""
    parameters = {"depth": 3, "filter_bytes": 512, "branch": branch, "overlay": {"degree": degree}}
    system = {"name": "quasar-random-graph", "parameters": parameters}
    values = {
        "peers": peers,
        "system.parameters.overlay.degree": degree,
        "system.parameters": {"branch": branch},
    }
    subscriptions = {"kind": "groups", "size": 0.02, "smallest": 2, "largest": 1055}
    return variant(f"{peers}.{degree}.{branch}", peers, system, subscriptions, measures, values)


def ends(variants: list[VariantResult]) -> dict[str, list[str]]:
    """Return the first and the last variant of each curve over the number of peers."""
    return {c.name: [c.points[0].name, c.points[-1].name] for c in curves(variants, "peers")}


def test_links_that_grow_with_the_network_are_a_part_of_its_curve() -> None:
    run = [sized(peers, degree, coverage_sd=0.03 / degree) for peers, degree in ((4096, 8), (1024, 6))]
    assert ends(run) == {"": ["1024.6.3", "4096.8.3"]}
    assert outcomes("Q5", *run) == ["held"]


def test_networks_that_differ_otherwise_are_on_curves_of_their_own() -> None:
    degrees = [sized(peers, degree) for peers in (1024, 4096) for degree in (6, 11)]
    assert ends(degrees) == {"degree 6": ["1024.6.3", "4096.6.3"], "degree 11": ["1024.11.3", "4096.11.3"]}
    copies = [sized(p, d, b) for p, d in ((1024, 6), (4096, 8)) for b in (0, 3)]
    assert ends(copies) == {"branch 0": ["1024.6.0", "4096.8.0"], "branch 3": ["1024.6.3", "4096.8.3"]}
    assert ends([sized(1024, 6), sized(1024, 8)]) == {}
    partly = [sized(1024, 6), sized(1024, 11), sized(4096, 8), sized(4096, 11)]
    assert ends(partly) == {"": ["1024.11.3", "4096.11.3"]}


def test_every_curve_of_a_trend_counts() -> None:
    sizes = ((1024, 0.03), (4096, 0.01))
    run = [sized(p, d, coverage_sd=sd if d == 6 else 0.04 - sd) for p, sd in sizes for d in (6, 11)]
    (number,) = verdict("Q5", *run).numbers
    assert list(number.measured) == ["peers 1,024 to 4,096, degree 6", "peers 1,024 to 4,096, degree 11"]
    assert number.outcome == "missed"
    assert outcomes("Q5", *run[:3], sized(4096, 11, coverage=0.9)) == ["not measured"]


def test_words_that_change_with_the_network_are_no_part_of_its_curve() -> None:
    def over(peers: int, overlay: str) -> VariantResult:
        system = {"name": f"quasar-{overlay}", "parameters": {"depth": 3}}
        values = {"peers": peers, "system.name": system["name"]}
        return variant(f"{peers}.{overlay}", peers, system, {"kind": "groups"}, {}, values)

    assert ends([over(1024, "pastry"), over(4096, "random-graph")]) == {}


def test_a_baseline_of_zero_is_nothing_to_divide_by_but_may_be_subtracted() -> None:
    zero, half = sized(1024, 6, coverage=0.0), sized(4096, 8, coverage=0.5)
    assert compare(half, zero, "coverage", ratio) is None
    assert compare(half, zero, "coverage", saving) is None
    assert compare(zero, half, "coverage", ratio) == estimate([0.0, 0.0])
    found = of_ends("peers", "coverage", lambda one, other: one - other)([half, zero])
    assert found == {"peers 1,024 to 4,096": estimate([0.5, 0.5])}
    whole = coverage({100.0: (0.0, 0.5)})
    assert outcomes("Q1", *whole) == ["held", "held", "better", "held", "held"]


VITIS: dict[str, Any] = {"hit_ratio": 1.0, "overhead": 0.42, "delay_hops": 2.0}
RVR: dict[str, Any] = {"hit_ratio": 1.0, "overhead": 0.7, "delay_hops": 3.2}
OPT: dict[str, Any] = {"hit_ratio": 0.5, "hit_ratio_by_topic": 0.2, "overhead": 0.0, "delay_hops": 3.6}
LARGE: dict[str, Any] = {"hit_ratio": 0.78, "hit_ratio_by_topic": 0.3}


def three(
    vitis: dict[str, Any] | None = None,
    rvr: dict[str, Any] | None = None,
    opt: dict[str, Any] | None = None,
) -> list[VariantResult]:
    """Return variants of the three systems; what is changed is changed at degree 35."""
    return [
        twitter("vitis", 15, **VITIS | {"overhead": 0.49}),
        twitter("vitis", 35, **VITIS | (vitis or {})),
        twitter("rvr", 15, **RVR),
        twitter("rvr", 35, **RVR | (rvr or {})),
        twitter("opt", 15, **OPT),
        twitter("opt", 35, **OPT | LARGE | (opt or {})),
    ]


def test_opt_has_to_miss_events_that_vitis_and_rvr_deliver_faster() -> None:
    assert outcomes("V7", *three()) == ["held"] * 11


@pytest.mark.parametrize(
    ("system", "changed", "missed"),
    [
        ("vitis", {"hit_ratio": 0.999}, {0}),
        ("rvr", {"hit_ratio": 0.999}, {1}),
        ("opt", {"hit_ratio": 1.0}, {2, 3}),
        ("opt", {"hit_ratio": 0.87}, {3}),
        ("opt", {"hit_ratio_by_topic": 0.87}, {4}),
        ("vitis", {"overhead": 0.5}, {6, 7}),
        ("rvr", {"overhead": 0.5}, {6}),
        ("opt", {"overhead": 0.01}, {8}),
        ("rvr", {"delay_hops": 2.9}, {9}),
        ("opt", {"delay_hops": 3.3}, {10}),
    ],
)
def test_each_number_of_the_comparison_with_opt_is_judged(
    system: str, changed: dict[str, Any], missed: set[int]
) -> None:
    found = outcomes("V7", *three(**{system: changed}))
    assert {place for place, one in enumerate(found) if one == "missed"} == missed


def test_all_three_systems_are_needed_and_nobody_has_the_papers_sample() -> None:
    assert verdict("V7", *three()[:4]).outcome == "not decided"
    found = verdict("V7", *three())
    assert found.differs == [
        "workload.subscriptions.kind is edges, the paper's a sample of Twitter with 80 subscriptions a peer"
    ]


def test_unbounded_degrees_have_to_be_as_large_as_the_papers() -> None:
    good: dict[str, Any] = {
        "hit_ratio": 1.0,
        "neighbours_above_15": 0.7,
        "neighbours_above_200": 0.003,
        "neighbours_max": 700.0,
    }
    assert outcomes("V8", twitter("opt", 0, **good)) == ["held"] * 4
    bad: dict[str, Any] = {
        "hit_ratio": 0.99,
        "neighbours_above_15": 0.31,
        "neighbours_above_200": 0.0,
        "neighbours_max": 185.0,
    }
    assert outcomes("V8", twitter("opt", 0, **bad)) == ["missed"] * 4
    gossiping = twitter("opt", 0, "gossip", **bad)
    assert outcomes("V8", twitter("opt", 0, **good), gossiping) == ["held"] * 4
    assert outcomes("V8", twitter("opt", 15, **good)) == ["not measured"] * 4
