"""Roles of peers and clients of servers: in the plan, and in what the protocols are asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from test_plan_draw import same, spec

from emulator.contract.registry import WORKLOADS
from emulator.experiment.file.cross_checks import check_plan_inputs
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.runtime.plan_script import script_of
from emulator.runtime.script import GiveUp, TakeUp

ROLES = {"publisher": 0.1, "subscriber": 12, "relay": 0.25}
ANY = ("workload.publications", {"events": 100, "publisher": "any"})
PRICE = {"name": "price", "low": 0.0, "high": 100.0, "sub_range": 5.0, "skew": 0.5}
RANGES = {"kind": "ranges", "per_peer": 2.5, "attributes": [PRICE]}
CLIENTS = ("workload.clients", {"per_peer": 5})
VISITS = ("workload.clients", {"per_peer": 5, "mean_session": "10 s", "mean_gap": "10 s"})


def role_of(plan: Plan) -> dict[int, str]:
    return {row["peer"]: row["role"] for row in plan.peers.to_pylist()}


@pytest.mark.parametrize("source", [None, RANGES])
def test_roles_decide_who_subscribes_and_who_publishes(source: dict[str, Any] | None) -> None:
    of_source = [("workload.subscriptions", source)] if source else []
    plan = draw_plan(spec(ANY, ("workload.roles", ROLES), *of_source))
    role = role_of(plan)
    assert Counter(role.values()) == {"publisher": 6, "subscriber": 12, "relay": 15, "peer": 27}
    assert {role[peer] for peer in plan.subscriptions["peer"].to_pylist()} == {"peer", "subscriber"}
    assert {role[peer] for peer in plan.publications["publisher"].to_pylist()} == {"peer", "publisher"}


@pytest.mark.parametrize("changes", [[], [CLIENTS], [("workload.subscriptions", RANGES)]])
def test_one_peer_may_publish_all_events_or_its_clients_do(changes: list[tuple[str, Any]]) -> None:
    plan = draw_plan(spec(("workload.publications", {"events": 50, "publisher": 7}), *changes))
    assert plan.publications["publisher"].to_pylist() == [7] * 50
    clients = set(plan.publications["client"].to_pylist())
    assert clients == ({0, 1, 2, 3, 4} if CLIENTS in changes else {None})


def test_a_role_takes_nothing_from_what_the_others_ask_for() -> None:
    plain, relays = draw_plan(spec(ANY)), draw_plan(spec(ANY, ("workload.roles", {"relay": 0.5})))
    assert set(role_of(plain).values()) == {"peer"}
    relaying = {peer for peer, role in role_of(relays).items() if role == "relay"}
    rows = {(row["peer"], row["topic"]) for row in plain.subscriptions.to_pylist()}
    assert {(row["peer"], row["topic"]) for row in relays.subscriptions.to_pylist()} == {
        row for row in rows if row[0] not in relaying
    }


def test_a_topic_that_only_mute_subscribers_have_is_not_published_to_by_a_subscriber() -> None:
    plan = draw_plan(spec(("workload.roles", {"subscriber": 40})))
    role = role_of(plan)
    subscribed = {(row["peer"], row["topic"]) for row in plan.subscriptions.to_pylist()}
    for row in plan.publications.to_pylist():
        assert role[row["publisher"]] == "peer"
        assert (row["publisher"], row["topic"]) in subscribed


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ([("workload.roles", {"relay": 61}), ANY], "workload.roles"),
        ([("workload.roles", {"relay": 0.5, "publisher": 30}), ANY], "workload.roles"),
        ([("workload.roles", {"publisher": 3})], "workload.publications.publisher"),
        ([("workload.publications", {"publisher": 60})], "workload.publications.publisher"),
        (
            [("workload.publications", {"publisher": 5}), ("workload.roles", {"subscriber": 3})],
            "workload.publications.publisher",
        ),
        ([("workload", {"lookups": {"rate": 1.0}, "roles": {"relay": 3}})], "workload.roles"),
        ([("workload", {"lookups": {"rate": 1.0}, "clients": {"per_peer": 3}})], "workload.clients"),
    ],
)
def test_impossible_roles_are_told_with_their_key(changes: list[tuple[str, Any]], key: str) -> None:
    assert [told for told, _ in check_plan_inputs(spec(*changes))] == [key]


def test_clients_ask_at_their_servers() -> None:
    plan = draw_plan(spec(CLIENTS, ("workload.roles", {"relay": 10})))
    assert Counter(role_of(plan).values()) == {"server": 50, "relay": 10}
    held = Counter((row["peer"], row["client"]) for row in plan.subscriptions.to_pylist())
    assert set(held) == {(p, c) for p, role in role_of(plan).items() if role == "server" for c in range(5)}
    assert set(held.values()) == {10}
    by = {(row["publisher"], row["client"]) for row in plan.publications.to_pylist()}
    assert by <= set(held)
    assert len(by) > 60


def test_the_same_seed_gives_the_same_roles_and_clients() -> None:
    one, again = (draw_plan(spec(VISITS, ANY, ("workload.roles", ROLES))) for _ in range(2))
    assert all(same(one, again).values())


@pytest.mark.parametrize("source", [None, RANGES])
def test_clients_that_come_and_go_ask_for_nothing_while_they_are_away(source: dict[str, Any] | None) -> None:
    of_source = [("workload.subscriptions", source)] if source else []
    plan = draw_plan(spec(VISITS, ANY, *of_source))
    there: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in plan.subscriptions.to_pylist():
        there.setdefault((row["peer"], row["client"]), []).append((row["start_s"], row["end_s"]))
    if source is None:  # every client asks for something, so that its visits can be read off
        for row in plan.publications.to_pylist():
            spans = there[row["publisher"], row["client"]]
            assert any(start <= row["at_s"] < end for start, end in spans)
        up = [
            sum(start <= at < end for start, end in set(spans))
            for at in (45, 60, 75)
            for spans in there.values()
        ]
        assert sum(up) / (60 * 5 * 3) == pytest.approx(0.5, abs=0.08)
    else:
        assert len({end for spans in there.values() for _, end in spans}) > 20


@pytest.mark.parametrize("clients", [CLIENTS, VISITS])
def test_a_server_asks_its_protocol_once_for_what_several_clients_want(clients: tuple[str, Any]) -> None:
    plan = draw_plan(spec(clients, ("workload.changes.share", 0.5)))
    wanted: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in plan.subscriptions.to_pylist():
        wanted.setdefault((row["peer"], row["topic"]), []).append((row["start_s"], row["end_s"]))
    script = script_of(plan, WORKLOADS["topics"], 80.0)
    for at in (0.0, 20.0, 45.0, 60.0, 79.0):
        for peer in range(60):
            topics = [each.about() for each in script.held_by(peer, at)]
            assert len(topics) == len(set(topics))
            assert set(topics) == {
                topic
                for (server, topic), spans in wanted.items()
                if server == peer and any(start <= at < end for start, end in spans)
            }
    held: Counter[tuple[int, int]] = Counter()
    for each in script.all_held():
        topic = each.what.about()
        assert topic is not None
        held[each.peer, topic] += each.start == 0
    for step in script.steps:
        if isinstance(step.action, TakeUp | GiveUp):
            topic = step.action.what.about()
            assert topic is not None
            held[step.peer, topic] += 1 if isinstance(step.action, TakeUp) else -1
            assert held[step.peer, topic] in (0, 1)
