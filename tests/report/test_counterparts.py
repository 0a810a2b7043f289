"""The variants that are set beside each other, where keys are varied together or systems have parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.chosen_events import _rivals
from analysis.charts.results import Results
from analysis.report.between import pairings
from analysis.report.counterparts import counterparts, without_counterpart
from analysis.report.outcome import outcome, verb
from emulator.experiment.run.directory import RunDirectory

OWN = [("vitis", {}), ("opt", {}), ("gossipsub", {"topic_discovery": True})]


def results_of(vary: Mapping[str, Sequence[Any]], *values: Mapping[str, Any]) -> Results:
    """Return results of variants with these values, each with one trial of seed 1."""
    variants = [{"variant": f"v{i}", "values": each, "measures": {}} for i, each in enumerate(values)]
    trials = [
        {**each, "trial": f"{each['variant']}-1", "seed": 1, "valid": True, "measures": {"hit_ratio": 0.5}}
        for each in variants
    ]
    about = {"hit_ratio": {"title": "hit ratio", "unit": "share", "better": "higher"}}
    summary = {"variants": variants, "trials": trials, "measures": about}
    return Results(RunDirectory(Path("run")), summary, {"vary": vary})


def paired(results: Results, key: str, base: str | None = None) -> list[tuple[str, str, str]]:
    return [(*each.names, each.setting) for each in counterparts(results, key, base)]


def of_systems(churns: Sequence[Any] = ({},)) -> Results:
    vary = {"system.name, system.parameters": OWN, "churn": churns}
    values = [
        {"system.name": name, "system.parameters": parameters, "churn": churn}
        for name, parameters in OWN
        for churn in churns
    ]
    return results_of(vary, *values)


def test_a_system_with_parameters_of_its_own_is_compared_as_those_without_are() -> None:
    churns: list[Any] = [{}, {"model": {"kind": "skype"}}]
    assert paired(of_systems(churns), "system.name") == [
        ("vitis", other, setting) for setting in ("no churn", "skype") for other in ("opt", "gossipsub")
    ]


def test_whether_parameters_count_is_decided_pair_by_pair() -> None:
    degrees = [
        ("vitis", {"d": 1}),
        ("vitis", {"d": 2}),
        ("opt", {"d": 1}),
        ("opt", {"d": 2}),
        ("rvr", {"x": 3}),
    ]
    found = results_of(
        {"system.name, system.parameters": degrees},
        *({"system.name": name, "system.parameters": of} for name, of in degrees),
    )
    assert paired(found, "system.name") == [
        ("vitis", "opt", "d 1"),
        ("vitis, d 1", "rvr, x 3", ""),
        ("vitis", "opt", "d 2"),
    ]


def test_the_same_event_is_drawn_in_a_system_with_parameters_of_its_own() -> None:
    found = of_systems()
    assert [each["trial"] for each in _rivals(found, found.trials[2])] == ["v0-1"]
    assert [each["trial"] for each in _rivals(found, found.trials[0])] == ["v1-1"]


TOGETHER = {
    "system.parameters, network.bandwidth": [[{"d": 1}, {"up": "2 Mbit/s"}], [{"d": 3}, {"up": "4 Mbit/s"}]]
}


def test_keys_that_are_varied_together_are_one_thing_to_compare_by() -> None:
    values = [
        {"system.parameters": one, "network.bandwidth": two, "peers": peers}
        for one, two in TOGETHER["system.parameters, network.bandwidth"]
        for peers in (10, 20)
    ]
    found = results_of({**TOGETHER, "peers": [10, 20]}, *values)
    names = "d 1, up 2 Mbit/s", "d 3, up 4 Mbit/s"
    for key in ("system.parameters", "network.bandwidth"):
        assert paired(found, key) == [(*names, "peers 10"), (*names, "peers 20")]
    assert paired(found, "peers")[0] == ("10", "20", "d 1, up 2 Mbit/s")
    assert paired(found, "network.bandwidth", "d 3, up 4 Mbit/s")[0] == (*names[::-1], "peers 10")


def test_what_shares_a_value_with_the_first_is_compared_all_the_same() -> None:
    dark = [{"name": "dark"}]
    found = results_of(
        {"churn, faults": [[{}, []], [{"model": {"kind": "skype"}}, []], [{}, dark]]},
        {"churn": {}, "faults": []},
        {"churn": {"model": {"kind": "skype"}}, "faults": []},
        {"churn": {}, "faults": dark},
    )
    assert [others for _, others, _ in paired(found, "churn")] == ["skype, no faults", "no churn, dark"]


def test_each_variant_without_a_counterpart_is_named_in_the_head() -> None:
    found = results_of(
        {},
        {"system.name": "vitis", "peers": 10},
        {"system.name": "opt", "peers": 10},
        {"system.name": "opt", "peers": 20},
    )
    pairs = [pair.variants for pair in pairings(found, "system.name")]
    assert without_counterpart(found, pairs) == ["opt, peers 20"]
    told = "Without a counterpart that differs in system alone: opt, peers 20."
    assert told in outcome(found, []).sentences


def test_the_head_says_how_many_comparisons_it_leaves_out() -> None:
    found = results_of({}, *({"peers": count} for count in range(10, 17)))
    rows = [[("hit_ratio", "hit ratio", "%", [""] * 7)]]
    said = outcome(found, rows).comparisons
    assert len(said) == 5 and said[-1] == "2 more are compared by the command below."


@pytest.mark.parametrize("value", [{}, None])
def test_what_is_compared_has_a_name(value: Any) -> None:
    found = results_of({}, {"system.parameters": value}, {"system.parameters": {"d": 1}})
    assert paired(found, "system.parameters")[0][0].strip()


def test_an_extreme_that_several_variants_have_is_not_that_of_one() -> None:
    found = results_of({}, *({"peers": count} for count in (10, 20, 30)))
    for variant, mean in zip(found.variants, (0.5, 0.5, 1.0), strict=True):
        variant["measures"]["hit_ratio"] = {"mean": mean, "n": 1}
    said = outcome(found, [[("hit_ratio", "hit ratio", "%", [""] * 3)]]).ranges["hit_ratio"]
    assert "(2 variants)" in said and "(peers 30)" in said


@pytest.mark.parametrize(
    ("title", "word"),
    [("Control messages", "are"), ("Delay in hops", "is"), ("Messages per lookup", "are"), ("Loss", "is")],
)
def test_a_measure_of_several_things_has_the_plural(title: str, word: str) -> None:
    assert verb(title) == word
