"""Messages on the virtual clock: delay, loss, who is unreachable, and who is told of whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from runtime_diary import LATENCY, Diary, both_up, diary_spec, diary_system, publish_once
from small_trial import Outcome, make_plan, run, values

from emulator.contract.message_pool import MessagePool
from emulator.network.build_network import build_network
from emulator.runtime.breaches import CHECKED
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records
from trellis.v1.overlay import LookupRequest, Routed
from trellis.v1.pubsub import EventData, Notification, Pull


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


class Pulls(MessagePool):
    """A pool whose rows all stand for the same message; nothing of it may arrive as a row."""

    def byte_size(self, row: int) -> int:
        return Pull().byte_size()

    def view(self, row: int) -> Pull:
        return Pull()

    def hold(self, row: int) -> None: ...

    def release(self, row: int) -> None: ...

    def leave(self, peer: int) -> None: ...

    def receive(self, peer: int, sender: int, row: int, now: float) -> bool:
        raise AssertionError("the row has arrived")


@pytest.mark.parametrize("as_row", [False, True])
@pytest.mark.parametrize("number", [-1, 2])
def test_a_message_to_a_peer_that_no_trial_has_reaches_nobody_and_is_told(
    diary: type[Diary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, as_row: bool
) -> None:
    """Python would take -1 for the last peer."""
    monkeypatch.delenv(CHECKED)  # a checked trial passes no rows on

    def send(peer: Diary) -> None:
        if peer.peer == 0 and as_row:
            # Rows belong to no operation, as what a period's timer sends.
            peer.environment.every(6.0, lambda: peer.environment.send_row(number, Pulls(), 0))
        elif peer.peer == 0:
            peer.environment.every(6.0, lambda: peer.environment.send(number, Pull()))

    diary.on_start = staticmethod(send)
    outcome = run(diary_spec(), make_plan(2, [(0, 1.0, 10.0), (1, 0.0, 10.0)]), tmp_path)
    assert all(not peer.received for peer in diary.lives)
    (sender,) = (peer for peer in diary.lives if peer.peer == 0)
    assert {peer for _, peer in sender.unreachable} == {number}
    (told,) = outcome.fidelity.dropped
    assert "Pull" in told and "its receiver does not exist" in told


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
        def answer(contacts: Sequence[int]) -> None:
            answers.append((peer.peer, set(contacts)))

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


def test_a_peer_has_the_role_of_the_plan(diary: type[Diary], tmp_path: Path) -> None:
    run(diary_spec(), make_plan(2, both_up(10.0), roles={1: "server"}), tmp_path)
    assert [peer.environment.role for peer in diary.lives] == ["peer", "server"]


def test_lives_are_numbered(diary: type[Diary], tmp_path: Path) -> None:
    run(diary_spec(), make_plan(2, [(0, 0.0, 2.0), (0, 3.0, 5.0), (0, 6.0, 10.0)]), tmp_path)
    assert [peer.environment.session for peer in diary.lives] == [0, 1, 2]


def pulling(peer: Diary, ends: list[tuple[float, object]], timeout: float) -> None:
    """Ask peer 1 for event 5, which it serves on a channel of its own."""
    part = peer.environment.channel("part")
    if peer.peer == 1:
        part.serve(Pull, lambda sender, pull: EventData(event=pull.event) if sender == 0 else None)
    else:
        part.request(
            1,
            Pull(event=5),
            timeout,
            lambda reply: ends.append((peer.environment.now, reply)),
            lambda: ends.append((peer.environment.now, "failed")),
        )


@pytest.mark.parametrize(
    ("asking", "sessions", "timeout", "end"),
    [
        (0, [(1, 0.0, 10.0), (0, 1.0, 10.0)], 3.0, (1.0 + 2 * LATENCY, EventData(event=5))),
        (0, [(1, 0.0, 10.0), (0, 1.0, 10.0)], LATENCY, (1.0 + LATENCY, "failed")),
        (2, [(1, 0.0, 10.0), (2, 1.0, 10.0)], 3.0, (4.0, "failed")),
        (0, [(1, 9.0, 10.0), (0, 1.0, 10.0)], 5.0, (3.0, "failed")),
        (0, [(1, 9.0, 10.0), (0, 1.0, 10.0)], 1.0, (2.0, "failed")),
    ],
    ids=["replied", "too late", "not answered", "unreachable", "timed out before that is known"],
)
def test_a_request_ends_once(
    diary: type[Diary],
    tmp_path: Path,
    asking: int,
    sessions: list[tuple[int, float, float]],
    timeout: float,
    end: tuple[float, object],
) -> None:
    ends: list[tuple[float, object]] = []
    diary.on_start = staticmethod(lambda peer: pulling(peer, ends, timeout))
    run(diary_spec(3), make_plan(3, sessions), tmp_path)
    ((at, what),) = ends
    assert (at, what) == (pytest.approx(end[0]), end[1])


def test_a_reply_to_an_earlier_life_is_none_of_the_later_one(diary: type[Diary], tmp_path: Path) -> None:
    ends: list[tuple[float, object]] = []
    diary.on_start = staticmethod(lambda peer: pulling(peer, ends, 3.0))
    again = 1.0 + 1.5 * LATENCY
    sessions = [(1, 0.0, again), (0, 1.0, 1.0 + LATENCY), (0, again, 10.0)]
    run(diary_spec(3), make_plan(3, sessions), tmp_path)
    assert [what for _, what in ends] == ["failed"]


def test_what_encloses_another_message_is_counted_by_the_kind_of_that_one(
    diary: type[Diary], tmp_path: Path
) -> None:
    def begin(peer: Diary) -> None:
        if peer.peer == 0:
            for message in (EventData(), LookupRequest(), LookupRequest()):
                peer.environment.send(1, Routed(message=message))
        peer.environment.handle(Routed, lambda sender, message: None)

    diary.on_start = staticmethod(begin)
    outcome = run(diary_spec(), make_plan(2, [(1, 0.0, 10.0), (0, 1.0, 10.0)]), tmp_path)
    assert sent_by_kind(outcome, "Routed") == {"event": 1, "control": 2}


def sent_by_kind(outcome: Outcome, message: str) -> dict[str, int]:
    """Return how many messages of a type were sent until the last interval, by their kinds."""
    totals: dict[str, int] = {}
    (file,) = outcome.directory.telemetry.glob("*-metrics-*.otlp")
    for record in read_records(file):
        for metric in MetricsData.FromString(record).resource_metrics[0].scope_metrics[0].metrics:
            for point in metric.sum.data_points if metric.name == names.SENT_MESSAGES else ():
                told = values(point.attributes)
                if told[names.MESSAGE_TYPE] == message:
                    totals[told[names.MESSAGE_KIND]] = point.as_int
    return totals


def test_sent_messages_are_counted_and_told(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    diary.on_start = staticmethod(lambda peer: peer.environment.every(1.0, lambda: None))
    outcome = publish_once(diary, tmp_path)
    assert outcome.fidelity.measured["messages"] == 1
    assert outcome.fidelity.valid
    assert outcome.directory.fidelity.exists()
