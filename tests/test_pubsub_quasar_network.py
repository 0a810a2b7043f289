"""Quasar and OPT whole, on the virtual clock: at rest, with loss and jitter, and after a crash."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, Publication, Session, Subscription, expected, make_plan, run, trial_spec

from emulator.experiment.plan.tables import Plan

PEERS = 50
TOPICS = 6
SETTLED = 40.0
END = 60.0
PARAMETERS: dict[str, dict[str, Any]] = {
    "quasar-random-graph": {"period": "3 s", "freshness": "9 s", "overlay": {"degree": 6}},
    "quasar-pastry": {"period": "3 s", "freshness": "9 s"},
    "quasar-small-world": {"period": "3 s", "freshness": "9 s"},
    "quasar-oscar": {"period": "3 s", "freshness": "9 s"},
    "quasar-chord": {"period": "3 s", "freshness": "9 s"},
    "quasar-kademlia": {"period": "3 s", "freshness": "9 s"},
    "opt": {},
}
systems = pytest.mark.parametrize("system", PARAMETERS)


def subscribed() -> list[Subscription]:
    draw = random.Random(5)
    return [(peer, topic, 0.0, END) for peer in range(PEERS) for topic in draw.sample(range(TOPICS), 2)]


def published(by: range) -> list[Publication]:
    draw = random.Random(6)
    choices = [each for each in subscribed() if each[0] in by]
    chosen = [draw.choice(choices) for _ in range(20)]
    return [(SETTLED + number * 0.5, peer, topic) for number, (peer, topic, _, _) in enumerate(chosen)]


def trial(system: str, plan: Plan, path: Path, **fields: Any) -> Outcome:
    spec = trial_spec(system, PEERS, END, **fields)
    update = {"system": spec.system.model_copy(update={"parameters": PARAMETERS[system]})}
    return run(spec.model_copy(update=update), plan, path)


def all_up(until: dict[int, float]) -> list[Session]:
    return [(peer, peer * 0.05, until.get(peer, END)) for peer in range(PEERS)]


@systems
def test_every_member_gets_every_event_once(system: str, tmp_path: Path) -> None:
    plan = make_plan(PEERS, all_up({}), subscribed(), published(range(PEERS)))
    deliveries = trial(system, plan, tmp_path).deliveries()
    assert deliveries.keys() == expected(plan)
    assert set(deliveries.values()) == {1}


@systems
def test_jitter_and_loss_cost_little(system: str, tmp_path: Path) -> None:
    plan = make_plan(PEERS, all_up({}), subscribed(), published(range(PEERS)))
    network = {"jitter": "20 ms", "loss": 0.01}
    deliveries = trial(system, plan, tmp_path, network=network).deliveries()
    assert set(deliveries.values()) == {1}
    assert deliveries.keys() <= expected(plan)
    assert len(deliveries) > 0.98 * len(expected(plan))


@systems
def test_the_others_get_everything_after_a_fifth_has_crashed(system: str, tmp_path: Path) -> None:
    until = dict.fromkeys(range(1, PEERS, 5), SETTLED - 25)
    plan = make_plan(PEERS, all_up(until), subscribed(), published(range(0, PEERS, 5)))
    assert trial(system, plan, tmp_path).deliveries().keys() == expected(plan)


@pytest.mark.parametrize("parameters", [{}, {"branch": 3, "returns": False}], ids=["all", "three"])
def test_coverage_is_high_while_peers_come_and_go_with_jitter_and_loss(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    """A third of the peers crash and a third come for good while events are published to one group."""
    count = 60
    stay, leave, come = range(20), range(20, 40), range(40, 60)
    sessions = [(peer, peer * 0.05, END) for peer in stay]
    sessions += [(peer, peer * 0.05, SETTLED + peer - 30.0) for peer in leave]
    sessions += [(peer, SETTLED + 0.5 * (peer - 40), END) for peer in come]
    subscriptions = [(peer, 0, 0.0, END) for peer in range(count)]
    events = [(SETTLED + 0.5 * n, n % 20, 0) for n in range(34)]
    plan = make_plan(count, sessions, subscriptions, events)
    spec = trial_spec("quasar-random-graph", count, END, network={"jitter": "20 ms", "loss": 0.01})
    given = {"period": "3 s", "freshness": "9 s", "overlay": {"degree": 6}} | parameters
    update = {"system": spec.system.model_copy(update={"parameters": given})}
    deliveries = run(spec.model_copy(update=update), plan, tmp_path).deliveries()
    assert set(deliveries.values()) == {1}
    at = {number: time for number, (time, _, _) in enumerate(sorted(events))}
    up = {peer: (start, end) for peer, start, end in sessions}

    def reached(since: float, until: float) -> float:
        """Return the share that was made of what is due at peers that joined so long ago (s) and stay for
        5 s."""
        due = [
            (event, peer)
            for event, peer in expected(plan)
            if since <= at[event] - up[peer][0] < until and min(at[event] + 5.0, END) <= up[peer][1]
        ]
        assert len(due) > 100
        return sum(each in deliveries for each in due) / len(due)

    assert reached(10.0, END) > 0.95
    assert reached(3.0, 10.0) > 0.9
