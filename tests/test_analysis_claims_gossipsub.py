"""The claims about attacks on GossipSub compare v1.0 and v1.1 under the same attack."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.claims.papers import judge
from analysis.measures.variant_results import VariantResult, estimate

CENSOR = {"kind": "mesh-sybil", "target": 3, "publisher": 3}
SYBILS = {"kind": "mesh-sybil", "target": None, "publisher": None}
ATTACKS: dict[str, dict[str, Any]] = {
    "G7": {"number": 2000, "at": "60 s", "behaviour": CENSOR},
    "G8": {"number": 4000, "at": "0 s", "behaviour": SYBILS},
    "G9": {"number": 4000, "at": "100 s", "behaviour": SYBILS},
}


def attacked(name: str, version: str, hit_ratio: float, delay_ms: float) -> VariantResult:
    """Return a variant of a version under the attack that a claim is about, in the report's setting."""
    measures: dict[str, float | None] = {"hit_ratio": hit_ratio, "delay_ms": delay_ms}
    setting = {
        "system": {"name": "gossipsub", "parameters": {"version": version}},
        "peers": 3000 if name == "G7" else 5000,
        "attackers": ATTACKS[name],
    }
    found = {measure: estimate([value]) for measure, value in measures.items() if value is not None}
    return VariantResult(f"{name}.{version}", {}, setting, found, {1: measures})


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_has_to_cost_the_older_version_messages_and_time(name: str) -> None:
    new = attacked(name, "1.1", 1.0, 200)
    (found,) = judge([name], [attacked(name, "1.0", 0.9, 300), new])
    assert (found.outcome, found.why) == ("yes", "")
    for hit_ratio, delay_ms in ((1.0, 300), (0.9, 200)):
        (found,) = judge([name], [attacked(name, "1.0", hit_ratio, delay_ms), new])
        assert found.outcome == "no" and "with v1.0 to that with v1.1 1 times instead of" in found.why


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_must_not_cost_the_newer_version_anything(name: str) -> None:
    variants = [attacked(name, "1.0", 0.9, 300), attacked(name, "1.1", 0.999, 200)]
    (found,) = judge([name], variants)
    assert found.outcome == "no"
    assert found.why == "missed: hit ratio with v1.1 99.9 % instead of at least 100 %"


def large(version: str, copies: float, over: float) -> VariantResult:
    """Return a variant with messages of 128 kB over links of 50 Mbit/s, in which v1.2 knows its link."""
    parameters = {"version": version, "uplink": "50 Mbit/s" if version == "1.2" else "0 bit/s"}
    setting = {
        "system": {"name": "gossipsub", "parameters": parameters},
        "peers": 1000,
        "network": {"bandwidth": {"up": "50 Mbit/s"}},
        "workload": {"publications": {"payload_bytes": 128_000}},
    }
    measures: dict[str, float | None] = {"copies_per_delivery": copies, "mesh_copies_over_degree": over}
    found = {measure: estimate([value]) for measure, value in measures.items() if value is not None}
    return VariantResult(version, {}, setting, found, {1: measures})


@pytest.mark.parametrize(("over", "outcome"), [(0.25, "yes"), (0.26, "no"), (-0.02, "no")])
def test_large_messages_have_copies_beyond_the_degree_up_to_a_quarter_and_only_without_idontwant(
    over: float, outcome: str
) -> None:
    (found,) = judge(["G3"], [large("1.1", 8.2, over), large("1.2", 5.74, -2.5)])
    assert found.outcome == outcome
    assert [list(number.measured) for number in found.numbers] == [["1.2 to 1.1"], ["1.1"]]


def meshes(low: int, high: int, smallest: list[int], largest: int) -> VariantResult:
    """Return a variant with these bounds of a mesh, whose trials have these smallest meshes."""
    parameters = {"version": "1.1", "degree_low": low, "degree_high": high}
    trials: dict[int, dict[str, float | None]] = {
        seed: {
            "mesh_one_end_lasting": 0,
            "mesh_degree_min_free": size,
            "mesh_degree_max_settled": largest,
            "mesh_copies_over_degree": 0.03,
        }
        for seed, size in enumerate(smallest)
    }
    setting = {"system": {"name": "gossipsub", "parameters": parameters}, "peers": 1000}
    return VariantResult("1.1", {}, setting, {"hit_ratio": estimate([1.0])}, trials)


@pytest.mark.parametrize(
    ("low", "smallest", "largest", "why"),
    [
        (6, [6, 6], 12, ""),
        (4, [4, 8], 12, ""),
        (6, [5, 8], 12, "missed: members of the smallest mesh with a free neighbour, beyond D_low -1 peers"),
        (6, [6, 6], 13, "missed: members that the largest mesh has less than D_high -1 peers"),
    ],
)
def test_the_meshes_of_each_trial_have_the_bounds_of_their_variant(
    low: int, smallest: list[int], largest: int, why: str
) -> None:
    (found,) = judge(["G1"], [meshes(low, 12, smallest, largest)])
    assert (found.outcome, found.why) == (
        ("no", f"{why} instead of at least 0 peers") if why else ("yes", "")
    )


def test_each_claim_is_about_its_own_attack() -> None:
    variants = [attacked(name, version, 1.0, 200) for name in ATTACKS for version in ("1.0", "1.1")]
    for name in ATTACKS:
        (found,) = judge([name], variants)
        assert [list(number.measured) for number in found.numbers] == [
            [f"{name}.1.1"],
            *[[f"{name}.1.0 to {name}.1.1"]] * 2,
        ]
    (eclipse,) = judge(["G6"], variants)
    assert eclipse.why.startswith("the run has no"), "a censor is no eclipse"


def test_the_number_of_one_measure_has_its_bounds_for_figures() -> None:
    (found,) = judge(["G7"], [attacked("G7", "1.0", 0.9, 300), attacked("G7", "1.1", 1.0, 200)])
    assert [(number.measure, number.low) for number in found.numbers] == [
        ("hit_ratio", 1.0),
        ("", None),
        ("", None),
    ]
