"""Peers that crash at one instant, and a bootstrap service that is away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import CHURN, fault, run_with, sessions, up
from fleet_toys import Flood, FloodParameters
from realtime_world import World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run, trial_spec

from emulator.contract.protocol import Environment
from emulator.contract.registry import WORKLOADS
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable
from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.spec import FaultSpec
from emulator.runtime.plan_script import faults_hit
from emulator.runtime.realtime.script_follower import ScriptFollower
from emulator.runtime.script import Join, Script, Step
from trellis.v1.pubsub import Pull


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


AWAY = fault("no-tracker", bootstrap="away")


def follower(world: World, steps: list[Step], track: Any, **fields: Any) -> ScriptFollower:
    def create(environment: Environment) -> Flood:
        return Flood(environment, FloodParameters(period=1000))

    return ScriptFollower(world.host, Script(steps, []), WORKLOADS["topics"], create, track, seed=1, **fields)


@pytest.mark.parametrize("lasts", [None, "10 s"])
def test_peers_that_crash_are_down_until_they_come_back_and_others_are_as_they_were(
    lasts: str | None,
) -> None:
    asked = diary_spec(40, end=60.0, **CHURN, faults=[fault("gone", "30 s", lasts, crash={"share": 0.5})])
    (hit,) = faults_hit(asked, draw_plan(asked))
    back = 60.0 if lasts is None else 40.0
    expected = []
    for peer, start, end, graceful in sessions(diary_spec(40, end=60.0, **CHURN)):
        if peer not in hit or end <= 30 or start >= back:
            expected.append((peer, start, end, graceful))
            continue
        if start < 30:
            expected.append((peer, start, 30.0, False))
        if end > back:
            expected.append((peer, max(start, back), end, graceful))
    assert len(hit) == 20 and sessions(asked) == expected


def test_a_crashed_peer_comes_back_as_a_new_one(diary: type[Diary], tmp_path: Path) -> None:
    def start(peer: Diary) -> None:
        if peer.peer == 0:
            for at in (1.0, 3.0, 6.0):
                peer.environment.set_timer(at, partial(peer.environment.send, 1, Pull(event=int(at))))
        else:
            peer.environment.set_timer(4.5, peer.tick)

    diary.on_start = staticmethod(start)
    asked = diary_spec(2, faults=[fault("gone", crash={"peers": [1]})])
    drawn = draw_plan(asked)
    outcome = run(asked, drawn, tmp_path)
    sender, before, after = diary.lives
    heard = [[message.event for _, _, message in peer.received] for peer in (before, after)]  # type: ignore[attr-defined]
    assert heard == [[1], [6]] and sender.unreachable == [(pytest.approx(5.0), 1)]
    assert (before.ticks, after.ticks) == ([], [9.5]) and after.contacts == [0]
    assert outcome.fidelity.faults == [FaultReport("gone", "crash", "virtual", 2.0, 5.0, 2.0, 5.0, 1, 0)]


def test_a_crash_of_peers_that_are_down_is_refused() -> None:
    crash = {"churn": {"crash": {"at": "20 s", "share": 1.0}}}
    faults = [fault("gone", "30 s", None, crash={"peers": [1, 2]})]
    with pytest.raises(ValueError, match=r"faults\.0\.crash: none of its 2 peers is up at 30 s"):
        draw_plan(diary_spec(4, end=60.0, **crash, faults=faults))


@pytest.mark.parametrize("turned", [False, True])
def test_whether_a_crash_hits_somebody_does_not_depend_on_its_place_in_the_file(turned: bool) -> None:
    first = fault("first", "20 s", "5 s", crash={"peers": [1]})
    second = fault("second", "25 s", "5 s", crash={"peers": [1]})
    faults = [second, first] if turned else [first, second]
    with pytest.raises(ValueError, match=rf"faults\.{1 - turned}\.crash: none of its 1 peers is up at 25 s"):
        draw_plan(diary_spec(4, end=60.0, faults=faults))


@pytest.mark.parametrize(
    "hit",
    [
        fault("all", "20 s", "3 s", crash={"share": 1}),
        fault("away", "0 s", None, bootstrap="away"),
    ],
)
def test_faults_that_leave_nobody_up_are_blamed_and_not_churn(hit: dict[str, Any]) -> None:
    told = r"no peer is up then\. Crash or pause fewer peers, or end the faults sooner \(`for`\)"
    asked: dict[str, Any] = {"workload": {"lookups": {"rate": 20}}}
    with pytest.raises(Undrawable, match=rf"^faults: a lookup at [\d.]+ s of trial time: {told}$"):
        draw_plan(trial_spec("chord", 30, 60.0, **asked, faults=[hit]))
    gone = {"churn": {"crash": {"at": "20 s", "share": 1.0}}}
    for faults in ([], [hit | {"at": "15 s"}]):
        with pytest.raises(Undrawable, match=r"^churn\.model: a lookup at .* no peer is up then"):
            draw_plan(trial_spec("chord", 30, 60.0, **asked, **gone, faults=faults))


def test_who_is_to_join_while_the_bootstrap_service_is_away_joins_when_it_answers() -> None:
    before = sessions(diary_spec(60, end=60.0, **CHURN))
    asked = diary_spec(60, end=60.0, **CHURN, faults=[fault("away", "20 s", "8.5 s", bootstrap="away")])
    expected, moved = [], 0
    for peer, start, end, graceful in before:
        joins = start
        while 20 <= joins < 28.5:
            joins += 1.0
        moved += joins > start
        if end - joins >= 0.001:
            expected.append((peer, pytest.approx(joins, abs=1e-9), end, graceful))
    assert moved > 5 and len(expected) < len(before) and sessions(asked) == expected
    for_ever = diary_spec(60, end=60.0, **CHURN, faults=[fault("away", "20 s", None, bootstrap="away")])
    assert sessions(for_ever) == [each for each in before if each[1] < 20]


def test_who_asks_the_bootstrap_service_while_it_is_away_is_answered_when_it_is_back(
    diary: type[Diary], tmp_path: Path
) -> None:
    answers: list[tuple[float, list[int]]] = []

    def ask(peer: Diary) -> None:
        def answer(contacts: Sequence[int]) -> None:
            answers.append((round(peer.environment.now, 6), list(contacts)))

        if peer.peer == 0:
            for at in (1.0, 3.2, 6.0, 8.0):
                peer.environment.set_timer(at, partial(peer.environment.find_contacts, answer))

    diary.on_start = staticmethod(ask)
    asked = diary_spec(2, faults=[AWAY, fault("for-ever", "7 s", None, bootstrap="away")])
    outcome = run_with(asked, tmp_path, make_plan(2, up(10, 10)))
    assert answers == [(1.1, [1]), (5.3, [1]), (6.1, [1])]
    kinds = [(each.name, each.begun_s, each.ended_s, each.waited) for each in outcome.fidelity.faults]
    assert kinds == [("no-tracker", 2.0, 5.0, 1), ("for-ever", 7.0, None, 1)]


def test_a_host_asks_the_bootstrap_service_again_until_it_is_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        world.run(until=lambda: True)
        now = world.host.clock.now()
        away = FaultSpec.model_validate(fault("away", "0 s", f"{now + 0.2} s", bootstrap="away"))
        told: list[tuple[str, int]] = []

        async def track(left: Any, joining: Any, asking: Any) -> Any:
            told.extend([*(("joins", peer) for peer in joining), *(("asks", peer) for peer in asking)])
            return [[] for _ in joining], [[] for _ in asking]

        tested = follower(world, [Step(now, 1, Join(0))], track, faults=[away], hit=[[]])
        tested.follow()
        world.host.find_contacts(0, lambda contacts: told.append(("answered", 0)))
        task = world.loop.create_task(tested.run())
        world.pass_time(0.3)
        assert not told
        world.run(until=lambda: ("answered", 0) in told and 1 in world.host.sessions)
        assert now + 1.0 <= world.host.clock.now() < now + 1.6
        assert [acted.waited for acted in tested.faults.acted] == [2]
        task.cancel()
    finally:
        world.close()
