"""Failing trials of campaigns are made smaller, step by step."""

from __future__ import annotations

from emulator.files.quantities import parse_duration
from trellis.campaign.shrinking import Values, shrink

VALUES: Values = {
    "peers": 50,
    "faults": [{"name": "one"}, {"name": "two"}, {"name": "three"}],
    "attackers": {"share": 0.1},
    "network": {"loss": 0.05, "jitter": "5 ms"},
    "churn": {"model": {"kind": "skype"}, "crash": {"at": "5 s", "share": 0.1}},
    "workload": {"publications": {"events": 100}},
    "phases": {"join": "10 s", "settle": "30 s", "measure": "60 s", "drain": "10 s"},
}


def test_nothing_is_left_that_a_failure_does_not_need() -> None:
    def fails(values: Values) -> bool:
        return values["peers"] >= 7 and any(fault["name"] == "two" for fault in values["faults"])

    left = shrink(VALUES, fails, 500, lambda word: None)
    assert left["peers"] == 7 and left["faults"] == [{"name": "two"}]
    assert left["attackers"] is None and left["network"] == {"loss": 0.0, "jitter": "0 s"}
    assert left["churn"] == {"model": {"kind": "static"}, "crash": None}
    assert left["workload"]["publications"]["events"] == 1
    assert left["phases"]["measure"] == "1.9 s" or left["phases"]["measure"] == "1.8 s"
    assert VALUES["peers"] == 50, "what was given is not changed"


def test_what_a_failure_needs_is_halved_as_far_as_it_goes() -> None:
    values: Values = {
        "peers": 40,
        "faults": [{"name": "cut", "for": "30 s"}, {"name": "gone", "for": None}],
        "attackers": {"share": 0.5, "number": None},
        "workload": {"broadcast": {"rate": 8.0}, "values": {"count": 100, "gets": 20.0, "updates": 0.0}},
        "phases": dict.fromkeys(("join", "settle", "measure", "drain"), "1 s"),
    }

    def fails(smaller: Values) -> bool:
        asked, faults = smaller["workload"]["values"], smaller["faults"]
        is_long = len(faults) == 2 and parse_duration(faults[0]["for"]) > 5
        return bool(smaller["peers"] == 40 and smaller["attackers"] and is_long and asked["count"] >= 25)

    left = shrink(values, fails, 500, lambda word: None)
    assert [fault["for"] for fault in left["faults"]] == ["7.5 s", None]
    assert round(40 * left["attackers"]["share"]) == 1
    assert left["workload"]["broadcast"]["rate"] == 1.0
    assert left["workload"]["values"] == {"count": 25, "gets": 0.625, "updates": 0.0}
    counted = values | {"attackers": {"share": None, "number": 9}}
    assert shrink(counted, fails, 500, lambda word: None)["attackers"] == {"share": None, "number": 1}


def test_each_of_two_groups_between_which_a_fault_holds_is_halved() -> None:
    links = {"between": [{"number": 9, "share": None}, {"share": 0.5, "number": None}, "eu"], "loss": 1.0}
    values: Values = {"peers": 20, "faults": [{"name": "cut", "links": links}], "phases": VALUES["phases"]}

    def fails(smaller: Values) -> bool:
        faults = smaller["faults"]
        return smaller["peers"] == 20 and len(faults) == 1 and faults[0]["links"]["between"][0]["number"] >= 4

    left = shrink(values, fails, 500, lambda word: None)["faults"][0]["links"]["between"]
    assert left == [{"number": 4, "share": None}, {"share": 0.0625, "number": None}, "eu"]


def test_what_every_part_is_needed_for_stays_and_a_budget_is_kept() -> None:
    tried: list[Values] = []

    def fails(values: Values) -> bool:
        tried.append(values)
        return {**values, "seed": 1} == {**VALUES, "seed": 1}

    assert shrink(VALUES, fails, 500, lambda word: None) == VALUES
    once = len(tried)
    assert shrink(VALUES, lambda values: True, 3, lambda word: None)["faults"] == []
    assert len(tried) == once
