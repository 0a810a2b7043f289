"""Operations on the virtual clock: what belongs to a trace, and what its spans say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from runtime_diary import LATENCY, Diary, both_up, diary_spec, diary_system, hops, publish_once
from small_trial import make_plan, run

from emulator.contract.protocol import Event, Timer
from emulator.messages.message import Message
from emulator.telemetry import names
from trellis.v1.overlay import Goodbye, TManExchange
from trellis.v1.pubsub import EventData, Notification, Pull


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
    assert notification.attributes[names.BYTES] == Notification(event=0).byte_size()


def test_spans_say_when_a_message_was_sent_and_handled_to_the_nearest_nanosecond(
    diary: type[Diary], tmp_path: Path
) -> None:
    """Times are kept in seconds, and a nanosecond less than a whole number of them would be cut off."""
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, EventData(event=0)))
    times = [(4_000_000_000 + 17_003_001 * event) / 1e9 for event in range(100)]
    plan = make_plan(2, both_up(10.0), [(1, 7, 0.0, 10.0)], [(at, 0, 7) for at in times])
    spec = diary_spec(network={"latency": {"kind": "constant", "rtt": "44 ms"}})
    spans = [span for span in run(spec, plan, tmp_path).spans if span.name == "EventData"]
    told = sorted((round(span.start * 1e9), round(span.end * 1e9)) for span in spans)
    assert told == [(round(at * 1e9), round(at * 1e9) + 22_000_000) for at in times]


@pytest.mark.parametrize("delay", [3.0, math.inf])
def test_a_hastened_timer_fires_once_at_once_and_in_its_own_trace(
    diary: type[Diary], tmp_path: Path, delay: float
) -> None:
    waiting: list[Timer] = []

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
        peer.environment.every(1.0, lambda: peer.environment.send(1, Goodbye()))

    diary.on_publish = staticmethod(publish)
    diary.on_start = staticmethod(
        lambda peer: peer.environment.handle(Goodbye, lambda sender, message: peer.tick())
    )
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == []
    assert len(diary.lives[1].ticks) in (5, 6)


def test_an_events_message_outside_of_any_operation_begins_a_trace(
    diary: type[Diary], tmp_path: Path
) -> None:
    def repair(peer: Diary) -> None:
        peer.environment.send(1, EventData(event=0, topic=7, hops=2))
        timer.append(peer.environment.set_timer(1.0, peer.tick))

    timer: list[Timer] = []
    diary.on_publish = staticmethod(
        lambda peer, event: peer.environment.every(2.0, lambda: timer or repair(peer)) and None
    )
    outcome = publish_once(diary, tmp_path)
    (recovery,) = [span for span in outcome.spans if span.name == "recovery"]
    (event,) = [span for span in outcome.spans if span.name == "EventData"]
    assert recovery.trace != next(span.trace for span in outcome.spans if span.name == "publish")
    assert (event.trace, event.parent, event.start) == (recovery.trace, recovery.span, recovery.start)
    told = event.attributes
    assert (told[names.EVENT], told[names.HOPS], told[names.INTERESTED]) == (0, 2, True)
    assert len(diary.lives[0].ticks) == 1


def test_what_repairs_two_events_in_one_call_are_two_traces(diary: type[Diary], tmp_path: Path) -> None:
    def repair(peer: Diary) -> None:
        for event, topic in ((0, 7), (0, 7), (1, 8)):
            peer.environment.send(1, EventData(event=event, topic=topic))
        peer.environment.deliver(Event(2, 1, 7))

    diary.on_start = staticmethod(
        lambda peer: peer.environment.every(8.0, lambda: repair(peer)) if peer.peer == 0 else None
    )
    outcome = run(diary_spec(), make_plan(2, both_up(8.0), [(1, 8, 0.0, 10.0)]), tmp_path)
    roots = {span.trace: span for span in outcome.spans if span.name == "recovery"}
    assert [span.attributes.get(names.TOPIC) for span in roots.values()] == [7, 8]
    copies = [span for span in outcome.spans if span.name == "EventData"]
    assert [roots[span.trace].attributes[names.TOPIC] for span in copies] == [7, 7, 8]
    assert [span.attributes[names.INTERESTED] for span in copies] == [False, False, True]
    (delivery,) = [span for span in outcome.spans if span.name == "delivery"]
    assert delivery.parent == b""


def test_of_what_one_message_delivers_all_but_the_first_has_a_span_of_its_own(
    diary: type[Diary], tmp_path: Path
) -> None:
    def deliver(peer: Diary, sender: int, message: Message) -> None:
        for number in (0, 1):
            peer.environment.deliver(Event(number, 0, 7, hops=number + 1))

    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, EventData(event=0)))
    diary.on_message = staticmethod(deliver)
    outcome = publish_once(diary, tmp_path)
    (first,) = [span for span in outcome.spans if span.name == "EventData"]
    (second,) = [span for span in outcome.spans if span.name == "delivery"]
    assert (second.trace, second.parent) == (first.trace, first.span)
    told = [(span.attributes[names.EVENT], span.attributes[names.HOPS]) for span in (first, second)]
    assert told == [(0, 1), (1, 2)]
    assert outcome.deliveries() == {(0, 1): 1, (1, 1): 1}


def test_maintenance_between_the_messages_of_operations_is_not_traced(
    diary: type[Diary], tmp_path: Path
) -> None:
    peers = range(1, 12)

    def publish(peer: Diary, event: Event) -> None:
        for other in peers:
            peer.environment.send(other, EventData(event=event.number))

    def answer(peer: Diary, sender: int, message: Message) -> None:
        peer.environment.set_timer(0.013, peer.tick)

    def begin(peer: Diary) -> None:
        if peer.peer:
            peer.environment.every(0.3, lambda: peer.environment.send(0, Goodbye()))
        peer.environment.handle(Goodbye, lambda sender, _: peer.environment.send(sender, TManExchange()))
        peer.environment.handle(TManExchange, lambda sender, _: None)

    diary.on_publish, diary.on_message = staticmethod(publish), staticmethod(answer)
    diary.on_start = staticmethod(begin)
    publications = [(3.0 + number * 0.37, 0, 7) for number in range(12)]
    plan = make_plan(12, [(peer, 0.0, 10.0) for peer in range(12)], [], publications)
    outcome = run(diary_spec(12), plan, tmp_path)
    assert {name for name, _, _, _ in hops(outcome)} == {"EventData"}
    assert all(len(peer.ticks) == 12 for peer in diary.lives if peer.peer)


def test_what_follows_from_an_unreachable_peer_belongs_to_the_trace(
    diary: type[Diary], tmp_path: Path
) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(2, Notification(event=0)))
    diary.on_gone = staticmethod(lambda peer, other: peer.environment.send(1, Pull(event=0)))
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


def test_a_delivery_of_maintenance_is_a_trace_of_its_own_and_marks_no_later_span(
    diary: type[Diary], tmp_path: Path
) -> None:
    diary.on_start = staticmethod(
        lambda peer: peer.environment.every(0.5, lambda: peer.environment.deliver(Event(0, 7, 7)))
    )
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    diary.on_message = staticmethod(lambda peer, _, message: peer.environment.set_timer(0.1, peer.tick))
    outcome = publish_once(diary, tmp_path)
    assert diary.lives[1].ticks
    marked = [span for span in outcome.spans if names.DELIVERED in span.attributes]
    assert len(marked) == len({span.trace for span in marked}) > 30
    assert {(span.name, span.parent) for span in marked} == {("delivery", b"")}


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
