"""Claims hold, do not hold, or cannot be told."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from analysis.claims.papers import CLAIMS, judge
from analysis.measures.clusters import count_clusters
from analysis.measures.variants import VariantResult, estimate


def variant(
    system: str,
    pattern: str = "high",
    *,
    friends: int = 12,
    table: int = 15,
    alpha: float | None = None,
    churn: str = "static",
    **measures: float,
) -> VariantResult:
    parameters = {"routing_table": table} | ({"friends": friends} if system == "vitis" else {})
    rates: dict[str, Any] = {"kind": "power-law", "alpha": alpha} if alpha else {"kind": "uniform"}
    setting = {
        "system": {"name": system, "parameters": parameters},
        "workload": {"subscriptions": {"kind": pattern}, "publications": {"rates": rates}},
        "churn": {"model": {"kind": churn}, "flash_crowd": None},
        "seed": 1,
    }
    name = f"{system}.{pattern}.{friends}.{table}.{alpha}"
    trials: dict[int, Any] = {1: measures, 2: measures}
    return VariantResult(name, {}, setting, {k: estimate([v, v]) for k, v in measures.items()}, trials)


def verdict(name: str, *variants: VariantResult) -> tuple[bool | None, str]:
    (found,) = judge([name], variants)
    return found.holds, found.why


def test_full_hit_ratio_admits_no_loss() -> None:
    vitis = variant("vitis", hit_ratio=1.0)
    assert verdict("V1", vitis, variant("rvr", hit_ratio=1.0)) == (True, "")
    holds, why = verdict("V1", vitis, variant("rvr", hit_ratio=0.9999))
    assert holds is False and "99.99" in why


def test_overhead_must_be_saved_most_with_high_correlation() -> None:
    rvr = [variant("rvr", p, overhead=0.6) for p in ("high", "random")]
    few = variant("vitis", "high", friends=4, overhead=0.9)
    good = [variant("vitis", "high", overhead=0.06), variant("vitis", "random", overhead=0.12)]
    assert verdict("V2", *rvr, *good, few) == (True, "")
    (found,) = judge(["V2"], [*rvr, *good])
    assert found.measured["saving, high"]["mean"] == pytest.approx(0.9)
    bad = [variant("vitis", "high", overhead=0.3), variant("vitis", "random", overhead=0.12)]
    assert verdict("V2", *rvr, *bad) == (False, "the saving is largest with random correlation")
    assert verdict("V10", *rvr, *good)[0] is True


def test_delay_falls_with_friends_but_rises_for_random_subscriptions() -> None:
    def curve(pattern: str, first: float, last: float) -> list[VariantResult]:
        delays = ((2, first), (12, last))
        return [variant("vitis", pattern, friends=f, delay_hops=d) for f, d in delays]

    assert verdict("V3", *curve("high", 5, 3), *curve("random", 5, 6)) == (True, "")
    assert verdict("V3", *curve("high", 5, 3), *curve("random", 6, 5))[0] is False


def test_loaded_peers_are_compared_with_a_third() -> None:
    rvr = variant("rvr", overhead_above_20=0.9)
    assert verdict("V4", variant("vitis", overhead_above_20=0.29), rvr)[0] is True
    assert verdict("V4", variant("vitis", overhead_above_20=0.31), rvr)[0] is False


def test_larger_tables_lower_both_and_vitis_overtakes() -> None:
    def curve(system: str, last_delay: float) -> list[VariantResult]:
        sizes = ((15, 0.5, 6.0), (35, 0.4, last_delay))
        return [
            variant(system, "random", table=t, friends=t - 3, overhead=o, delay_hops=d) for t, o, d in sizes
        ]

    assert verdict("V5", *curve("vitis", 3.0), *curve("rvr", 4.0)) == (True, "")
    assert verdict("V5", *curve("vitis", 5.0), *curve("rvr", 4.0))[0] is False


def test_skewed_rates_close_the_gap() -> None:
    def curve(pattern: str, first: float, last: float) -> list[VariantResult]:
        values = ((0.3, first), (3.0, last))
        return [variant("vitis", pattern, alpha=a, overhead=v, delay_hops=v) for a, v in values]

    assert verdict("V6", *curve("high", 0.1, 0.1), *curve("random", 0.4, 0.15)) == (True, "")
    assert verdict("V6", *curve("high", 0.1, 0.1), *curve("random", 0.4, 0.5))[0] is False


def test_churn_asks_for_the_worst_interval() -> None:
    def pair(vitis: float, rvr: float) -> list[VariantResult]:
        lowest = {"vitis": vitis, "rvr": rvr}
        return [
            variant(s, churn="skype", hit_ratio=1.0, hit_ratio_lowest=value) for s, value in lowest.items()
        ]

    assert verdict("V9", *pair(0.995, 0.87)) == (True, "")
    assert verdict("V9", *pair(0.98, 0.87))[0] is False


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_without_its_variants_cannot_be_told(name: str) -> None:
    holds, why = verdict(name, variant("vitis", hit_ratio=1.0))
    assert holds is None and why.startswith("the run has no")


def test_unknown_claim_is_named() -> None:
    assert verdict("V77")[0] is None


def test_interval_is_students() -> None:
    found = estimate([1.0, 2.0, 3.0])
    assert (found.mean, found.n) == (2.0, 3)
    assert found.ci95 == pytest.approx(4.302653 / 3**0.5)
    assert estimate([1.0]).ci95 is None


def test_clusters_are_components_of_each_topic() -> None:
    members = [(7, 1), (7, 2), (7, 3), (8, 1), (8, 2), (8, 2), (9, 4)]
    topic, peer = zip(*members, strict=True)
    links = pa.table({"peer": [2, 2, 3, 4, 5], "neighbour": [1, 1, 4, 2, 1]})
    found = count_clusters(pa.table({"trial": ["t"] * len(members), "topic": topic, "peer": peer}), links)
    assert found.to_pylist() == [
        {"trial": "t", "topic": 7, "subscribers": 3, "clusters": 2, "largest": 2},
        {"trial": "t", "topic": 8, "subscribers": 2, "clusters": 1, "largest": 2},
        {"trial": "t", "topic": 9, "subscribers": 1, "clusters": 1, "largest": 1},
    ]


def li(
    peers: int = 1000, probing: str = "multicast", cut_off: float = 0.1, **measures: float
) -> VariantResult:
    setting = {
        "system": {"name": "li", "parameters": {"probing": probing, "cut_off": cut_off}},
        "peers": peers,
        "churn": {"model": {"kind": "static"}, "flash_crowd": None},
        "seed": 1,
    }
    trials: dict[int, Any] = {1: measures}
    return VariantResult(
        f"li.{peers}.{probing}.{cut_off}",
        {},
        setting,
        {k: estimate([v]) for k, v in measures.items()},
        trials,
    )


def test_times_of_installing_and_delivery_are_about_the_thesiss() -> None:
    good = li(install_delay_ms=330, install_within_600_ms=0.68, install_within_1_s=0.9)
    small = li(200, install_delay_ms=900, install_within_600_ms=0.1, install_within_1_s=0.2)
    unicast = li(probing="unicast", install_delay_ms=900, install_within_600_ms=0.1, install_within_1_s=0.2)
    assert verdict("L1", small, good, unicast) == (True, "")
    assert verdict("L1", small)[0] is False, "the size nearest to the thesis's is judged"
    assert verdict("L3", li(delay_ms=333, delay_within_400_ms=0.7, delay_within_1_s=0.95)) == (True, "")
    assert verdict("L3", li(delay_ms=333, delay_within_400_ms=0.7, delay_within_1_s=0.9))[0] is False
    assert verdict("L3", li(delay_ms=333))[0] is None


def test_bytes_are_compared_with_their_mean() -> None:
    names = ("install_bytes_per_subscription_and_node", "install_bytes_p78", "install_bytes_p98")
    assert verdict("L2", li(**dict(zip(names, (100, 140, 420), strict=True)))) == (True, "")
    holds, why = verdict("L2", li(**dict(zip(names, (100, 140, 700), strict=True))))
    assert holds is False and "7.0 instead of 4.2 times the mean" in why
    publish = (
        "publish_bytes_per_event_and_node",
        "publish_bytes_p70",
        "publish_bytes_p90",
        "publish_bytes_max",
    )
    assert verdict("L4", li(**dict(zip(publish, (1.0, 1.2, 2.2, 8.0), strict=True))))[0] is True
    assert verdict("L4", li(**dict(zip(publish, (1.0, 1.2, 2.2, 10.0), strict=True))))[0] is False


def matching(mean: float, highest: float, p70: float = 1.0, top: float = 1.0) -> dict[str, float]:
    return {
        "matching_bytes_per_event_and_node": mean,
        "matching_bytes_max": highest,
        "matching_bytes_p70": p70,
        "matching_bytes_top_20": top,
    }


def test_multicast_and_cut_off_are_compared_with_what_is_else_the_same() -> None:
    unicast = li(probing="unicast", **matching(1.5, 12, 1.4))
    elsewhere = li(2000, probing="unicast", **matching(0.1, 1, 0.1))
    assert verdict("L5", li(**matching(1.0, 9, 1.1)), unicast, elsewhere) == (True, "")
    assert verdict("L5", li(**matching(1.0, 13, 1.1)), unicast)[0] is False
    without = li(cut_off=0, **matching(2.0, 12, top=10))
    assert verdict("L6", li(**matching(1.0, 9, top=5)), without) == (True, "")
    assert verdict("L6", li(**matching(1.0, 9, top=9.5)), without)[0] is False
    assert verdict("L6", li(**matching(1.0, 9)), unicast)[0] is None


def test_scaling_looks_at_both_ends() -> None:
    def at(peers: int, delay: float, longest: float, mean: float, most: float) -> VariantResult:
        names = ("delay_ms", "delay_ms_max", "publish_bytes_per_event_and_node", "publish_bytes_max")
        return li(peers, **dict(zip(names, (delay, longest, mean, most), strict=True)))

    small = at(1000, 330, 1600, 1.3, 10)
    assert verdict("L7", at(5000, 430, 1800, 1.2, 15), small, at(3000, 999, 999, 9, 9)) == (True, "")
    assert verdict("L7", at(5000, 900, 1800, 1.2, 15), small)[0] is False
    assert verdict("L7", at(5000, 430, 1800, 1.4, 15), small)[0] is False


def pastry(peers: int = 1000, churn: str = "static", **measures: float) -> VariantResult:
    setting = {
        "system": {"name": "pastry", "parameters": {"digit_bits": 4}},
        "peers": peers,
        "churn": {"model": {"kind": churn}, "flash_crowd": None},
    }
    found = {k: estimate([v]) for k, v in measures.items()}
    return VariantResult(f"pastry.{peers}", {}, setting, found, {1: dict(measures)})


def test_hops_are_compared_with_the_logarithm() -> None:
    good = [pastry(256, lookup_hops=2.1, lookup_hops_p99=2), pastry(lookup_hops=2.6, lookup_hops_p99=3)]
    assert verdict("P1", *good) == (True, "")
    holds, why = verdict("P1", *good, pastry(4096, lookup_hops=3.2, lookup_hops_p99=4))
    assert holds is False and "pastry.4096 takes 3.20 hops, the logarithm is 3.00" in why
    assert not verdict("P1", pastry(lookup_hops=2.4, lookup_hops_p99=4))[0]


def test_penalty_and_success_have_their_limits() -> None:
    def penalty(value: float) -> VariantResult:
        return pastry(delay_penalty=value, delay_penalty_mean=2.0)

    assert verdict("P2", penalty(1.4)) == (True, "")
    assert verdict("P2", penalty(1.45)) == (True, "1.45 at pastry.1000 is within 1.5, not 1.4")
    assert verdict("P2", penalty(1.51))[0] is False

    def churning(success: float) -> VariantResult:
        return pastry(churn="skype", lookup_delivered=1.0, lookup_success=success)

    assert verdict("P3", churning(0.9991)) == (True, "")
    assert verdict("P3", churning(0.998))[0] is False
