"""Quasar and OPT whole, on the virtual clock: at rest, with loss and jitter, and after a crash."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, Publication, Session, Subscription, expected, make_plan, run, trial_spec

from emulator.experiment.plan import Plan

PEERS = 50
TOPICS = 6
SETTLED = 40.0
END = 60.0
PARAMETERS: dict[str, dict[str, Any]] = {
    "quasar-random-graph": {"period": "3 s", "freshness": "9 s", "overlay": {"degree": 6}},
    "quasar-pastry": {"period": "3 s", "freshness": "9 s"},
    "quasar-small-world": {"period": "3 s", "freshness": "9 s"},
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
