"""Vitis and RVR whole, at 60 peers on the virtual clock."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, Publication, Session, Subscription, expected, make_plan, run, trial_spec

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.telemetry import names
from emulator.testing.witness import WITNESS, read_ledger

PEERS = 60
TOPICS = 12
SETTLED = 14.0
END = 34.0
systems = pytest.mark.parametrize("system", ["vitis", "rvr"])


def subscribed(end: float = END) -> list[Subscription]:
    """Each peer asks for four topics."""
    draw = random.Random(5)
    return [(peer, topic, 0.0, end) for peer in range(PEERS) for topic in draw.sample(range(TOPICS), 4)]


def all_up(end: float = END) -> list[Session]:
    return [(peer, peer * 0.05, end) for peer in range(PEERS)]


def by_subscribers(
    subscriptions: list[Subscription], events: int = 30, start: float = SETTLED
) -> list[Publication]:
    draw = random.Random(6)
    chosen = [draw.choice(subscriptions) for _ in range(events)]
    return [(start + number * 0.3, peer, topic) for number, (peer, topic, _, _) in enumerate(chosen)]


def trial(system: str, plan: Plan, path: Path, end: float = END, **parameters: Any) -> Outcome:
    spec = trial_spec(system, PEERS, end)
    parameters = {"routing_table": 8} | parameters
    spec = spec.model_copy(update={"system": spec.system.model_copy(update={"parameters": parameters})})
    return run(spec, plan, path)


@systems
def test_every_expected_delivery_is_made_once(system: str, tmp_path: Path) -> None:
    plan = make_plan(PEERS, all_up(), subscribed(), by_subscribers(subscribed()))
    outcome = trial(system, plan, tmp_path)
    deliveries = outcome.deliveries()
    assert deliveries.keys() == expected(plan)
    assert set(deliveries.values()) == {1}
    assert outcome.relayed() > 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"friends": 0},
        {"small_world_draw": "candidates"},
        {"small_world_draw": "anew"},
        {"notify_relays": "neighbours"},
    ],
)
def test_vitis_delivers_with_each_of_its_choices(parameters: dict[str, Any], tmp_path: Path) -> None:
    plan = make_plan(PEERS, all_up(), subscribed(), by_subscribers(subscribed(), events=10))
    outcome = trial("vitis", plan, tmp_path, **parameters)
    assert outcome.deliveries().keys() == expected(plan)


def test_vitis_over_outgoing_links_delivers_most(tmp_path: Path) -> None:
    """A peer may hear of a gateway that does not forward to it."""
    plan = make_plan(PEERS, all_up(), subscribed(), by_subscribers(subscribed(), events=10))
    delivered = trial("vitis", plan, tmp_path, links="outgoing").deliveries().keys()
    assert delivered <= expected(plan)
    assert len(delivered) > 0.95 * len(expected(plan))


@systems
def test_an_event_of_a_peer_that_is_not_interested_reaches_all(system: str, tmp_path: Path) -> None:
    interests = {(peer, topic) for peer, topic, _, _ in subscribed()}
    strangers = [
        (peer, topic) for topic in range(TOPICS) for peer in range(PEERS) if (peer, topic) not in interests
    ]
    publications = [(SETTLED + n * 0.2, *strangers[n * 23 % len(strangers)]) for n in range(30)]
    plan = make_plan(PEERS, all_up(), subscribed(), publications)
    outcome = trial(system, plan, tmp_path)
    assert outcome.deliveries().keys() == expected(plan)
    assert set(outcome.deliveries().values()) == {1}
    assert all(s.attributes[names.HOPS] > 0 for s in outcome.spans if s.attributes.get(names.DELIVERED))


@systems
def test_an_event_published_straight_after_a_join_reaches_all(system: str, tmp_path: Path) -> None:
    """The publisher knows nobody yet."""
    sessions = [(0, SETTLED, END), *((peer, start, end) for peer, start, end in all_up() if peer)]
    topic = next(topic for peer, topic, _, _ in subscribed() if peer == 0)
    plan = make_plan(PEERS, sessions, subscribed(), [(SETTLED + 0.01, 0, topic)])
    outcome = trial(system, plan, tmp_path)
    assert outcome.deliveries().keys() == expected(plan) != set()


@systems
def test_deliveries_begin_and_end_with_a_subscription(system: str, tmp_path: Path) -> None:
    """Ten peers take a topic up in mid-run and ten give it up."""
    changing = 0
    others = [s for s in subscribed() if s[1] != changing]
    subscriptions = [
        *others,
        *((peer, changing, 0.0, END) for peer in range(20, 30)),
        *((peer, changing, 0.0, SETTLED) for peer in range(10)),
        *((peer, changing, SETTLED, END) for peer in range(10, 20)),
    ]
    publications = [(at, 25, changing) for at in (SETTLED - 2, SETTLED + 10)]
    plan = make_plan(PEERS, all_up(), subscriptions, publications)
    deliveries = trial(system, plan, tmp_path).deliveries()
    assert deliveries.keys() == expected(plan)
    after = {peer for event, peer in deliveries if event == 1}
    assert after == {*range(10, 30)} - {25}


@systems
def test_deliveries_are_whole_again_after_a_tenth_of_the_peers_crash(system: str, tmp_path: Path) -> None:
    crashed = set(range(0, PEERS, 10))
    sessions = [(peer, start, SETTLED if peer in crashed else end) for peer, start, end in all_up()]
    living = [s for s in subscribed() if s[0] not in crashed]
    plan = make_plan(PEERS, sessions, subscribed(), by_subscribers(living, events=20, start=SETTLED + 12))
    deliveries = trial(system, plan, tmp_path).deliveries()
    assert deliveries.keys() == expected(plan)
    assert set(deliveries.values()) == {1}


@systems
def test_peers_that_come_back_get_events_again(system: str, tmp_path: Path) -> None:
    away = set(range(0, PEERS, 6))
    sessions = [
        session
        for peer, start, end in all_up()
        for session in ([(peer, start, 12.0), (peer, 16.0, end)] if peer in away else [(peer, start, end)])
    ]
    plan = make_plan(PEERS, sessions, subscribed(), by_subscribers(subscribed(), events=20, start=26.0))
    deliveries = trial(system, plan, tmp_path).deliveries()
    assert deliveries.keys() == expected(plan)


@systems
def test_what_applications_are_handed_under_churn_is_what_is_recorded(system: str, tmp_path: Path) -> None:
    """The trials have lost and overtaken messages, and sources that go while they are pulled from."""
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    spec = trial_spec(
        WITNESS.name,
        PEERS,
        60.0,
        network={"jitter": "20 ms", "loss": 0.01},
        workload={
            "subscriptions": {"kind": "random", "topics": 40, "per_peer": 8, "buckets": 1},
            "publications": {"events": 150},
        },
        churn={"model": {"kind": "poisson", "mean_session": "20 s", "mean_gap": "5 s"}, "graceful": 0.7},
        phases={"join": "5 s", "settle": "10 s", "measure": "35 s", "drain": "10 s"},
    )
    parameters = {"of": system, "parameters": {"routing_table": 8}, "ledger": str(ledger)}
    spec = spec.model_copy(update={"system": spec.system.model_copy(update={"parameters": parameters})})
    plan = draw_plan(spec)
    outcome = run(spec, plan, tmp_path)
    handed = read_ledger(ledger)
    recorded = [
        (span.attributes[names.EVENT], span.attributes[names.PEER], span.attributes[names.HOPS])
        for span in outcome.spans
        if span.attributes.get(names.DELIVERED)
    ]
    assert Counter(recorded) == Counter((each.number, each.peer, each.hops) for each in handed)
    assert len(set(handed)) == len(handed) > 300
    got = {(each.number, each.peer) for each in handed}
    steady = expected_of_those_that_stay(plan)
    assert len(got & steady) > 0.9 * len(steady)


def expected_of_those_that_stay(plan: Plan) -> set[tuple[int, int]]:
    """Return deliveries to peers that have been up and subscribed for 10 s and stay for 10 s more."""
    at = {row["event"]: row["at_s"] for row in plan.publications.to_pylist()}

    def stay(rows: list[dict[str, Any]], when: float) -> set[int]:
        return {row["peer"] for row in rows if row["start_s"] + 10 <= when <= row["end_s"] - 10}

    sessions, subscriptions = plan.sessions.to_pylist(), plan.subscriptions.to_pylist()
    topics = {row["event"]: row["topic"] for row in plan.publications.to_pylist()}
    return {
        (event, peer)
        for event, peer in expected(plan)
        if peer in stay(sessions, at[event])
        and peer in stay([s for s in subscriptions if s["topic"] == topics[event]], at[event])
    }


@systems
def test_every_expected_delivery_is_made_with_jitter_and_loss(system: str, tmp_path: Path) -> None:
    """What is lost is asked for again or told by another; a single missed relay request heals in a round."""
    plan = make_plan(PEERS, all_up(), subscribed(), by_subscribers(subscribed()))
    spec = trial_spec(system, PEERS, END, network={"jitter": "20 ms", "loss": 0.01})
    spec = spec.model_copy(
        update={"system": spec.system.model_copy(update={"parameters": {"routing_table": 8}})}
    )
    deliveries = run(spec, plan, tmp_path).deliveries()
    assert set(deliveries.values()) == {1}
    assert deliveries.keys() <= expected(plan)
    least = 0.999 if system == "vitis" else 0.95
    assert len(deliveries) >= least * len(expected(plan))


def test_vitis_relays_less_than_rvr_where_interests_are_alike(tmp_path: Path) -> None:
    """Three groups of peers that ask for the same topics each."""
    subscriptions = [
        (peer, topic, 0.0, END) for peer in range(PEERS) for topic in range(peer % 3 * 4, peer % 3 * 4 + 4)
    ]
    plan = make_plan(PEERS, all_up(), subscriptions, by_subscribers(subscriptions))
    relayed = {system: trial(system, plan, tmp_path / system).relayed() for system in ("vitis", "rvr")}
    assert relayed["vitis"] < relayed["rvr"] / 2
