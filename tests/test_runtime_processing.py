"""Peers take time for each message that they handle, one after the other."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import fault, run_with
from realtime_world import ONE_WAY, Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import Outcome, make_plan, run, trial_spec

from emulator.contract.registry import WORKLOADS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import PEERS, PROCESSING
from emulator.fleet.host.assignment import put_script, script_in
from emulator.messages.message import Message
from emulator.network.busy_peers import PROCESSING_DROP, BusyPeers
from emulator.network.processing_spec import Processing
from emulator.runtime.plan_script import script_of
from emulator.runtime.realtime.busy_time import BusyTimes
from emulator.runtime.realtime.session import Session
from emulator.telemetry import names
from trellis.v1 import control_pb2
from trellis.v1.overlay import Goodbye
from trellis.v1.pastry import Ping
from trellis.v1.pubsub import Pull

MS = 1_000_000


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def busy(**keys: Any) -> Processing:
    return Processing.model_validate(keys)


def test_messages_are_handled_one_after_the_other() -> None:
    peers = BusyPeers(busy(message="2 ms"), {})
    assert [peers.handled_at(0, 0, at * MS) for at in (0, 1, 10, 10)] == [2 * MS, 4 * MS, 12 * MS, 14 * MS]
    assert peers.handled_at(1, 0, 11 * MS) == 13 * MS, "another peer is free"
    assert peers.handled_at(0, 1, 11 * MS) == 13 * MS, "a new life has nothing to do"


def test_what_would_wait_too_long_takes_no_time() -> None:
    peers = BusyPeers(busy(message="2 ms", queue="3 ms"), {})
    assert [peers.handled_at(0, 0, 0) for _ in range(4)] == [2 * MS, 4 * MS, -1, -1]
    assert peers.handled_at(0, 0, 1 * MS) == 6 * MS


def test_a_peer_that_is_paused_stands_still_and_needs_as_long_as_before() -> None:
    peers = BusyPeers(busy(message="2 ms"), {})
    assert [peers.handled_at(0, 0, at * MS) for at in (0, 1)] == [2 * MS, 4 * MS]
    peers.pause(0, 3 * MS)
    assert peers.stood_still(0) == 0 and peers.handled_at(1, 0, 3 * MS) == 5 * MS
    peers.go_on(0, 10 * MS)
    assert (peers.stood_still(0), peers.stood_still(1)) == (7 * MS, 0)
    assert peers.handled_at(0, 0, 10 * MS) == 13 * MS, "the second message had a millisecond left"
    peers.pause(0, 20 * MS)
    peers.go_on(0, 21 * MS)
    peers.go_on(0, 23 * MS)
    assert peers.stood_still(0) == 8 * MS and peers.handled_at(0, 0, 23 * MS) == 25 * MS


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_messages_wait_as_long_as_the_theory_of_queues_says(load: float) -> None:
    """M/D/1: the mean wait is load / (2 (1 - load)) times the time of a message."""
    peers, draw = BusyPeers(busy(message="1 ms"), {}), random.Random(7)
    now, waited, count = 0.0, 0, 200_000
    for _ in range(count):
        now += draw.expovariate(load) * MS
        waited += peers.handled_at(0, 0, round(now)) - round(now) - MS
    assert waited / count / MS == pytest.approx(load / (2 * (1 - load)), rel=0.02)


def trial(
    diary: type[Diary], tmp_path: Path, processing: dict[str, Any], sessions: list[tuple[int, float, float]]
) -> tuple[list[tuple[float, int]], Outcome]:
    """Have peer 0 send three messages to peer 1 at 1 s, which sends back each; when peer 0 gets which."""

    def start(peer: Diary) -> None:
        if peer.peer == 0:
            for number in (1, 2, 3):
                peer.environment.set_timer(1.0, partial(peer.environment.send, 1, Pull(event=number)))

    def hear(peer: Diary, sender: int, message: Pull) -> None:
        if peer.peer == 1:
            peer.environment.send(0, message)

    diary.on_start, diary.on_message = staticmethod(start), staticmethod(hear)
    outcome = run(diary_spec(2, processing=processing), make_plan(2, sessions), tmp_path)
    (asking,) = (peer for peer in diary.lives if peer.peer == 0)
    return [(round(at, 6), message.event) for at, _, message in asking.received], outcome  # type: ignore[attr-defined]


UP = [(0, 0.0, 10.0), (1, 0.0, 10.0)]


def test_both_ends_take_their_time_on_the_virtual_clock(diary: type[Diary], tmp_path: Path) -> None:
    got, _ = trial(diary, tmp_path, {"message": "200 ms"}, UP)
    assert got == [(1.5, 1), (1.7, 2), (1.9, 3)]


def test_a_full_queue_drops_and_tells(diary: type[Diary], tmp_path: Path) -> None:
    got, outcome = trial(diary, tmp_path, {"message": "200 ms", "queue": "300 ms"}, UP)
    assert got == [(1.5, 1), (1.7, 2)]
    told = [span.attributes for span in outcome.spans if span.name == names.OBSERVATION]
    assert [(each[names.OBSERVED], each[names.PEER], each[names.SUBJECT]) for each in told] == [
        (PROCESSING_DROP, 1, 0)
    ]


def test_what_waits_at_a_peer_that_goes_is_never_handled(diary: type[Diary], tmp_path: Path) -> None:
    sessions = [(0, 0.0, 10.0), (1, 0.0, 1.3), (1, 1.35, 10.0)]
    got, _ = trial(diary, tmp_path, {"message": "200 ms"}, sessions)
    assert got == [(1.5, 1)]
    (asking,) = (peer for peer in diary.lives if peer.peer == 0)
    assert [peer for _, peer in asking.unreachable] == [1, 1]
    assert [len(peer.received) for peer in diary.lives if peer.peer == 1] == [1, 0]


def test_a_paused_peer_takes_its_time_for_each_message_when_it_goes_on(
    diary: type[Diary], tmp_path: Path
) -> None:
    """Messages come at 1.05 to 4.05 s; the peer has .45 s left of the first when its pause begins."""

    def start(peer: Diary) -> None:
        if peer.peer == 0:
            for at in (1.0, 1.05, 2.0, 4.0):
                peer.environment.set_timer(at, partial(peer.environment.send, 1, Pull(event=int(100 * at))))

    diary.on_start = staticmethod(start)
    asked = diary_spec(
        2,
        processing={"message": "600 ms"},
        faults=[fault(at="1200 ms", lasts="1800 ms", pause={"peers": [1]})],
    )
    outcome = run_with(asked, tmp_path, make_plan(2, UP))
    (slow,) = (peer for peer in diary.lives if peer.peer == 1)
    told = [(round(at, 6), message.event) for at, _, message in slow.received]  # type: ignore[attr-defined]
    assert told == [(3.45, 100), (4.05, 105), (4.65, 200), (5.25, 400)]
    assert outcome.fidelity.faults[0].waited == 3, "two messages were in hand and one came"


def test_a_time_out_that_was_due_in_a_pause_comes_before_a_reply_that_takes_time(
    diary: type[Diary], tmp_path: Path
) -> None:
    """Peer 1 asks at 1 s, is paused at 1.2 s, and waits for at most a second."""
    ends: list[tuple[str, float]] = []

    def start(peer: Diary) -> None:
        environment = peer.environment
        environment.serve(Ping, lambda sender, message: message)
        if peer.peer == 1:
            ask = partial(
                environment.request,
                *(0, Ping(), 1.0),
                lambda reply: ends.append(("reply", environment.now)),
                lambda: ends.append(("late", environment.now)),
            )
            environment.set_timer(1.0, ask)

    diary.on_start = staticmethod(start)
    paused = fault(at="1200 ms", lasts="1800 ms", pause={"peers": [1]})
    asked = diary_spec(2, processing={"message": "300 ms"}, faults=[paused])
    run_with(asked, tmp_path, make_plan(2, UP))
    assert ends == [("late", 3.0)]


def test_what_a_peer_had_in_hand_when_it_was_paused_and_crashed_is_told_to_who_sent_it(
    diary: type[Diary], tmp_path: Path
) -> None:
    diary.on_start = staticmethod(
        lambda peer: (
            None if peer.peer else peer.environment.set_timer(1.0, partial(peer.environment.send, 1, Pull()))
        )
    )
    paused = fault(at="1200 ms", lasts="5 s", pause={"peers": [1]})
    asked = diary_spec(2, processing={"message": "600 ms"}, faults=[paused])
    run_with(asked, tmp_path, make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 3.0)]))
    sender, gone = diary.lives
    assert not gone.received and [peer for _, peer in sender.unreachable] == [1]


def test_timers_of_a_busy_peer_keep_their_time(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(0.1, peer.tick))
    run(diary_spec(2, end=2.0, processing={"message": "1 s"}), make_plan(2, [(0, 0.0, 2.0)]), tmp_path)
    assert len(diary.lives[0].ticks) in (19, 20)


def listening(came: list[float]) -> type[Parts]:
    """Return an application that notes when messages come to it."""

    class Listening(Parts):
        def hear(self, name: str, sender: int, message: Message) -> None:
            came.append(self.environment.now)

    return Listening


def test_a_host_in_real_time_has_messages_wait_as_well(tmp_path: Path) -> None:
    world = World(tmp_path, busy=BusyPeers(busy(message="100 ms"), {}))
    came: list[float] = []
    try:
        world.add(2, listening(came))
        sender = world.add(1, Parts)
        sent = world.host.clock.now()
        for _ in range(3):
            sender.environment.send(2, Goodbye())
        world.run(lambda: len(came) == 3)
    finally:
        world.close()
    assert world.host.turns is not None
    (told,) = world.host.turns.achieved.of_class
    assert told.messages == 3 and 0.3 <= told.busy_ns * 1e-9 <= world.host.clock.now() - sent
    gaps = [after - before for before, after in zip([sent, *came], came, strict=False)]
    assert gaps[1:] == pytest.approx([0.1, 0.1], abs=0.02) and gaps[0] >= 0.1


def test_a_paused_peer_of_a_host_takes_its_time_for_each_message_when_it_goes_on(tmp_path: Path) -> None:
    """The first message has most of its time left at the pause; the second comes in the pause."""
    world = World(tmp_path, busy=BusyPeers(busy(message="300 ms"), {}))
    came: list[float] = []
    try:
        world.add(2, listening(came))
        sender, slow = world.add(1, Parts), world.host.sessions[2]
        sent = world.host.clock.now()
        sender.environment.send(2, Goodbye())
        world.pass_time(ONE_WAY + 0.02)
        slow.pause()
        sender.environment.send(2, Goodbye())
        world.pass_time(0.4)
        assert not came
        slow.go_on()
        went_on = world.host.clock.now()
        world.run(lambda: len(came) == 2)
    finally:
        world.close()
    assert came[0] - went_on > 0.1 and came[1] - came[0] > 0.25
    assert world.host.turns is not None
    (told,) = world.host.turns.achieved.of_class
    assert told.messages == 2
    assert 0.58 <= told.busy_ns * 1e-9 <= world.host.clock.now() - sent - 0.4, "the pause is left out"


def test_what_waited_when_its_peer_crashed_and_came_back_with_its_state_kept_nobody_busy(
    tmp_path: Path,
) -> None:
    """The message reaches peer 2 before the crash, and its turn ends when the peer is up again."""
    world = World(tmp_path, busy=BusyPeers(busy(message="150 ms"), {}))
    came: list[float] = []
    try:
        world.add(2, listening(came))
        sender, crashed = world.add(1, Parts), world.host.sessions[2]
        sender.environment.send(2, Goodbye())
        world.pass_time(ONE_WAY + 0.05)
        crashed.came_back = world.host.clock.now()
        world.run(lambda: sender.unreachable)
    finally:
        world.close()
    assert world.host.turns is not None
    (told,) = world.host.turns.achieved.of_class
    assert not came and (told.messages, told.busy_ns) == (0, 0)


def test_a_peer_is_busy_from_a_message_or_from_the_one_before_it_until_its_handler_is_done(
    tmp_path: Path,
) -> None:
    """Peer 1 has messages in hand from 10 to 18 and from 30 to 34 ms, and stands still for 3 ms of these."""
    peers = BusyPeers(busy(classes=[QUICK, QUICK | {"name": "other", "message": "4 ms"}]), {1: 1})
    world = World(tmp_path, busy=peers)
    lives = ((1, 0), (1, 1), (2, 0))
    one, again, other = (Session(world.host, *life, random.Random(0)) for life in lives)
    world.close()
    times = BusyTimes(peers)
    times.note(one, 10 * MS, 0, 14 * MS)
    times.note(one, 11 * MS, 0, 18 * MS)
    peers.pause(1, 31 * MS)
    peers.go_on(1, 34 * MS)
    times.note(one, 30 * MS, 0, 37 * MS)
    times.note(other, 10 * MS, 0, 11 * MS)
    times.note(again, 36 * MS, 3 * MS, 38 * MS)
    quick, slow = times.of_class
    assert (quick.messages, quick.busy_ns) == (1, 1 * MS)
    assert (slow.messages, slow.busy_ns) == (4, 14 * MS), "what a new life has in hand is its own"


QUICK = {"name": "quick", "share": 0.5, "message": "1 ms"}
SLOW = {
    "classes": [
        {"name": "plain", "share": 0.9, "message": "50 us"},
        {"name": "slow", "share": 0.1, "message": "20 ms"},
    ]
}


def asked(peers: int, processing: dict[str, Any]) -> TrialSpec:
    return trial_spec("vitis", peers, 10.0, processing=processing)


def test_classes_are_drawn_from_the_seed_and_reach_the_hosts() -> None:
    plan = draw_plan(asked(100, SLOW))
    assert plan.peers.schema == PEERS.append(PROCESSING)
    classes = plan.peers["processing_class"].to_pylist()
    assert classes.count(1) == 10 and classes != sorted(classes)
    slow = {peer for peer, of in enumerate(classes) if of}
    kind = WORKLOADS["topics"]
    assignment = control_pb2.Assignment()
    put_script(assignment, script_of(plan, kind, 10.0, range(50)), kind)
    assert set(script_in(assignment, kind).processing) == {peer for peer in slow if peer < 50}
    assert [*busy(**SLOW).times_ns()] == [50_000, 20 * MS]
    found = BusyPeers(busy(**SLOW), script_of(plan, kind, 10.0).processing)
    assert {peer for peer in range(100) if found.handled_at(peer, 0, 0) == 20 * MS} == slow


def test_a_plan_without_classes_has_the_columns_that_it_had() -> None:
    assert draw_plan(asked(20, {"message": "1 ms"})).peers.schema == PEERS
    assert "processing" not in diary_spec(20).model_dump()


@pytest.mark.parametrize(
    "processing, key, words",
    [
        ({}, "message", "no peer takes any time"),
        ({"message": "1 ms", "classes": SLOW["classes"]}, "message", "Move it into a class"),
        ({"classes": [{"name": "a", "share": 0.5, "message": "1 ms"}]}, "classes", "add up to 0.5"),
        ({"classes": [{"name": "a", "share": 1.0, "message": "0 s"}]}, "classes", "no peer takes any time"),
    ],
)
def test_times_that_cannot_be_are_refused(processing: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError, match=rf"processing\.{key}: .*{words}"):
        draw_plan(asked(20, processing))
