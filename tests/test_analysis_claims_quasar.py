"""Claims about Quasar and OPT hold, do not hold, or cannot be told."""

from __future__ import annotations

from typing import Any

from analysis.claims.papers import judge
from analysis.measures.variants import VariantResult, estimate


def variant(system: str, setting: dict[str, Any], **measures: float) -> VariantResult:
    whole = {
        "system": {"name": system, "parameters": {}},
        "churn": {"model": {"kind": "static"}, "flash_crowd": None},
    } | setting
    trials: dict[int, Any] = {1: measures, 2: measures}
    return VariantResult(
        f"{system}.{setting}", {}, whole, {k: estimate([v, v]) for k, v in measures.items()}, trials
    )


def quasar(peers: int, size: float | None, **measures: float) -> VariantResult:
    subscriptions = {"kind": "groups", "size": size}
    return variant(
        "quasar-random-graph", {"peers": peers, "workload": {"subscriptions": subscriptions}}, **measures
    )


def twitter(system: str, degree: int, **measures: float) -> VariantResult:
    parameters: dict[str, Any] = {"routing_table": degree}
    if system == "opt":
        parameters = {"degree": degree, "knowledge": "full"}
    return variant(system, {"system": {"name": system, "parameters": parameters}}, **measures)


def verdict(name: str, *variants: VariantResult) -> tuple[bool | None, str]:
    (found,) = judge([name], variants)
    return found.holds, found.why


def test_coverage_has_to_be_high_for_myspaces_groups_and_without_a_trend_for_others() -> None:
    good = [quasar(n, None, coverage=0.975) for n in (1024, 4096)]
    even = [quasar(1024, 100.0, coverage=0.94), quasar(4096, 100.0, coverage=0.95)]
    assert verdict("Q1", *good, *even) == (True, "")
    assert verdict("Q1", *good, quasar(8192, None, coverage=0.96))[0] is False
    assert verdict("Q1", *even, quasar(8192, 100.0, coverage=0.90))[0] is False
    assert verdict("Q1")[0] is None


def test_hops_have_to_grow_modestly() -> None:
    def curve(*hops: float) -> list[VariantResult]:
        return [quasar(1024 << n, 100.0, last_hop=each) for n, each in enumerate(hops)]

    assert verdict("Q2", *curve(15.5, 17, 19)) == (True, "")
    assert verdict("Q2", *curve(19, 17))[0] is False
    assert verdict("Q2", *curve(15, 31))[0] is False
    assert verdict("Q2", *curve(6, 8))[0] is False
    assert verdict("Q2", *curve(16))[0] is None


def test_filters_and_their_false_positives_have_bounds() -> None:
    assert verdict("Q3", quasar(1024, None, filter_bytes_max=21504.0)) == (True, "")
    assert verdict("Q3", quasar(1024, None, filter_bytes_max=23040.0))[0] is False
    rare = quasar(1024, None, gradients_false=0.004, gradients_recovered=1.0)
    assert verdict("Q4", rare) == (True, "")
    lost = quasar(1024, None, gradients_false=0.004, gradients_recovered=0.4)
    holds, why = verdict("Q4", lost)
    assert holds is False and "40%" in why
    assert verdict("Q4", quasar(1024, None, gradients_false=0.02, gradients_recovered=1.0))[0] is False


def test_coverage_has_to_vary_less_in_larger_groups() -> None:
    def curve(first: float, last: float) -> list[VariantResult]:
        return [quasar(1024, 0.02, coverage_sd=first), quasar(8192, 0.02, coverage_sd=last)]

    assert verdict("Q5", *curve(0.03, 0.01)) == (True, "")
    assert verdict("Q5", *curve(0.01, 0.03))[0] is False


def test_opt_has_to_miss_events_that_vitis_and_rvr_deliver_faster() -> None:
    def run(opt_hit: float, **vitis: float) -> list[VariantResult]:
        found = []
        for degree in (15, 35):
            of_vitis = {
                "hit_ratio": 1.0,
                "hit_ratio_by_topic": 1.0,
                "overhead": 0.2,
                "delay_hops": 2.0,
            } | vitis
            found.append(twitter("vitis", degree, **of_vitis))
            found.append(
                twitter("rvr", degree, hit_ratio=1.0, hit_ratio_by_topic=1.0, overhead=0.4, delay_hops=3.0)
            )
        found.append(twitter("opt", 15, hit_ratio=0.5, hit_ratio_by_topic=0.2, delay_hops=4.0))
        found.append(twitter("opt", 35, hit_ratio=opt_hit, hit_ratio_by_topic=0.3, delay_hops=4.0))
        return found

    assert verdict("V7", *run(0.75)) == (True, "")
    holds, why = verdict("V7", *run(0.87))
    assert holds is True and "87%" in why
    assert verdict("V7", *run(1.0))[0] is False
    assert verdict("V7", *run(0.75, hit_ratio=0.99))[0] is False
    assert verdict("V7", *run(0.75, overhead=0.5))[0] is False
    assert verdict("V7", *run(0.75, delay_hops=5.0))[0] is False
    assert verdict("V7", *run(0.75)[:3])[0] is None


def test_unbounded_degrees_have_to_be_large() -> None:
    measures = {"hit_ratio": 1.0, "neighbours": 20.0, "neighbours_max": 700.0, "neighbours_above_200": 0.003}
    assert verdict("V8", twitter("opt", 0, neighbours_above_15=0.7, **measures)) == (True, "")
    holds, why = verdict("V8", twitter("opt", 0, neighbours_above_15=0.15, **measures))
    assert holds is False and "15%" in why
