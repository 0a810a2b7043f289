"""Operations on the virtual clock: what belongs to a trace, and what its spans say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from google.protobuf.message import Message
from runtime_diary import LATENCY, Diary, both_up, diary_spec, diary_system, hops, publish_once
from small_trial import make_plan, run
from trellis.v1.pubsub_pb2 import EventData, Notification, Pull

from emulator.protocol import Delay, Event
from emulator.telemetry import names


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def test_a_trace_follows_messages_and_single_timers(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))

    def answer(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, Notification):
            peer.environment.set_timer(1.0, lambda: peer.environment.send(sender, Pull(event=0)))

    diary.on_message = staticmethod(answer)
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == [
        ("Notification", 4.0, 4.0 + LATENCY, 1),
        ("Pull", 5.0 + LATENCY, 5.0 + 2 * LATENCY, 2),
    ]
    (root,) = [span for span in outcome.spans if span.name == "publish"]
    notification, pull = sorted(
        (s for s in outcome.spans if names.DEPTH in s.attributes), key=lambda s: s.end
    )
    assert root.trace == notification.trace == pull.trace
    assert (notification.parent, pull.parent) == (root.span, notification.span)
    assert notification.attributes[names.SENDER] == pull.attributes[names.PEER] == 0
    assert [s.attributes[names.INTERESTED] for s in (root, notification, pull)] == [False, True, False]
    assert notification.attributes[names.TOPIC] == 7
    assert notification.attributes[names.BYTES] == Notification(event=0).ByteSize()


@pytest.mark.parametrize("delay", [3.0, math.inf])
def test_a_hastened_timer_fires_once_at_once_and_in_its_own_trace(
    diary: type[Diary], tmp_path: Path, delay: float
) -> None:
    waiting: list[Delay] = []

    def publish(peer: Diary, event: Event) -> None:
        waiting.append(peer.environment.set_timer(delay, lambda: peer.environment.send(1, Pull(event=0))))

    diary.on_publish = staticmethod(publish)
    diary.on_start = staticmethod(
        lambda peer: peer.environment.set_timer(5.0, lambda: [timer.hasten() for timer in waiting])
    )
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == [("Pull", 5.0, 5.0 + LATENCY, 1)]
    (pull,) = [span for span in outcome.spans if names.DEPTH in span.attributes]
    (root,) = [span for span in outcome.spans if span.name == "publish"]
    assert (pull.trace, pull.parent) == (root.trace, root.span)


def test_a_timer_with_an_infinite_delay_waits_for_ever(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(
        lambda peer, event: peer.environment.set_timer(math.inf, lambda: peer.environment.send(1, Pull()))
    )
    assert hops(publish_once(diary, tmp_path)) == []


def test_a_trace_does_not_follow_periodic_timers(diary: type[Diary], tmp_path: Path) -> None:
    def publish(peer: Diary, event: Event) -> None:
        peer.environment.every(1.0, lambda: peer.environment.send(1, Pull(event=0)))

    diary.on_publish = staticmethod(publish)
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == []
    assert len(diary.lives[1].received) in (5, 6)


def test_maintenance_between_the_messages_of_operations_is_not_traced(
    diary: type[Diary], tmp_path: Path
) -> None:
    peers = range(1, 12)

    def publish(peer: Diary, event: Event) -> None:
        for other in peers:
            peer.environment.send(other, EventData(event=event.number))

    def answer(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, Pull):
            peer.environment.send(sender, Notification(event=0))
        elif isinstance(message, EventData):
            peer.environment.set_timer(0.013, peer.tick)

    def begin(peer: Diary) -> None:
        if peer.peer:
            peer.environment.every(0.3, lambda: peer.environment.send(0, Pull(event=0)))

    diary.on_publish, diary.on_message = staticmethod(publish), staticmethod(answer)
    diary.on_start = staticmethod(begin)
    publications = [(3.0 + number * 0.37, 0, 7) for number in range(12)]
    plan = make_plan(12, [(peer, 0.0, 10.0) for peer in range(12)], [], publications)
    outcome = run(diary_spec(12), plan, tmp_path)
    assert {name for name, _, _, _ in hops(outcome)} == {"EventData"}
    assert all(len(peer.ticks) == 12 for peer in diary.lives if peer.peer)


def test_what_follows_from_an_unreachable_peer_belongs_to_the_trace(
    diary: type[Diary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(2, Notification(event=0)))
    monkeypatch.setattr(
        diary, "on_unreachable", lambda peer, other: peer.environment.send(1, Pull(event=0)), raising=False
    )
    plan = make_plan(3, both_up(10.0), [], [(4.0, 0, 7)])
    outcome = run(diary_spec(3), plan, tmp_path)
    assert hops(outcome) == [("Pull", 6.0, 6.0 + LATENCY, 1)]


def test_a_delivery_is_marked_on_the_span_of_its_message_alone(diary: type[Diary], tmp_path: Path) -> None:
    def publish(peer: Diary, event: Event) -> None:
        peer.environment.send(1, EventData(event=event.number))
        peer.environment.send(1, Pull(event=event.number))

    def deliver(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, EventData):
            peer.environment.deliver(Event(message.event, 0, 7, hops=3))

    diary.on_publish = staticmethod(publish)
    diary.on_message = staticmethod(deliver)
    outcome = publish_once(diary, tmp_path)
    (span,) = [span for span in outcome.spans if span.attributes.get(names.DELIVERED)]
    assert (span.name, span.attributes[names.HOPS]) == ("EventData", 3)
    assert outcome.deliveries() == {(0, 1): 1}


def test_what_its_own_publisher_is_given_is_no_delivery(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.deliver(event))
    outcome = publish_once(diary, tmp_path)
    assert [span.name for span in outcome.spans if span.name == "publish"]
    assert not any(names.DELIVERED in span.attributes for span in outcome.spans)


def test_a_delivery_of_maintenance_marks_no_later_span(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(
        lambda peer: peer.environment.every(0.5, lambda: peer.environment.deliver(Event(0, 0, 7)))
    )
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    diary.on_message = staticmethod(lambda peer, _, message: peer.environment.set_timer(0.1, peer.tick))
    outcome = publish_once(diary, tmp_path)
    assert diary.lives[1].ticks
    assert not any(names.DELIVERED in span.attributes for span in outcome.spans)


def test_spans_say_who_is_interested_at_the_time(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    publications = [(at, 0, 7) for at in (1.0, 3.0, 5.0)]
    plan = make_plan(2, both_up(10.0), [(1, 7, 2.0, 4.0)], publications)
    outcome = run(diary_spec(), plan, tmp_path)
    told = sorted((s.end, s.attributes[names.INTERESTED]) for s in outcome.spans if s.name == "Notification")
    assert [interested for _, interested in told] == [False, True, False]


def test_interests_of_an_earlier_life_are_forgotten(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    plan = make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 1.0), (1, 3.0, 10.0)], [(1, 7, 0.0, 2.0)], [(4.0, 0, 7)])
    outcome = run(diary_spec(), plan, tmp_path)
    (span,) = [span for span in outcome.spans if span.name == "Notification"]
    assert not span.attributes[names.INTERESTED]


def test_operations_of_the_plan_reach_the_protocol_in_order(diary: type[Diary], tmp_path: Path) -> None:
    subscriptions = [
        (0, 7, 0.0, 10.0),
        (0, 8, 0.0, 4.0),
        (0, 9, 5.0, 6.0),
        (0, 3, 0.5, 1.0),
        (0, 4, 0.5, 10.0),
    ]
    plan = make_plan(2, [(0, 2.0, 10.0), (1, 0.0, 10.0)], subscriptions, [(1.5, 0, 7), (4.5, 0, 7)])
    published: list[float] = []
    diary.on_publish = staticmethod(lambda peer, event: published.append(peer.environment.now))
    outcome = run(diary_spec(), plan, tmp_path)
    (peer,) = [peer for peer in diary.lives if peer.peer == 0]
    interests = [(what, at, interest.topic) for what, at, interest in peer.interests]  # type: ignore[union-attr]
    assert sorted(interests[:3]) == [("subscribe", 2.0, topic) for topic in (4, 7, 8)]
    assert interests[3:] == [("unsubscribe", 4.0, 8), ("subscribe", 5.0, 9), ("unsubscribe", 6.0, 9)]
    assert published == [4.5]
    operations = sorted((s.start, s.name) for s in outcome.spans if s.attributes[names.PEER] == 0)
    assert operations == [
        (2.0, "join"),
        (4.0, "unsubscribe"),
        (4.5, "publish"),
        (5.0, "subscribe"),
        (6.0, "unsubscribe"),
    ]
