"""Failing trials of campaigns are made smaller, step by step."""

from __future__ import annotations

import pytest

from emulator.files.quantities import parse_duration
from trellis.campaign.cuts import Values, cuts
from trellis.campaign.shrinking import shrink

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

    left = shrink(VALUES, fails, 500, lambda word: None).values
    assert left["peers"] == 7 and left["faults"] == [{"name": "two"}]
    assert left["attackers"] is None and left["network"] == {"loss": 0.0, "jitter": "0 s"}
    assert left["churn"] == {"model": {"kind": "static"}, "crash": None}
    assert left["workload"]["publications"]["events"] == 1
    assert left["phases"]["measure"] == "1 s"
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

    left = shrink(values, fails, 500, lambda word: None).values
    assert [fault["for"] for fault in left["faults"]] == ["7.5 s", None]
    assert left["attackers"] == {"share": None, "number": 1}
    assert left["workload"]["broadcast"]["rate"] == 1.0
    assert left["workload"]["values"] == {"count": 25, "gets": 0.625, "updates": 0.0}
    counted = values | {"attackers": {"share": None, "number": 9}}
    assert shrink(counted, fails, 500, lambda word: None).values["attackers"] == {"share": None, "number": 1}


def test_each_of_two_groups_between_which_a_fault_holds_is_halved() -> None:
    links = {"between": [{"number": 9, "share": None}, {"share": 0.5, "number": None}, "eu"], "loss": 1.0}
    values: Values = {"peers": 20, "faults": [{"name": "cut", "links": links}], "phases": VALUES["phases"]}

    def fails(smaller: Values) -> bool:
        faults = smaller["faults"]
        return smaller["peers"] == 20 and len(faults) == 1 and faults[0]["links"]["between"][0]["number"] >= 4

    left = shrink(values, fails, 500, lambda word: None).values["faults"][0]["links"]["between"]
    assert left == [{"number": 4, "share": None}, {"share": None, "number": 1}, "eu"]


@pytest.mark.parametrize("kind", ["partition", "links", "pause", "crash", "clock"])
def test_a_fault_hits_no_more_peers_than_a_failure_needs(kind: str) -> None:
    faults = [
        {"name": "some", kind: {"share": 0.5, "number": None, "loss": 0.5}},
        {"name": "few", kind: {"share": None, "number": 9, "loss": 0.5}},
    ]
    values: Values = {"peers": 20, "faults": faults, "phases": VALUES["phases"]}

    def fails(smaller: Values) -> bool:
        faults = smaller["faults"]
        return smaller["peers"] == 20 and len(faults) == 2 and faults[0][kind]["number"] != 2

    some, few = shrink(values, fails, 500, lambda word: None).values["faults"]
    assert some[kind] == {"share": None, "number": 5, "loss": 0.5}
    assert few[kind] == {"share": None, "number": 1, "loss": 0.5}
    words = [cut.word for cut in cuts(values, True)]
    assert f"the fault some {kind} number 5" in words and f"the fault few {kind} number 4" in words


def test_a_fault_of_links_keeps_only_the_parts_that_a_failure_needs() -> None:
    links = {"number": 1, "delay": "200 ms", "loss": 0.1, "duplicate": 0.5, "corrupt": 0.2, "bandwidth": {}}
    values: Values = {
        "peers": 2,
        "faults": [{"name": "bad", "links": links}],
        "phases": VALUES["phases"],
    }

    def fails(smaller: Values) -> bool:
        return bool(smaller["faults"]) and smaller["faults"][0]["links"]["duplicate"] > 0

    told: list[str] = []
    (bad,) = shrink(values, fails, 500, told.append).values["faults"]
    nothing = {"delay": "0 s", "loss": 0.0, "corrupt": 0.0, "bandwidth": None}
    assert bad["links"] == {"number": 1, "duplicate": 0.5} | nothing
    assert [word for word in told if "bad" in word] == [f"the fault bad without {part}" for part in nothing]


def test_what_every_part_is_needed_for_stays_and_a_budget_is_kept() -> None:
    tried: list[Values] = []

    def fails(values: Values) -> bool:
        tried.append(values)
        return {**values, "seed": 1} == {**VALUES, "seed": 1}

    found = shrink(VALUES, fails, 500, lambda word: None)
    assert found.values == VALUES and found.is_least
    assert found.tried == len(tried) == len({str(values) for values in tried}), "each is tried once"
    ended = shrink(VALUES, lambda values: True, 3, lambda word: None)
    assert ended.values["faults"] == [] and ended.tried == 3 and not ended.is_least


def test_the_largest_cuts_come_first() -> None:
    words = [cut.word for cut in cuts(VALUES, True)]
    large = ["without the faults one, two, three", "12 peers", "25 peers", "workload.publications.events 50"]
    large += ["measure 30 s", "without attackers, churn.crash, churn.model, network.loss, network.jitter"]
    places = [words.index(word) for word in large]
    assert places == sorted(places)
    assert max(places) < words.index("40 peers") < words.index("49 peers") < words.index("settle 15 s")


def test_a_cut_that_was_not_possible_is_not_tried_again_before_the_others() -> None:
    told: list[tuple[int, bool]] = []

    def fails(values: Values) -> bool:
        told.append((values["seed"], len(values["faults"]) == 3))
        return len(values["faults"]) == 3 and values["peers"] > 20

    shrink(VALUES, fails, 500, lambda word: None)
    first = [three for seed, three in told if seed == 1]
    assert first.count(False) <= 10, "each of five cuts in the first and the last round"


def test_a_trial_that_cannot_be_costs_nothing() -> None:
    found = shrink(VALUES, lambda values: None, 1, lambda word: None)
    assert found.values == VALUES and found.tried == 0 and found.is_least


def test_times_and_shares_become_round_where_the_failure_allows_it() -> None:
    faults = [
        {"name": "cut", "at": "53.571 s", "for": "12.5 s", "partition": {"share": 0.437812}},
        {"name": "stop", "at": "117 s", "for": "250 ms", "pause": {"number": 1, "share": None}},
    ]
    values: Values = {"peers": 2, "faults": faults, "phases": dict.fromkeys(VALUES["phases"], "1 s")}

    def fails(smaller: Values) -> bool:
        faults = smaller["faults"]
        return len(faults) == 2 and parse_duration(faults[0]["at"]) > 52 and faults[0]["for"] == "12.5 s"

    cut, stop = shrink(values, fails, 500, lambda word: None).values["faults"]
    assert cut == {"name": "cut", "at": "53 s", "for": "12.5 s", "partition": {"share": 0.4}}
    assert stop == faults[1]


def test_phases_before_the_measure_phase_stay_where_an_early_failure_cannot_be_told() -> None:
    found = shrink(VALUES, lambda values: True, 500, lambda word: None, settles_less=False).values
    assert found["phases"]["join"] == "10 s" and found["phases"]["settle"] == "30 s"
    assert parse_duration(found["phases"]["measure"]) < 2 > parse_duration(found["phases"]["drain"])
