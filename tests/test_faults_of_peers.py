"""Faults that stop or change peers themselves, at their time and for their peers alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fleet_toys import Flood, FloodParameters
from realtime_world import ONE_WAY, Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import Outcome, make_plan, run

from emulator.contract.protocol import Environment, Event
from emulator.contract.registry import WORKLOADS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import FAULTS, Plan
from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.own_clocks import OwnClock
from emulator.faults.spec import FaultSpec
from emulator.runtime.plan_script import faults_hit
from emulator.runtime.realtime.script_follower import ScriptFollower
from emulator.runtime.realtime.session import Session
from emulator.runtime.script import Join, Script, Step
from emulator.runtime.virtual.event_queue import ROW_ARRIVES
from emulator.runtime.virtual.events import Call
from emulator.runtime.virtual.life import VirtualTimer
from emulator.runtime.virtual.paused_peers import PausingQueue
from emulator.telemetry import names
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import Pull

BEGIN, END = 2.0, 5.0


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def fault(name: str = "stopped", at: str = "2 s", lasts: str | None = "3 s", **what: Any) -> dict[str, Any]:
    return {"name": name, "at": at, **({} if lasts is None else {"for": lasts}), **what}


STOPPED = fault(pause={"peers": [1]})


def run_with(asked: TrialSpec, path: Path, made: Plan) -> Outcome:
    """Run a plan by hand, with the faults of the spec at the peers that they list."""
    rows = [
        {"fault": index, "name": each.name, "peer": peer}
        for index, each in enumerate(asked.faults)
        for peer in (each.hits.peers if each.hits else None) or ()
    ]
    faults = FAULTS.empty_table().from_pylist(rows, schema=FAULTS)
    return run(asked, Plan(made.peers, made.sessions, faults, **made.tables), path)


def follower(world: World, steps: list[Step], track: Any, **fields: Any) -> ScriptFollower:
    def create(environment: Environment) -> Flood:
        return Flood(environment, FloodParameters(period=1000))

    return ScriptFollower(world.host, Script(steps, []), WORKLOADS["topics"], create, track, seed=1, **fields)


def up(*ends: float) -> list[tuple[int, float, float]]:
    return [(peer, 0.0, end) for peer, end in enumerate(ends)]


def observed(outcome: Outcome, name: str) -> list[tuple[int, float, float]]:
    """Return peer, time and value of each observation of this name."""
    return [
        (span.attributes[names.PEER], round(span.start, 6), span.attributes[names.VALUE])
        for span in outcome.spans
        if span.attributes.get(names.OBSERVED) == name
    ]


def test_a_paused_peer_handles_in_order_at_the_end_what_came_and_was_due(
    diary: type[Diary], tmp_path: Path
) -> None:
    done: list[tuple[float, object]] = []

    def start(peer: Diary) -> None:
        environment = peer.environment

        def do(what: object) -> None:
            done.append((round(environment.now, 6), what))

        def timer_3() -> None:
            do("timer 3")
            later.cancel()

        if peer.peer == 0:
            for at in (1.5, 2.5, 3.5, 4.5, 5.5):
                environment.set_timer(at, partial(environment.send, 1, Pull(event=int(10 * at))))
            return
        environment.set_timer(3.8, lambda: do("timer 3.8"))
        later = environment.set_timer(4.0, lambda: do("was cancelled"))
        environment.set_timer(3.0, timer_3)

    def hear(peer: Diary, sender: int, message: Pull) -> None:
        done.append((round(peer.environment.now, 6), message.event))

    diary.on_start, diary.on_message = staticmethod(start), staticmethod(hear)
    outcome = run_with(diary_spec(2, faults=[STOPPED]), tmp_path, make_plan(2, up(10, 10)))
    waited = [25, "timer 3", 35, "timer 3.8", 45]
    assert done == [(1.55, 15), *((END, what) for what in waited), (5.55, 55)]
    assert outcome.fidelity.faults == [FaultReport("stopped", "pause", "virtual", 2.0, 5.0, 2.0, 5.0, 1, 6)]
    assert observed(outcome, "fault stopped begins") == [(1, BEGIN, 3.0)]
    assert observed(outcome, "fault stopped ends") == [(1, END, 6.0)]


def test_a_periodic_timer_of_a_paused_peer_makes_one_call_when_it_goes_on(
    diary: type[Diary], tmp_path: Path
) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(1.0, peer.tick))
    run_with(diary_spec(2, faults=[STOPPED]), tmp_path, make_plan(2, up(10, 10)))
    ticks = next(peer for peer in diary.lives if peer.peer == 1).ticks
    assert [at for at in ticks if at >= BEGIN] == [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert len([at for at in ticks if at < BEGIN]) == 2


def test_what_a_paused_peer_is_asked_for_it_does_when_it_goes_on(diary: type[Diary], tmp_path: Path) -> None:
    published: list[tuple[float, int]] = []

    def publish(peer: Diary, event: Event) -> None:
        published.append((peer.environment.now, event.number))

    diary.on_publish = staticmethod(publish)
    asked = diary_spec(2, faults=[STOPPED])
    made = make_plan(2, up(10, 10), [(1, 7, 3.0, 4.0), (1, 8, 4.5, 9.0)], [(3.0, 1, 7), (6.0, 1, 7)])
    outcome = run_with(asked, tmp_path, made)
    assert published == [(END, 0), (6.0, 1)]
    (peer,) = [each for each in diary.lives if each.peer == 1]
    assert [(what, at) for what, at, _ in peer.interests] == [
        ("subscribe", END),
        ("unsubscribe", END),
        ("subscribe", END),
        ("unsubscribe", 9.0),
    ]
    assert outcome.fidelity.valid


def test_a_peer_that_crashes_in_a_pause_never_handles_what_waited(diary: type[Diary], tmp_path: Path) -> None:
    def start(peer: Diary) -> None:
        if peer.peer == 0:
            peer.environment.set_timer(2.5, lambda: peer.environment.send(1, Pull(event=1)))
        else:
            peer.environment.set_timer(3.0, peer.tick)

    diary.on_start = staticmethod(start)
    asked = diary_spec(2, faults=[STOPPED])
    outcome = run_with(asked, tmp_path, make_plan(2, up(10, 4.0)))
    sender, gone = diary.lives
    assert not gone.received and not gone.ticks
    assert sender.unreachable == [(pytest.approx(4.5), 1)]
    assert outcome.fidelity.faults[0].waited == 0


def test_only_peers_that_are_up_when_a_pause_begins_are_paused(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(0.5, peer.tick))
    asked = diary_spec(2, faults=[STOPPED])
    outcome = run_with(asked, tmp_path, make_plan(2, [(0, 0.0, 10.0), (1, 3.0, 10.0)]))
    assert next(peer for peer in diary.lives if peer.peer == 1).ticks == [3.5]
    assert outcome.fidelity.faults[0].peers == 0


def test_rows_and_timers_of_a_paused_peer_come_in_the_order_in_which_they_were_due() -> None:
    queue = PausingQueue()
    queue.pause(3)
    for order, (at, receiver) in enumerate([(2.0, 3), (1.0, 3), (1.5, 4), (1.2, 3)]):
        queue.push_row(at, order, 7, receiver, 10 + order, 0, 20 + order, at - 0.5)
    assert queue.pop(5.0) is ROW_ARRIVES and (queue.receiver, queue.at) == (4, 1.5)
    assert queue.pop(5.0) is None
    nobodys = Call(6.0, 9, VirtualTimer(lambda: None, None))
    queue.push(nobodys)
    assert queue.pop(6.0) is nobodys and queue.go_on(3) == 3
    queue.push(later := Call(6.0, 10, VirtualTimer(lambda: None, None)))
    found = []
    while (entry := queue.pop(6.0)) is ROW_ARRIVES:
        found.append((queue.receiver, queue.sender, queue.row, queue.sent, queue.pool, queue.at))
    assert found == [(3, 11, 21, 0.5, 7, 6.0), (3, 13, 23, 0.7, 7, 6.0), (3, 10, 20, 1.5, 7, 6.0)]
    assert entry is later


def test_a_session_that_ends_in_a_pause_is_announced_by_nobody() -> None:
    churn = {"model": {"kind": "poisson", "mean_session": "20 s", "mean_gap": "5 s"}, "graceful": 1.0}
    given = {"churn": churn, "faults": [fault(lasts="20 s", at="10 s", pause={"share": 0.5})]}
    asked = diary_spec(50, end=60.0, **given)
    plan = draw_plan(asked)
    (hit,) = faults_hit(asked, plan)
    rows = [row for row in plan.sessions.to_pylist() if row["end_s"] < 60]
    silent = {(row["peer"], row["session"]) for row in rows if not row["graceful"]}
    stopped = [row for row in rows if row["peer"] in hit and row["start_s"] < 10 <= row["end_s"] < 30]
    assert silent and silent == {(row["peer"], row["session"]) for row in stopped}


def test_a_host_keeps_back_what_comes_and_is_due_at_a_paused_peer(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        stopped, other = world.add(0, Parts), world.add(1, Parts)
        session = world.host.sessions[0]
        done: list[object] = []

        def timer() -> None:
            done.append("timer")
            later.cancel()

        later = stopped.environment.set_timer(0.08, lambda: done.append("was cancelled"))
        stopped.environment.set_timer(0.05, timer)
        stopped.pull(1, event=3, timeout=0.001)
        stopped.environment.every(0.1, lambda: done.append("tick"))
        session.pause()
        other.environment.send(0, Goodbye())
        world.pass_time(0.3)
        assert not done and not stopped.ends and not stopped.heard
        assert session.go_on() == 6  # the time-out, the reply, a message, two timers and a tick
        world.run(lambda: session.waiting is None)
        assert stopped.ends == ["failed"] and len(stopped.heard) == 1
        assert sorted(map(str, done)) == ["tick", "timer"]
    finally:
        world.close()


def test_what_comes_while_a_peer_of_a_host_catches_up_waits_behind(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        world.add(0, Parts)
        session, done = world.host.sessions[0], list[int]()
        session.pause()
        for number in range(3):
            session.resume(None, partial(done.append, number))
        session.go_on()
        session.resume(None, partial(done.append, 3))
        session.pause()
        world.pass_time(0.05)
        assert done == [0]
        session.go_on()
        world.run(lambda: session.waiting is None)
        assert done == [0, 1, 2, 3]
    finally:
        world.close()


def test_who_sent_to_a_paused_peer_of_a_host_that_crashes_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        stopped, other = world.add(0, Parts), world.add(1, Parts)
        session = world.host.sessions[0]
        session.pause()
        other.environment.send(0, Goodbye())
        world.pass_time(2 * ONE_WAY)
        world.crash(0)
        session.go_on()
        world.run(lambda: other.unreachable)
        assert not stopped.heard and [peer for peer, _ in other.unreachable] == [0]
    finally:
        world.close()


CHURN: dict[str, Any] = {
    "churn": {"model": {"kind": "poisson", "mean_session": "20 s", "mean_gap": "5 s"}, "graceful": 0.5}
}


def sessions(asked: TrialSpec) -> list[tuple[int, float, float, bool]]:
    """Return peer, start, end and whether it ends gracefully, of each session of the plan."""
    rows = draw_plan(asked).sessions.to_pylist()
    return [(row["peer"], row["start_s"], row["end_s"], row["graceful"]) for row in rows]


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


AWAY = fault("no-tracker", bootstrap="away")


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
    assert (
        clock.due(4.0, 3.5) == 7.0
    )  # 2 pass in the first second, 1 in the next, 0.5 in the last
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
            [fault(crash={"share": 0.5, "state": "kept"})],
            "0.crash.state",
            "no protocol can be given its state",
        ),
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


def test_a_crash_of_peers_that_are_down_is_refused() -> None:
    crash = {"churn": {"crash": {"at": "20 s", "share": 1.0}}}
    faults = [fault("gone", "30 s", None, crash={"peers": [1, 2]})]
    with pytest.raises(ValueError, match=r"faults\.0\.crash: none of its 2 peers is up at 30 s"):
        draw_plan(diary_spec(4, end=60.0, **crash, faults=faults))


def test_a_pause_may_follow_another_one_and_hit_all_peers(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(3.0, peer.tick))
    asked = diary_spec(2, faults=[STOPPED, fault("again", at="5 s", pause={"peers": [0, 1]})])
    draw_plan(asked)
    outcome = run_with(asked, tmp_path, make_plan(2, up(10, 10)))
    assert [peer.ticks for peer in diary.lives] == [[3.0], [5.0]]
    assert [each.waited for each in outcome.fidelity.faults] == [1, 0]


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
