"""Regions of the network: who is where, how far they are apart, and what faults can name them for."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults_by_hand import fault
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import PEERS, REGION, Plan
from emulator.network.build_network import build_network
from emulator.network.regions import Regions
from emulator.network.spec import NetworkSpec
from emulator.runtime.plan_script import faults_hit, network_of
from trellis.v1.pubsub import Pull

THREE: dict[str, Any] = {
    "kind": "regions",
    "regions": [
        {"name": "eu", "share": "50 %"},
        {"name": "us", "share": 0.3},
        {"name": "asia", "share": 0.2},
    ],
    "rtt": {
        "eu": {"eu": "10 ms", "us": "90 ms", "asia": "200 ms"},
        "us": {"us": "20 ms"},
        "asia": {"us": "150 ms", "asia": "30 ms"},
    },
}
WAYS = {("eu", "eu"): 10, ("us", "us"): 20, ("asia", "asia"): 30} | {
    pair: rtt
    for one, other, rtt in (("eu", "us", 90), ("eu", "asia", 200), ("us", "asia", 150))
    for pair in ((one, other), (other, one))
}


def spec(*faults: dict[str, Any], peers: int = 10, **latency: Any) -> TrialSpec:
    return diary_spec(peers, network={"latency": THREE | latency}, faults=list(faults))


def regions_of(asked: TrialSpec) -> list[str]:
    regions: list[str] = draw_plan(asked).peers["region"].to_pylist()
    return regions


def test_peers_are_in_regions_by_their_shares_and_as_far_apart_as_these_are() -> None:
    asked = spec(peers=50)
    plan = draw_plan(asked)
    regions, network = plan.peers["region"].to_pylist(), network_of(asked, plan)
    assert Counter(regions) == {"eu": 25, "us": 15, "asia": 10} and regions != sorted(regions)
    for sender in range(50):
        for receiver in range(50):
            if sender != receiver:
                rtt = WAYS[regions[sender], regions[receiver]] / 1000
                assert network.one_way(sender, receiver) == pytest.approx(rtt / 2, rel=1e-6)
    assert regions_of(asked.model_copy(update={"seed": 2})) != regions


def test_a_plan_without_regions_has_the_columns_that_it_had() -> None:
    assert draw_plan(diary_spec(4)).peers.schema == PEERS
    assert draw_plan(spec()).peers.schema == PEERS.append(REGION)


def test_a_plan_with_regions_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = draw_plan(spec())
    plan.write(tmp_path)
    assert Plan.read(tmp_path).peers.equals(plan.peers)


def test_the_table_of_a_cloud_gives_means_of_both_directions_and_of_zones() -> None:
    names = ["london", "sydney", "tokyo"]
    given = {"kind": "regions", "table": "ibm-cloud-2024"}
    given["regions"] = [{"name": name, "share": share} for name, share in zip(names, (0.5, 0.25, 0.25))]  # type: ignore[assignment]  # noqa: B905
    network = NetworkSpec.model_validate({"latency": given})
    built = build_network(network, [0, 0, 1, 2], 1)
    ms = {pair: 2000 * built.one_way(*pair) for pair in ((0, 1), (0, 2), (2, 0), (2, 3))}
    assert ms == pytest.approx({(0, 1): 6.25 / 3, (0, 2): 271.5, (2, 0): 271.5, (2, 3): 117.0}, rel=1e-6)


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def came(diary: type[Diary], asked: TrialSpec, path: Path) -> dict[tuple[int, int], float]:
    """Let all send to all at 3 s, and return for each pair of peers how long its message took."""

    def send(peer: Diary) -> None:
        for other in set(range(asked.peers)) - {peer.peer}:
            peer.environment.set_timer(3.0, partial(peer.environment.send, other, Pull()))

    diary.on_start = staticmethod(send)
    drawn = draw_plan(asked)
    locations = drawn.peers["location"].to_pylist()
    sessions = [(peer, 0.0, 10.0) for peer in range(asked.peers)]
    made = make_plan(asked.peers, sessions, locations=locations)
    run(asked, Plan(drawn.peers, made.sessions, drawn.faults, **made.tables), path)
    return {(sender, peer.peer): at - 3.0 for peer in diary.lives for at, sender, _ in peer.received}


def test_worse_links_between_two_regions_touch_no_other_message(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(fault("brownout", links={"between": ["us", "eu"], "delay": "1 s"}))
    regions = regions_of(asked)
    took = came(diary, asked, tmp_path)
    assert len(took) == 90
    for (sender, receiver), seconds in took.items():
        pair = regions[sender], regions[receiver]
        late = 1.0 if set(pair) == {"us", "eu"} else 0.0
        assert seconds == pytest.approx(WAYS[pair] / 2000 + late, abs=1e-6)


def test_a_region_can_be_parted_from_the_others(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(fault("split", partition={"region": ["us", "asia"]}))
    regions = regions_of(asked)
    took = came(diary, asked, tmp_path)
    inside = {peer for peer, region in enumerate(regions) if region != "eu"}
    assert set(took) == {
        (one, other)
        for one in range(10)
        for other in range(10)
        if one != other and (one in inside) == (other in inside)
    }


def test_faults_and_attackers_hit_all_peers_of_a_region() -> None:
    asked = diary_spec(
        20,
        end=60.0,
        network={"latency": THREE},
        faults=[fault("dark", "30 s", None, crash={"region": "asia"})],
        attackers={"region": "us", "behaviour": "black-hole"},
    )
    plan = draw_plan(asked)
    regions = np.array(plan.peers["region"].to_pylist())
    assert faults_hit(asked, plan) == [np.flatnonzero(regions == "asia").tolist()]
    assert plan.peers["attacker"].to_pylist() == (regions == "us").tolist()
    ends = {row["peer"]: row["end_s"] for row in plan.sessions.to_pylist()}
    assert {peer for peer, end in ends.items() if end == 30} == set(
        np.flatnonzero(regions == "asia").tolist()
    )


@pytest.mark.parametrize(
    "latency, key, words",
    [
        ({"regions": [{"name": "eu", "share": 0.5}]}, "regions", "add up to 0.5"),
        ({"regions": [{"name": "eu", "share": 0.5}] * 2}, "regions", '"eu" is there twice'),
        (
            {"regions": [{"name": "eu", "share": 0.99}, {"name": "us", "share": 0.01}]},
            r"regions.1.share",
            "0.01 of 10 peers is nobody",
        ),
        ({"rtt": {}}, "rtt", 'no RTT within "eu", such as eu: {eu: 50 ms}. 3 more are missing'),
        (
            {"rtt": THREE["rtt"] | {"us": {"us": "20 ms", "eu": "80 ms"}}},
            r"rtt.us.eu",
            "is 80 ms, but rtt.eu.us is 90 ms. Write the pair once",
        ),
        ({"rtt": THREE["rtt"] | {"africa": {"eu": "80 ms"}}}, r"rtt.africa", "the RTT of no region"),
        ({"table": "ibm-cloud-2024", "rtt": {}}, r"regions.0.name", 'ibm-cloud-2024 has no region "eu"'),
        ({"table": "ibm-cloud-2024"}, "rtt", "Leave out one of both"),
    ],
)
def test_regions_that_cannot_be_are_refused(latency: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        draw_plan(spec(**latency))
    assert f"network.latency.{key}: " in str(error.value) and words in str(error.value)


@pytest.mark.parametrize(
    "what, key, words",
    [
        ({"crash": {"region": "africa"}}, "crash.region", 'no region "africa". There are: eu, us, asia'),
        ({"crash": {"region": ["eu", "eu"]}}, "crash.region", "name each region once"),
        ({"crash": {"region": "eu", "share": 0.5}}, "crash.share", "exactly one of"),
        ({"links": {"between": ["eu", "eu"], "delay": "1 s"}}, "links.between", "name each region once"),
        (
            {"links": {"between": ["eu", "us"], "share": 0.5, "delay": "1 s"}},
            "links.share",
            "`between` says already who",
        ),
        (
            {"links": {"between": ["eu", "us"], "bandwidth": "0 bit/s"}},
            "links.bandwidth",
            "rates are of peers",
        ),
    ],
)
def test_faults_of_regions_that_cannot_be_are_refused(what: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        draw_plan(spec(fault(**what)))
    assert f"faults.0.{key}: " in str(error.value) and words in str(error.value)


def test_a_region_of_a_latency_without_regions_is_refused() -> None:
    with pytest.raises(ValueError, match="the network has no regions"):
        draw_plan(diary_spec(4, faults=[fault(pause={"region": "eu"})]))


def test_shares_that_do_not_divide_the_peers_leave_nobody_out() -> None:
    thirds = [{"name": name, "share": 1 / 3} for name in ("a", "b", "c")]
    made = Regions.model_validate({"kind": "regions", "regions": thirds})
    assert [sum(made.region_counts(peers)) for peers in (10, 11, 1000)] == [10, 11, 1000]
    assert made.region_counts(10) == [3, 4, 3]
