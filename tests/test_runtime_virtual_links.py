"""Messages on the virtual clock: delay, loss, who is unreachable, and who is told of whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from runtime_diary import LATENCY, Diary, both_up, diary_spec, diary_system, publish_once
from small_trial import make_plan, run
from trellis.v1.pubsub_pb2 import Notification, Pull

from emulator.network.build import build_network
from emulator.protocol import Contact


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def test_a_message_takes_the_delay_of_the_matrix(diary: type[Diary], tmp_path: Path) -> None:
    spec = diary_spec(4, network={"latency": {"kind": "king", "hosts": 4}})
    locations = [2, 0, 3, 1]
    plan = make_plan(4, [(peer, 0.0, 10.0) for peer in range(4)], locations=locations)

    def greet(peer: Diary) -> None:
        for other in range(4):
            peer.environment.set_timer(1.0, lambda other=other: peer.environment.send(other, Pull()))  # type: ignore[misc]

    diary.on_start = staticmethod(greet)
    run(spec, plan, tmp_path)
    network = build_network(spec.network, locations, spec.seed)
    arrivals = {(sender, p.peer): at for p in diary.lives for at, sender, _ in p.received}
    assert len(arrivals) == 16
    for (sender, receiver), at in arrivals.items():
        assert at == pytest.approx(1.0 + network.one_way(sender, receiver), abs=1e-12)


def test_messages_between_two_peers_arrive_in_order_of_sending(diary: type[Diary], tmp_path: Path) -> None:
    def send_many(peer: Diary) -> None:
        for number in range(20):
            peer.environment.send(1 - peer.peer, Pull(event=number))

    diary.on_start = staticmethod(send_many)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 10.0)]), tmp_path)
    assert all([m.event for _, _, m in p.received] == list(range(20)) for p in diary.lives)  # type: ignore[attr-defined]


def test_a_sender_learns_that_a_peer_is_down_after_the_time_out(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.send(1, Pull()) if peer.peer == 0 else None)
    run(diary_spec(), make_plan(2, [(0, 1.0, 10.0), (1, 5.0, 10.0)]), tmp_path)
    sender, receiver = diary.lives
    assert sender.unreachable == [(3.0, 1)]
    assert receiver.received == []


def test_a_peer_that_left_gets_nothing(diary: type[Diary], tmp_path: Path) -> None:
    def send_twice(peer: Diary) -> None:
        if peer.peer == 0:
            for delay in (1.0, 4.0 - LATENCY / 2):
                peer.environment.set_timer(delay, lambda: peer.environment.send(1, Pull()))

    diary.on_start = staticmethod(send_twice)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 4.0)]), tmp_path)
    sender, receiver = diary.lives
    assert [at for at, _, _ in receiver.received] == [pytest.approx(1.0 + LATENCY)]
    assert sender.unreachable == [(pytest.approx(6.0 - LATENCY / 2), 1)]


def test_who_crashed_does_not_learn_that_others_were_unreachable(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.send(1, Pull()))
    run(diary_spec(), make_plan(2, [(0, 1.0, 2.0), (0, 2.5, 10.0)]), tmp_path)
    first, second = diary.lives
    assert first.unreachable == []
    assert second.unreachable == [(4.5, 1)]


def test_only_a_graceful_leave_is_announced_to_the_protocol(diary: type[Diary], tmp_path: Path) -> None:
    for graceful in (True, False):
        diary.lives.clear()
        plan = make_plan(2, [(0, 0.0, 2.0), (1, 0.0, 10.0)], graceful=graceful)
        run(diary_spec(), plan, tmp_path / str(graceful))
        assert [peer.stopped for peer in diary.lives] == [[True] if graceful else [], []]


def test_bootstrap_contacts_are_live_and_never_oneself(diary: type[Diary], tmp_path: Path) -> None:
    sessions = [(0, 0.0, 3.0), *((peer, float(peer), 30.0) for peer in range(1, 20))]
    run(diary_spec(20, 30.0), make_plan(20, sessions), tmp_path)
    for peer in diary.lives:
        live = {other for other, start, end in sessions if start < peer.peer < end}
        if peer.peer == 3:
            live.discard(0)
        assert len(peer.contacts) == min(3, len(live))
        assert set(peer.contacts) <= live


def test_the_bootstrap_service_can_be_asked_again(diary: type[Diary], tmp_path: Path) -> None:
    answers: list[tuple[int, set[int]]] = []

    def ask(peer: Diary) -> None:
        def answer(contacts: Sequence[Contact]) -> None:
            answers.append((peer.peer, {contact.peer for contact in contacts}))

        peer.environment.set_timer(5.0, lambda: peer.environment.find_contacts(answer))

    diary.on_start = staticmethod(ask)
    run(diary_spec(3), make_plan(3, [(peer, 0.0, 10.0) for peer in range(3)]), tmp_path)
    assert answers == [(0, {1, 2}), (1, {0, 2}), (2, {0, 1})]


def test_loss_drops_about_its_share_and_nobody_is_told(diary: type[Diary], tmp_path: Path) -> None:
    def flood(peer: Diary) -> None:
        for _ in range(2000):
            peer.environment.send(1 - peer.peer, Pull())

    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(1.0, lambda: flood(peer)))
    run(diary_spec(network={"loss": 0.2}), make_plan(2, both_up(10.0)), tmp_path)
    arrived = sum(len(peer.received) for peer in diary.lives)
    assert arrived / 4000 == pytest.approx(0.8, abs=0.03)
    assert all(not peer.unreachable for peer in diary.lives)


def test_jitter_only_adds(diary: type[Diary], tmp_path: Path) -> None:
    def flood(peer: Diary) -> None:
        for _ in range(200):
            peer.environment.send(1 - peer.peer, Pull())

    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(1.0, lambda: flood(peer)))
    run(diary_spec(network={"jitter": "10 ms"}), make_plan(2, both_up(10.0)), tmp_path)
    delays = [at - 1.0 for peer in diary.lives for at, _, _ in peer.received]
    assert min(delays) >= LATENCY
    assert max(delays) > LATENCY + 0.010


def test_sent_messages_are_counted_and_told(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    diary.on_start = staticmethod(lambda peer: peer.environment.every(1.0, lambda: None))
    outcome = publish_once(diary, tmp_path)
    assert outcome.fidelity.measured["messages"] == 1
    assert outcome.fidelity.valid
    assert outcome.directory.fidelity.exists()
