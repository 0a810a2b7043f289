"""Peers whose own clock is wrong, and faults of peers that cannot be."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from faults_by_hand import fault, observed, run_with, up
from realtime_world import World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.own_clocks import OwnClock
from emulator.faults.spec import FaultSpec
from emulator.runtime.realtime.session import Session


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def clock_of(*faults: dict[str, Any]) -> OwnClock:
    return OwnClock([FaultSpec.model_validate(each) for each in faults])


def test_what_a_wrong_clock_shows_is_right_before_and_after_the_fault() -> None:
    clock = clock_of(
        fault("slow", "10 s", "10 s", clock={"number": 1, "drift": "-50 %"}),
        fault("ahead", clock={"number": 1, "step": "1 min", "drift": 1.0}),
    )
    shown = {at: clock.shown(at) for at in (1.9, 2.0, 3.0, 5.0, 9.0, 10.0, 14.0, 20.0)}
    assert shown == {1.9: 1.9, 2.0: 62.0, 3.0: 64.0, 5.0: 5.0, 9.0: 9.0, 10.0: 10.0, 14.0: 12.0, 20.0: 20.0}


def test_what_is_due_by_a_wrong_clock_is_due_when_so_much_has_passed_on_it() -> None:
    clock = clock_of(
        fault("fast", clock={"number": 1, "step": "-1 s", "drift": 1.0}),
        fault("slow", "6 s", "4 s", clock={"number": 1, "drift": -0.5}),
    )
    assert clock.due(0.0, 2.0) == 2.0
    assert clock.due(0.0, 4.0) == 3.0
    assert clock.due(2.0, 6.0) == 5.0
    assert clock.due(4.0, 3.5) == 7.0  # 2 pass in the first second, 1 in the next, 0.5 in the last
    assert clock.due(1.0, 20.0) == 1.0 + 20.0 - 3.0 + 2.0
    assert clock.due(10.0, 5.0) == 15.0


def test_timers_go_by_the_clock_of_the_peer_and_what_is_recorded_by_the_trials(
    diary: type[Diary], tmp_path: Path
) -> None:
    shown: list[tuple[float, float]] = []

    def start(peer: Diary) -> None:
        environment = peer.environment

        def look(at: float) -> None:
            shown.append((at, round(environment.now, 6)))
            environment.record("looked", at)

        if peer.peer == 1:
            for delay in (1.0, 4.0, 9.0):
                environment.set_timer(delay, partial(look, delay))
            environment.every(1.0, peer.tick)

    diary.on_start = staticmethod(start)
    fast = fault("fast", clock={"peers": [1], "step": "30 s", "drift": "100 %"})
    outcome = run_with(diary_spec(2, faults=[fast]), tmp_path, make_plan(2, up(10, 10)))
    assert shown == [(1.0, 1.0), (4.0, 34.0), (9.0, 6.0)]
    assert observed(outcome, "looked") == [(1, 1.0, 1.0), (1, 3.0, 4.0), (1, 6.0, 9.0)]
    ticks = next(peer for peer in diary.lives if peer.peer == 1).ticks
    first = ticks[0]
    assert ticks[:2] == [first, pytest.approx(first + 1)] and len(ticks) == 10 + 3
    assert [at for at in ticks if at > 30] == [pytest.approx(30 + first + n) for n in range(2, 8)]
    assert outcome.fidelity.faults == [FaultReport("fast", "clock", "virtual", 2.0, 5.0, 2.0, 5.0, 1, 0)]


def test_a_periodic_timer_of_a_wrong_clock_is_cancelled_and_hastened(
    diary: type[Diary], tmp_path: Path
) -> None:
    def start(peer: Diary) -> None:
        timer = peer.environment.every(1.0, peer.tick)
        peer.environment.set_timer(3.0, timer.hasten)
        peer.environment.set_timer(4.0, timer.cancel)

    diary.on_start = staticmethod(start)
    slow = fault("slow", "0 s", "8 s", clock={"peers": [1], "drift": "-50 %"})
    run_with(diary_spec(2, faults=[slow]), tmp_path, make_plan(2, up(10, 10)))
    plain, skewed = diary.lives
    assert len(plain.ticks) == len(skewed.ticks) == 5
    assert [at for at in skewed.ticks if at == 3.0] == [3.0]


def test_timers_of_a_host_go_by_the_clock_of_the_peer(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        world.run(until=lambda: True)
        now = world.host.clock.now()
        clock = clock_of(fault("fast", "0 s", f"{now + 0.4} s", clock={"number": 1, "drift": 9.0}))
        session = Session(world.host, 0, 0, Random(1), own_clock=clock)
        calls: list[tuple[str, float]] = []

        def note(what: str) -> None:
            calls.append((what, world.host.clock.now() - now))

        session.set_timer(2.0, partial(note, "timer"))
        session.every(1.0, partial(note, "tick"))
        world.pass_time(0.35)
        ((_, at),) = [each for each in calls if each[0] == "timer"]
        assert at >= 0.2 and len(calls) in (4, 5)
        assert session.now() > session.trial_time()
    finally:
        world.close()


@pytest.mark.parametrize(
    "faults, key, words",
    [
        ([fault(lasts=None, pause={"share": 0.5})], "0.for", "the pause has no end"),
        ([fault(lasts="90 s", pause={"share": 0.5})], "0.for", "lasts to 92 s, but the trial ends at 10 s"),
        ([fault(pause={"peers": [4]})], "0.pause.peers", "no peer 4. They are 0 to 3"),
        ([fault(pause={"peers": [1, 1]})], "0.pause.peers", "named twice"),
        ([fault(pause={"role": "relay"})], "0.pause.role", 'no peer has the role "relay". There are: peer'),
        ([fault(pause={"role": "peer", "share": 0.5})], "0.pause.share", "exactly one of"),
        (
            [fault(lasts="8 s", crash={"share": 0.5})],
            "0.for",
            "come back at 10 s, but the trial ends at 10 s",
        ),
        ([fault(clock={"share": 0.5})], "0.clock.step", "neither `step` nor `drift`"),
        ([fault(clock={"share": 0.5, "step": "-3 s"})], "0.clock.step", "would show -1 s, before the trial"),
        ([fault(lasts=None, crash={"share": 1.0})], "0.crash.share", "leave nobody else"),
        (
            [fault(crash={"peers": [1]}), fault("later", at="4 s", crash={"peers": [1]})],
            "1.at",
            "no peer can have two faults of the kind `crash`",
        ),
        (
            [fault(lasts=None, crash={"peers": [1]}), fault("later", "9 s", None, crash={"peers": [1]})],
            "1.at",
            "no peer can have two faults",
        ),
        (
            [fault(pause={"peers": [1, 2]}), fault("again", at="4 s", pause={"peers": [2, 3]})],
            "1.at",
            '"again" hits peer 2 while "stopped" does',
        ),
    ],
)
def test_faults_of_peers_that_cannot_be_are_refused(
    faults: list[dict[str, Any]], key: str, words: str
) -> None:
    with pytest.raises(ValueError, match=rf"faults\.{key}: .*{words}"):
        draw_plan(diary_spec(4, faults=faults))


def test_groups_of_earlier_versions_are_written_as_they_were() -> None:
    asked = diary_spec(
        4, faults=[fault(partition={"share": 0.5})], attackers={"share": 0.5, "behaviour": "replay"}
    )
    told = asked.model_dump(mode="json")
    assert told["faults"] == [
        {
            "at": "2 s",
            "for": "3 s",
            "name": "stopped",
            "partition": {"share": 0.5, "number": None, "way": "both", "senders": "silence"},
            "links": None,
        }
    ]
    assert not {"peers", "role"} & told["attackers"].keys()
