"""Churn, roles and workload by region: the plan has them at the peers of these regions alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_experiment_load import problems

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable

LATENCY = {
    "kind": "regions",
    "regions": [{"name": "eu", "share": 0.4}, {"name": "us", "share": 0.4}, {"name": "asia", "share": 0.2}],
    "rtt": {
        "eu": {"eu": "10 ms", "us": "80 ms", "asia": "150 ms"},
        "us": {"us": "12 ms", "asia": "120 ms"},
        "asia": {"asia": "20 ms"},
    },
}
TOPICS = {"subscriptions": {"kind": "random", "topics": 10, "per_peer": 2, "buckets": 1}}
PHASES = {"join": "10 s", "settle": "20 s", "measure": "60 s", "drain": "10 s"}


def drawn(**fields: Any) -> tuple[Any, dict[int, str]]:
    given = {"system": {"name": "vitis"}, "workload": TOPICS, "peers": 60, "network": {"latency": LATENCY}}
    plan = draw_plan(TrialSpec.model_validate(given | {"phases": PHASES} | fields))
    return plan, {row["peer"]: row["region"] for row in plan.peers.to_pylist()}


def test_only_peers_of_the_named_regions_come_and_go() -> None:
    model = {"kind": "poisson", "mean_session": "10 s", "mean_gap": "5 s"}
    plan, region = drawn(churn={"model": model, "region": ["us", "asia"]})
    sessions = Counter(row["peer"] for row in plan.sessions.to_pylist())
    assert {peer for peer, name in region.items() if name == "eu"} <= {
        p for p, n in sessions.items() if n == 1
    }
    stays = [row for row in plan.sessions.to_pylist() if region[row["peer"]] == "eu"]
    assert all(row["start_s"] <= 10.0 and row["end_s"] == 100.0 for row in stays)
    assert sum(sessions[peer] > 1 for peer, name in region.items() if name != "eu") > 20
    order = [(row["peer"], row["start_s"]) for row in plan.sessions.to_pylist()]
    assert order == sorted(order)


def test_a_crash_hits_its_share_of_the_peers_of_its_region() -> None:
    plan, region = drawn(churn={"crash": {"at": "50 s", "share": 0.5, "region": "eu"}})
    gone = [region[row["peer"]] for row in plan.sessions.to_pylist() if row["end_s"] == 50.0]
    assert gone == ["eu"] * 12


def test_a_flash_crowd_joins_beside_churn_of_a_region() -> None:
    model = {"kind": "poisson", "mean_session": "10 s", "mean_gap": "5 s"}
    crowd = {"at": "40 s", "peers": 10, "within": "2 s"}
    plan, _ = drawn(churn={"model": model, "region": "asia", "flash_crowd": crowd})
    late = [row for row in plan.sessions.to_pylist() if row["cause"] == "flash-crowd"]
    assert sorted(row["peer"] for row in late) == list(range(50, 60))
    assert all(40.0 <= row["start_s"] <= 42.0 for row in late)


def test_roles_are_at_peers_of_their_regions() -> None:
    roles = {"publisher": 5, "relay": 0.2, "regions": {"publisher": "eu", "relay": ["us", "asia"]}}
    publications = {"publisher": "any"}
    plan, region = drawn(workload=TOPICS | {"roles": roles, "publications": publications})
    by_role: dict[str, list[str]] = {}
    for row in plan.peers.to_pylist():
        by_role.setdefault(row["role"], []).append(region[row["peer"]])
    assert by_role["publisher"] == ["eu"] * 5
    assert len(by_role["relay"]) == 12 and set(by_role["relay"]) <= {"us", "asia"}


def test_a_role_that_its_regions_have_no_room_for_is_refused() -> None:
    roles = {"relay": 13, "regions": {"relay": "asia"}}
    with pytest.raises(Undrawable, match=r"relay: 13 peers, but asia has 12 for them\. Lower it"):
        drawn(workload=TOPICS | {"roles": roles})


@pytest.mark.parametrize(
    ("system", "workload", "table"),
    [
        ("chord", {"lookups": {"rate": 3.0, "region": ["us"]}}, "lookups"),
        ("values-chord", {"values": {"count": 5, "gets": 3.0, "region": "us"}}, "gets"),
    ],
)
def test_only_peers_of_the_named_region_ask(system: str, workload: dict[str, Any], table: str) -> None:
    plan, region = drawn(system={"name": system}, workload=workload)
    asked = {region[row["peer"]] for row in plan.tables[table].to_pylist()}
    assert asked == {"us"}


FILE = """\
name: somewhere
system: {name: chord}
peers: 20
workload: {lookups: {rate: 1}}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            FILE + "churn: {region: eu}\n",
            "experiment.yaml:5: churn.region: the network has no regions. Write `network.regions`, "
            "such as [{name: eu, share: 0.5}, {name: others, share: 0.5}]",
        ),
        (
            FILE.replace("rate: 1", "rate: 1, region: mars"),
            "experiment.yaml:4: workload.lookups.region: the network has no regions. Write",
        ),
        (
            FILE + "churn: {crash: {at: 5 s, share: 0.1, region: [mars]}}\nnetwork:\n"
            "  latency:\n    kind: regions\n"
            "    regions: [{name: eu, share: 1}]\n    rtt: {eu: {eu: 1 ms}}\n",
            'experiment.yaml:5: churn.crash.region: there is no region "mars". There are: eu',
        ),
    ],
)
def test_regions_that_are_not_there_are_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(text)
    (found,) = problems(file)
    assert found.startswith(told)


def test_classes_of_links_and_of_slowness_may_be_those_of_regions_and_roles() -> None:
    links = [
        {"name": "far", "region": ["asia"], "up": "1 Mbit/s"},
        {"name": "home", "share": 0.25, "up": "10 Mbit/s"},
        {"name": "office", "share": 0.75, "up": "1 Gbit/s"},
    ]
    slow = [
        {"name": "publishers", "role": "publisher", "message": "1 ms"},
        {"name": "us", "region": "us", "message": "2 ms"},
        {"name": "others", "share": 1, "message": "0 s"},
    ]
    plan, region = drawn(
        network={"latency": LATENCY, "bandwidth": {"classes": links}},
        processing={"classes": slow},
        workload=TOPICS | {"roles": {"publisher": 12}, "publications": {"publisher": "any"}},
    )
    rows = plan.peers.to_pylist()
    assert {row["peer"] for row in rows if row["link_class"] == 0} == {
        peer for peer, name in region.items() if name == "asia"
    }
    assert Counter(row["link_class"] for row in rows) == {0: 12, 1: 12, 2: 36}
    for row in rows:
        expected = 0 if row["role"] == "publisher" else 1 if region[row["peer"]] == "us" else 2
        assert row["processing_class"] == expected


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        ("[{name: a, share: 1, region: eu}]", "give share and region to one class each"),
        ("[{name: a}]", "give share, role or region, to say whose it is"),
        ("[{name: a, region: mars}, {name: b, share: 1}]", 'there is no region "mars". There are: eu, us'),
        ("[{name: a, role: king}, {name: b, share: 1}]", 'no peer has the role "king". There are: peer'),
        ("[{name: a, region: eu}, {name: b, share: 0.5}]", "the shares add up to 0.5. Make them 1"),
        (
            "[{name: a, region: eu}]",
            "the peers of other roles, regions and places have no class. Add one with",
        ),
    ],
)
def test_classes_that_cannot_be_are_refused(tmp_path: Path, classes: str, told: str) -> None:
    file = tmp_path / "experiment.yaml"
    rates = classes.replace("{name", "{up: 1 Mbit/s, name")
    file.write_text(
        "name: classes\nsystem: {name: vitis}\npeers: 20\n"
        "workload: {subscriptions: {kind: random, topics: 10, per_peer: 2, buckets: 1}}\nnetwork:\n"
        "  latency:\n    kind: regions\n    regions: [{name: eu, share: 0.5}, {name: us, share: 0.5}]\n"
        "    rtt: {eu: {eu: 10 ms, us: 80 ms}, us: {us: 12 ms}}\n"
        f"  bandwidth: {{classes: {rates}}}\n"
    )
    (found,) = problems(file)
    assert found.startswith("experiment.yaml:10: network.bandwidth.classes")
    assert told in found


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("faults: [{name: cut, at: 20 s, for: 5 s, partition: {region: us}}]", "faults[0].partition.region"),
        ("faults: [{name: halt, at: 20 s, for: 5 s, pause: {region: us}}]", "faults[0].pause.region"),
        ("attackers: {region: us, behaviour: black-hole}", "attackers.region"),
    ],
)
def test_faults_and_attackers_of_a_region_without_peers_are_refused(
    tmp_path: Path, part: str, key: str
) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "name: empty\nsystem: {name: vitis}\npeers: 20\n"
        "workload: {subscriptions: {kind: random, topics: 10, per_peer: 2, buckets: 1}}\nnetwork:\n"
        "  latency:\n    kind: regions\n    regions: [{name: eu, share: 0.99}, {name: us, share: 0.01}]\n"
        f"    rtt: {{eu: {{eu: 10 ms, us: 80 ms}}, us: {{us: 12 ms}}}}\n{part}\n"
    )
    share, found = problems(file)
    told = 'no peer of 20 is in "us". Raise the share of the region, or `peers`'
    assert found == f"experiment.yaml:10: {key}: {told}"
    assert "network.latency.regions[1].share: 0.01 of 20 peers is nobody" in share
