"""Groups of peers between which messages are stopped or hit: drawn, listed, by role and by region."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from faults_by_hand import fault
from runtime_diary import diary_spec
from test_network_regions import THREE

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import SECOND, Plan
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.runtime.plan_script import faults_hit, network_faults, second_sides
from trellis.v1 import control_pb2

PEERS = 20
WORKLOAD: dict[str, Any] = {
    "subscriptions": {"kind": "random", "topics": 10, "per_peer": 5, "buckets": 1},
    "publications": {"events": 1, "publisher": "any"},
    "roles": {"publisher": 4},
}
GROUPS: dict[str, Any] = {
    "share": {"share": 0.3},
    "number": {"number": 5},
    "peers": {"peers": [3, 4, 9]},
    "role": {"role": "publisher"},
    "region": {"region": "asia"},
    "regions": {"region": ["asia", "us"]},
}


def spec(peers: int = PEERS, **what: Any) -> TrialSpec:
    return diary_spec(peers, network={"latency": THREE}, workload=WORKLOAD, faults=[fault(**what)])


def between(one: Any, other: Any, **more: Any) -> TrialSpec:
    return spec(links={"between": [one, other], "loss": 1.0, **more})


def stopped(asked: TrialSpec) -> set[tuple[int, int]]:
    """Return sender and receiver of each message that the fault makes vanish."""
    faults = network_faults(asked, draw_plan(asked))
    assert faults is not None
    pairs = ((one, other) for one in range(asked.peers) for other in range(asked.peers) if one != other)
    return {pair for pair in pairs if faults.becomes(*pair, 3.0, Random(1)).stopped_by}


def sides(asked: TrialSpec) -> tuple[set[int], set[int]]:
    plan = draw_plan(asked)
    (hit,), (second,) = faults_hit(asked, plan), second_sides(asked, plan)
    return set(hit) - set(second), set(second)


@pytest.mark.parametrize("way", ["both", "out", "in"])
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_a_partition_parts_a_group_from_all_others_each_way(group: dict[str, Any], way: str) -> None:
    asked = spec(partition={**group, "way": way})
    (inside,) = (set(hit) for hit in faults_hit(asked, draw_plan(asked)))
    outside = set(range(PEERS)) - inside
    out = {(one, other) for one in inside for other in outside}
    into = {(other, one) for one, other in out}
    assert inside and outside
    assert stopped(asked) == {"both": out | into, "out": out, "in": into}[way]


@pytest.mark.parametrize("way", ["both", "out", "in", None])
@pytest.mark.parametrize("other", [{"number": 6}, {"region": "eu"}, "eu"], ids=["drawn", "region", "name"])
@pytest.mark.parametrize("group", ["asia", *islice(GROUPS.values(), 3)], ids=["name", *islice(GROUPS, 3)])
def test_worse_links_hold_between_two_groups_each_way_and_for_nobody_else(
    group: Any, other: Any, way: str | None
) -> None:
    if group == GROUPS["peers"]:
        regions = draw_plan(spec(pause={"number": 1})).peers["region"].to_pylist()
        group = {"peers": [peer for peer in range(PEERS) if regions[peer] != "eu"][:3]}
    asked = between(group, other, **({} if way is None else {"way": way}))
    first, second = sides(asked)
    out = {(one, two) for one in first for two in second}
    into = {(two, one) for one, two in out}
    assert first and second and not first & second
    assert stopped(asked) == {"both": out | into, "out": out, "in": into, None: out | into}[way]


@pytest.mark.parametrize("way", ["out", "in"])
def test_worse_links_of_one_group_hold_for_what_it_sends_or_for_what_it_is_sent(way: str) -> None:
    asked = spec(links={"peers": [1, 2], "loss": 1.0, "way": way})
    for sender, receiver in stopped(asked):
        assert (sender if way == "out" else receiver) in (1, 2)
    assert len(stopped(asked)) == 2 * (PEERS - 1)


def test_each_of_two_groups_has_the_peers_that_it_names_and_as_many_as_it_draws() -> None:
    first, second = sides(between({"share": 0.5}, {"share": 0.5}))
    assert len(first) == len(second) == 10 and first | second == set(range(PEERS))
    first, second = sides(between({"number": 17}, {"peers": [0, 7, 19]}))
    assert second == {0, 7, 19} and first == set(range(PEERS)) - second
    first, second = sides(between({"role": "publisher"}, {"number": 16}))
    assert len(first) == 4 and second == set(range(PEERS)) - first
    assert sides(between({"share": 0.5}, {"share": 0.5})) == sides(between({"share": 0.5}, {"share": 0.5}))


def test_a_plan_says_who_is_in_the_second_group_unless_regions_say_so(tmp_path: Path) -> None:
    named = between("eu", "us")
    assert draw_plan(named).faults.column_names == ["fault", "name", "peer"]
    again = between({"region": "eu"}, {"region": "us"})
    assert again.model_dump_json() == named.model_dump_json()
    assert json.loads(named.model_dump_json())["faults"][0]["links"]["between"] == ["eu", "us"]
    both = [
        fault("a", links={"between": ["eu", "us"], "delay": "1 s"}),
        fault("b", links={"between": [{"peers": [1, 5]}, {"peers": [3]}], "delay": "1 s"}),
        fault("c", pause={"peers": [2]}),
    ]
    asked = diary_spec(PEERS, network={"latency": THREE}, faults=both)
    plan = draw_plan(asked)
    plan.write(tmp_path)
    read = Plan.read(tmp_path)
    assert read.faults.column_names[-1] == SECOND.name
    us = [peer for peer, region in enumerate(plan.peers["region"].to_pylist()) if region == "us"]
    assert second_sides(asked, read) == [us, [3], []] and faults_hit(asked, read)[1:] == [[1, 3, 5], [2]]


def test_hosts_are_told_who_is_in_the_second_group() -> None:
    asked = between({"peers": [1]}, {"peers": [0, 2]})
    real = TrialSpec.model_validate(
        asked.model_dump(mode="json") | {"runtime": {"kind": "processes", "hosts": 1}}
    )
    coordinator = Coordinator(real, draw_plan(real), "groups", "groups-1")
    made = coordinator.register(control_pb2.Registration(host="host-0", address="127.0.0.1:1"), 0)
    assert [(list(hit.peers), list(hit.second)) for hit in made.faults] == [([0, 1, 2], [0, 2])]


@pytest.mark.parametrize(
    "links, key, words",
    [
        ({"between": [{"peers": [1, 2]}, {"peers": [2]}]}, "between", "peer 2 is in both groups"),
        ({"between": ["us", {"region": ["us", "asia"]}]}, "between", "is in both groups"),
        ({"between": [{"share": 0.7}, {"share": 0.4}]}, "between", "its two groups are 22 of 20 peers"),
        ({"between": [{"share": 0.01}, "eu"]}, "between.0.share", "is nobody"),
        ({"between": ["eu", {"peers": [20]}]}, "between.1.peers", "there is no peer 20"),
        ({"between": [{"number": 2}, "africa"]}, "between.1.region", 'no region "africa"'),
        ({"between": [{"number": 2, "share": 0.1}, "eu"]}, "between.0.share", "exactly one of"),
        ({"between": [{}, "eu"]}, "between.0.share", "exactly one of"),
        ({"between": ["eu", "us"], "number": 3}, "number", "`between` says already who"),
    ],
)
def test_groups_that_cannot_be_are_refused(links: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        draw_plan(spec(links={**links, "delay": "1 s"}))
    assert f"faults.0.links.{key}: " in str(error.value) and words in str(error.value)


def test_a_way_is_of_messages_and_not_of_rates() -> None:
    asked = diary_spec(
        4,
        network={"bandwidth": {"up": "10 Mbit/s"}},
        faults=[fault(links={"number": 1, "way": "out", "bandwidth": {"up": "1 Mbit/s"}})],
    )
    with pytest.raises(ValueError, match=r"faults\.0\.links\.way: rates of links have their own ways"):
        draw_plan(asked)
