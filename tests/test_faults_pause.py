"""Peers that pause: what comes and what is due waits, and is handled in order at the end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import fault, observed, run_with, up
from realtime_world import ONE_WAY, Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run, trial_spec

from emulator.contract.protocol import Event
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import FaultReport
from emulator.runtime.plan_script import faults_hit
from emulator.runtime.virtual.event_queue import ROW_ARRIVES
from emulator.runtime.virtual.events import Call
from emulator.runtime.virtual.life import VirtualTimer
from emulator.runtime.virtual.paused_peers import PausingQueue
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import Pull

BEGIN, END = 2.0, 5.0


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


STOPPED = fault(pause={"peers": [1]})
PHASES = {"join": "1 s", "settle": "0 s", "measure": "9 s", "drain": "0 s"}


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


@pytest.mark.parametrize("turned", [False, True])
def test_a_pause_may_follow_another_one_and_hit_all_peers(
    diary: type[Diary], tmp_path: Path, turned: bool
) -> None:
    """Whatever place the file gives them: the first pause ends before the second one begins."""

    def start(peer: Diary) -> None:
        for at in (3.0, 6.0):
            peer.environment.set_timer(at, peer.tick)

    diary.on_start = staticmethod(start)
    both = [STOPPED, fault("again", at="5 s", pause={"peers": [0, 1]})]
    asked = diary_spec(2, faults=both[::-1] if turned else both)
    draw_plan(asked)
    outcome = run_with(asked, tmp_path, make_plan(2, up(10, 10)))
    assert [peer.ticks for peer in diary.lives] == [[3.0, 8.0], [5.0, 8.0]]
    assert {each.name: each.waited for each in outcome.fidelity.faults} == {"stopped": 1, "again": 2}


def test_a_pause_that_begins_when_another_one_ends_is_no_second_one_at_a_time() -> None:
    """1.1 + 2.2 is more than 3.3 as a sum of floating point numbers."""
    one, other = (
        fault(name, at, "2.2 s", pause={"share": 1.0}) for name, at in (("a", "1.1 s"), ("b", "3.3 s"))
    )
    assert [each.ends for each in diary_spec(2, faults=[one, other]).faults] == [3.3, 5.5]
    plan = draw_plan(diary_spec(2, end=10.0, phases=PHASES, faults=[one, other]))
    assert plan.faults.num_rows == 4


def test_a_pause_of_peers_that_are_not_up_is_refused() -> None:
    """No peer has joined by 0 s, and peer 1 crashes at 30 s, before its pause."""
    early = fault("early", "0 s", pause={"share": 0.5})
    late = fault("late", "31 s", pause={"peers": [1]})
    gone = fault("gone", "30 s", None, crash={"peers": [1]})
    with pytest.raises(ValueError, match=r"faults\.0\.pause: none of its 2 peers is up at 0 s"):
        draw_plan(diary_spec(4, end=60.0, faults=[early]))
    with pytest.raises(ValueError, match=r"faults\.0\.pause: none of its 1 peers is up at 31 s"):
        draw_plan(diary_spec(4, end=60.0, faults=[late, gone]))


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


def test_a_pause_does_the_same_to_rows_of_messages_as_to_messages(tmp_path: Path) -> None:
    """A world that checks the contract passes no rows on, and else does what the other one does."""
    given: dict[str, Any] = {
        "system": {"name": "vitis"},
        "peers": 10,
        "workload": {
            "subscriptions": {"kind": "random", "topics": 4, "per_peer": 2, "buckets": 1},
            "publications": {"events": 10},
        },
        "phases": {"join": "1 s", "settle": "5 s", "measure": "3 s", "drain": "2 s"},
        "faults": [fault("stopped", "5 s", "2 s", pause={"share": 0.3})],
    }
    plain = TrialSpec.model_validate(given)
    checked = TrialSpec.model_validate(given | {"runtime": {"kind": "virtual", "check": True}})
    first, second = (run(each, draw_plan(each), tmp_path / str(n)) for n, each in enumerate((plain, checked)))
    assert first.files() == second.files()
    (report,) = first.fidelity.faults
    assert report.peers == 3 and report.waited > 50 and first.fidelity.valid


def test_nobody_is_asked_at_a_peer_whose_session_ends_in_its_pause() -> None:
    """A peer that crashes in its pause never does what it is asked for, which would be a missed operation."""
    faults = [
        fault(lasts="20 s", at="10 s", pause={"number": 10}),
        fault("cut", "20 s", crash={"share": 0.5}),
    ]
    asked = trial_spec("chord", 20, 60.0, workload={"lookups": {"rate": 20}}, faults=faults)
    plan = draw_plan(asked)
    paused, crashed = (set(hit) for hit in faults_hit(asked, plan))
    asking = [(row["at_s"], row["peer"]) for row in plan.lookups.to_pylist()]
    assert {peer for at, peer in asking if 10 <= at < 20} == set(range(20)) - (paused & crashed)
    assert paused & crashed < {peer for at, peer in asking if at < 10}
