"""The peers of one host in real time: delays, timers, traces, what is unreachable and what is dropped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from realtime_world import ONE_WAY, UNREACHABLE_AFTER, World

from emulator.messages.message import MAINTENANCE, Message
from emulator.protocol import Application, Environment, Event, TopicInterest
from emulator.runtime import realtime
from emulator.runtime.agenda import Agenda
from emulator.runtime.clock import TrialClock, unix_ns
from emulator.runtime.distribution import Distribution
from trellis.v1 import wire_pb2
from trellis.v1.overlay import Goodbye, LookupRequest, Routed
from trellis.v1.pubsub import EventData, Notification, Pull


class Parts(Application):
    """A peer with a part `a`; both are asked for pulls, and write down what happens to them."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.part = environment.channel("a")
        self.heard: list[tuple[str, int, Message]] = []
        self.unreachable: list[tuple[int, float]] = []
        self.ends: list[Any] = []
        for name, where in (("", environment), ("a", self.part)):
            where.handle(Goodbye, partial(self.hear, name))
            where.handle(EventData, partial(self.hear, name))
        self.part.serve(Pull, lambda sender, pull: EventData(event=pull.event) if pull.event else None)

    def start(self, contacts: Any) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def hear(self, name: str, sender: int, message: Message) -> None:
        self.heard.append((name, sender, message))

    def on_unreachable(self, peer: int) -> None:
        self.unreachable.append((peer, self.environment.now))

    def pull(self, peer: int, event: int, timeout: float = 1000.0) -> None:
        self.part.request(peer, Pull(event), timeout, self.ends.append, lambda: self.ends.append("failed"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def test_a_message_arrives_after_the_one_way_delay_and_by_reference(world: World) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)
    message = Goodbye()
    sent = world.host.clock.now()
    sender.environment.send(1, message)
    world.run(until=lambda: receiver.heard)
    assert world.host.clock.now() - sent >= ONE_WAY
    ((name, peer, heard),) = receiver.heard
    assert (name, peer) == ("", 0)
    assert heard is message


def test_a_message_arrives_on_the_channel_that_it_was_sent_on(world: World) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)
    sender.part.send(1, Goodbye())
    world.run(until=lambda: receiver.heard)
    assert [name for name, _, _ in receiver.heard] == ["a"]


def test_what_stays_at_the_host_is_never_encoded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)
    monkeypatch.setattr(realtime.Parcel, "payload", lambda parcel: pytest.fail("it was encoded"))
    sender.environment.send(1, EventData(payload=b"x"))
    world.run(until=lambda: receiver.heard)
    assert not world.failures


def test_a_message_object_is_encoded_once_for_all_its_receivers(world: World) -> None:
    peer = world.join(0)
    message = EventData(payload=b"x" * 500)
    for receiver in (3, 4):
        peer.environment.send(receiver, message)
    world.run(until=lambda: len(world.wire.passages) == 2)
    first, second = (passage.parcel for passage in world.wire.passages)
    assert first is not None
    assert second is not None
    assert first.payload() is second.payload()
    assert first.payload() == message.encode()


def test_bytes_are_counted_as_they_would_be_encoded(world: World) -> None:
    peer = world.join(0)
    message = EventData(event=1, payload=b"x" * 500)
    for receiver in (1, 3):
        peer.environment.send(receiver, message)
    counter = world.recorder.counter(0, "", message, True)
    assert (counter.messages, counter.size) == (2, 2 * len(message.encode()))


def test_what_encloses_another_message_is_counted_by_the_kind_of_that_one(world: World) -> None:
    peer = world.join(0)
    event, lookup = Routed(message=EventData()), Routed(message=LookupRequest())
    for message in (event, lookup, lookup):
        world.host.sessions[0].operate("publish", {}, partial(peer.environment.send, 1, message))
    assert world.recorder.counter(0, "", event, True).messages == 1
    assert world.recorder.counter(0, "", lookup, True).messages == 2


def test_delay_counts_from_the_send_call_and_half_a_batch_is_taken_off(world: World) -> None:
    peer = world.join(0)
    peer.environment.send(3, Goodbye())
    world.run(until=lambda: world.wire.passages)
    (passage,) = world.wire.passages
    assert passage.due_ns - passage.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert world.host.clock.now_ns() >= passage.due_ns - realtime.GATHERING / 2 * 1e9


def test_a_peer_that_is_down_is_noticed_after_the_time_out_and_not_before(world: World) -> None:
    peer = world.add(0, Parts)
    sent = world.host.clock.now()
    peer.environment.send(1, Goodbye())
    world.run(until=lambda: peer.unreachable)
    ((other, noticed),) = peer.unreachable
    assert other == 1
    assert noticed - sent >= UNREACHABLE_AFTER


def test_a_reply_comes_over_the_channel_of_its_request(world: World) -> None:
    asking = world.add(0, Parts)
    world.add(1, Parts)
    asking.pull(1, 5)
    world.run(until=lambda: asking.ends)
    assert asking.ends == [EventData(event=5)]
    assert not world.host.sessions[0].requests


def test_a_request_without_a_reply_fails_after_its_time_out(world: World) -> None:
    asking = world.add(0, Parts)
    world.add(1, Parts)
    asked = world.host.clock.now()
    asking.pull(1, 0, timeout=0.06)
    world.run(until=lambda: asking.ends)
    assert asking.ends == ["failed"]
    assert world.host.clock.now() - asked >= 0.06


def test_a_request_to_a_peer_that_is_down_fails_when_that_is_noticed(world: World) -> None:
    asking = world.add(0, Parts)
    asking.pull(1, 5)
    world.run(until=lambda: asking.ends)
    assert asking.ends == ["failed"]
    assert [peer for peer, _ in asking.unreachable] == [1]


def test_a_bounce_from_another_host_fails_the_request_that_it_was(world: World) -> None:
    asking = world.add(0, Parts)
    asking.pull(3, 5)
    asking.pull(4, 6)
    world.run(until=lambda: len(world.wire.passages) == 2)
    first, _ = world.wire.batch().envelopes
    first.bounced = True
    first.payload = b""
    world.host.receive(wire_pb2.Batch(envelopes=[first]))
    world.run(until=lambda: asking.ends)
    assert asking.ends == ["failed"]
    assert [peer for peer, _ in asking.unreachable] == [3]
    assert len(world.host.sessions[0].requests) == 1


def test_a_request_and_its_reply_cross_hosts(world: World) -> None:
    peer = world.add(0, Parts)
    pull = wire_pb2.Envelope(
        sender=3, receiver=0, type="Pull", payload=Pull(event=9).encode(), channel="a", request=41
    )
    world.host.receive(wire_pb2.Batch(envelopes=[pull]))
    world.run(until=lambda: world.wire.passages)
    (reply,) = world.wire.batch().envelopes
    assert (reply.receiver, reply.channel, reply.request, reply.type) == (3, "a", -41, "EventData")
    peer.pull(3, 5)
    world.run(until=lambda: len(world.wire.passages) == 2)
    request = world.wire.batch().envelopes[1].request
    answer = wire_pb2.Envelope(
        sender=3, receiver=0, type="EventData", payload=EventData(event=5).encode(), channel="a"
    )
    answer.request = -request
    world.host.receive(wire_pb2.Batch(envelopes=[answer, answer]))
    assert peer.ends == [EventData(event=5)]


def test_a_reply_to_an_earlier_life_is_none_of_the_later_one(world: World) -> None:
    asking = world.add(0, Parts)
    world.add(1, Parts)
    asking.pull(1, 5)
    world.crash(0)
    reborn = world.add(0, Parts, session=1)
    reborn.pull(2, 6)
    world.run(until=lambda: reborn.ends)
    assert reborn.ends == ["failed"]


def test_a_host_bounces_what_is_for_a_peer_that_is_down(world: World) -> None:
    envelope = wire_pb2.Envelope(
        sender=3, receiver=0, type="Pull", payload=b"x", sent_ns=5, channel="a", request=7
    )
    world.host.receive(wire_pb2.Batch(envelopes=[envelope]))
    (answer,) = world.wire.batch().envelopes
    assert (answer.bounced, answer.sender, answer.receiver, answer.sent_ns) == (True, 3, 0, 5)
    assert (answer.request, answer.payload) == (7, b"")


def test_a_bounce_reaches_the_sender_after_the_time_out(world: World) -> None:
    peer = world.join(0)
    sent = world.host.clock.now_ns()
    envelope = wire_pb2.Envelope(sender=0, receiver=3, type="Goodbye", sent_ns=sent, bounced=True)
    world.host.receive(wire_pb2.Batch(envelopes=[envelope]))
    world.run(until=lambda: peer.unreachable)
    assert world.host.clock.now_ns() - sent >= UNREACHABLE_AFTER * 1e9


def test_a_new_session_hears_nothing_of_what_the_old_one_sent(world: World) -> None:
    world.join(0).environment.send(1, Goodbye())
    world.crash(0)
    reborn = world.join(0)
    later: list[int] = []
    reborn.environment.set_timer(UNREACHABLE_AFTER + 0.05, lambda: later.append(1))
    world.run(until=lambda: later)
    assert reborn.unreachable == 0


def test_no_timer_fires_after_a_crash_and_nothing_is_sent(world: World) -> None:
    peer = world.join(0)
    fired: list[int] = []
    peer.environment.set_timer(0.01, lambda: fired.append(1))
    peer.environment.every(0.01, lambda: fired.append(2))
    peer.environment.set_timer(0.01, lambda: fired.append(3)).cancel()
    world.crash(0)
    peer.environment.send(3, Goodbye())
    world.pass_time(0.05)
    assert not fired
    assert not world.wire.passages


def test_a_periodic_call_begins_within_its_period_and_keeps_it_without_drift(world: World) -> None:
    """Each call is due a period after the one before was due, unless the machine was too slow for it."""
    peer = world.join(0)
    added: list[float] = []
    add = world.host.agenda.add

    def note(due: float, call: Callable[..., None], *arguments: Any) -> None:
        added.append(due)
        add(due, call, *arguments)

    world.host.agenda.add = note  # type: ignore[method-assign]
    began = world.host.clock.now()
    peer.environment.every(0.02, lambda: None)
    assert began <= added[0] <= world.host.clock.now() + 0.02
    world.run(until=lambda: len(added) == 8)
    gaps = [later - due for due, later in pairwise(added)]
    assert min(gaps) == pytest.approx(0.02)


def test_a_trace_follows_messages_and_timers_and_marks_the_delivery(world: World) -> None:
    floods = [world.join(peer) for peer in (0, 1, 2)]
    floods[0].known, floods[1].known = {1}, {2}
    world.host.sessions[2].subscribe(0, TopicInterest(9))
    session = world.host.sessions[0]
    session.operate("publish", {}, lambda: floods[0].publish(Event(5, 0, 9)), topic=9, event=5)
    world.run(until=lambda: world.host.delivered)
    spans = {span.name + str(number): span for number, span in enumerate(world.spans())}
    publish, first, second = spans["publish0"], spans["EventData1"], spans["EventData2"]
    assert {span.trace_id for span in spans.values()} == {publish.trace_id}
    assert (first.parent_span_id, second.parent_span_id) == (publish.span_id, first.span_id)
    assert second.end_time_unix_nano - second.start_time_unix_nano >= ONE_WAY * 1e9
    marks = [{a.key: a.value for a in span.attributes} for span in (first, second)]
    assert "trellis.delivered" not in marks[0]
    assert not marks[0]["trellis.interested"].bool_value
    assert marks[1]["trellis.delivered"].bool_value
    assert marks[1]["trellis.event"].int_value == 5
    assert marks[1]["trellis.depth"].int_value == 2
    assert world.host.context is None


def test_what_periodic_calls_cause_is_not_traced(world: World) -> None:
    peer = world.join(0)

    def begin() -> None:
        peer.environment.every(0.01, lambda: peer.environment.send(3, Goodbye()))

    world.host.sessions[0].operate("publish", {}, begin)
    world.run(until=lambda: world.wire.passages)
    assert world.wire.passages[0].context is None


def test_an_events_message_outside_of_any_operation_begins_a_trace(world: World) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)

    def repair() -> None:
        sender.environment.send(1, EventData(event=5, topic=9, hops=2))

    sender.environment.set_timer(0.0, repair)
    sender.environment.set_timer(0.001, lambda: sender.environment.send(1, Goodbye()))
    world.run(until=lambda: len(receiver.heard) == 2)
    recovery, event = world.spans()
    assert (recovery.name, event.name) == ("recovery", "EventData")
    assert (event.trace_id, event.parent_span_id) == (recovery.trace_id, recovery.span_id)
    marks = {a.key: a.value for a in event.attributes}
    assert (marks["trellis.event"].int_value, marks["trellis.hops"].int_value) == (5, 2)


def test_what_repairs_two_events_in_one_call_are_two_traces(world: World) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)

    def repair() -> None:
        for event, topic in ((0, 7), (0, 7), (1, 8)):
            sender.environment.send(1, EventData(event=event, topic=topic))
        sender.environment.deliver(Event(2, 1, 7))

    sender.environment.set_timer(0.0, repair)
    world.run(until=lambda: len(receiver.heard) == 3)
    spans = world.spans()
    assert [span.name for span in spans] == ["recovery"] * 2 + ["delivery"] + ["EventData"] * 3
    first, second, delivery, *copies = spans
    assert [span.trace_id for span in copies] == [first.trace_id, first.trace_id, second.trace_id]
    assert delivery.parent_span_id == b""


def test_a_trace_context_survives_the_wire(world: World) -> None:
    peer = world.join(0)
    session = world.host.sessions[0]
    session.operate("publish", {}, lambda: peer.environment.send(3, Goodbye()), topic=0, event=0)
    world.run(until=lambda: world.wire.passages)
    (envelope,) = world.wire.batch().envelopes
    trace = envelope.trace
    (root,) = world.spans()
    identity = (root.trace_id, int.from_bytes(root.span_id, "little"))
    assert (trace.trace_id, trace.span_id, trace.depth) == (*identity, 1)
    read = realtime.read_context(envelope)
    assert read is not None
    assert (read.depth, read.topic, read.event) == (0, 0, 0)
    trace.ClearField("topic")
    trace.ClearField("event")
    read = realtime.read_context(envelope)
    assert read is not None
    assert (read.topic, read.event) == (None, -1)


def test_a_full_delay_line_drops_and_counts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "_WAITING_LIMIT", 3)
    peer = world.join(0)
    for _ in range(5):
        peer.environment.send(3, Goodbye())
    assert world.host.dropped == {"delay line full": 2}


def envelope(**fields: Any) -> wire_pb2.Envelope:
    return wire_pb2.Envelope(**({"sender": 3, "receiver": 0, "type": "Goodbye"} | fields))


TRACE = wire_pb2.TraceContext(trace_id=bytes(16), span_id=1, depth=1)


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        (envelope(type="Unheard"), "no handler for Unheard on channel ''"),
        (envelope(channel="b"), "no handler for Goodbye on channel 'b'"),
        (envelope(type="Notification", channel="a"), "no handler for Notification on channel 'a'"),
        (envelope(type="Notification", trace=TRACE), "no handler for Notification on channel ''"),
        (envelope(request=3), "no handler for Goodbye on channel ''"),
        (envelope(type="EventData", payload=b"\xff"), "EventData cannot be decoded"),
        (envelope(sender=77), "unknown sender"),
        (envelope(sender=1), "unknown sender"),
        (envelope(bounced=True), "unknown sender"),
        (envelope(type="x" * 201), "a name too long"),
        (envelope(channel="x" * 201), "a name too long"),
        (envelope(sent_ns=2**64 - 1, trace=TRACE), "a time out of range"),
        (envelope(trace=wire_pb2.TraceContext(trace_id=b"short")), "no trace's identifier"),
    ],
)
def test_a_bad_envelope_is_dropped_and_counted(world: World, bad: wire_pb2.Envelope, cause: str) -> None:
    peer = world.add(0, Parts)
    world.host.receive(wire_pb2.Batch(envelopes=[bad, envelope()]))
    assert world.host.dropped == {cause: 1}
    assert len(peer.heard) == 1
    assert not world.failures
    assert not world.spans()


def test_what_has_no_handler_is_dropped_and_counted_within_a_host_too(world: World) -> None:
    sender, receiver = world.add(0, Parts), world.add(1, Parts)
    sender.environment.send(1, Notification())
    sender.part.send(1, Goodbye())
    world.run(until=lambda: receiver.heard)
    assert world.host.dropped == {"no handler for Notification on channel ''": 1}
    assert world.host.context is None


def test_a_probe_is_measured_and_no_protocol_sees_it(world: World) -> None:
    world.host.probe(0, 1)
    world.host.probe(0, 3)
    world.run(until=lambda: world.host.probes and world.wire.passages)
    (probe,) = world.host.probes
    assert probe.due_ns - probe.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert probe.received_ns >= probe.due_ns
    assert world.wire.batch().envelopes[0].type == ""


def test_an_error_in_a_protocol_stops_the_host(world: World) -> None:
    peer = world.join(0)
    later: list[int] = []

    def fail() -> None:
        raise ValueError("a bug")

    peer.environment.set_timer(0.001, fail)
    peer.environment.set_timer(0.005, lambda: later.append(1))
    world.run(until=lambda: later)
    assert [str(error) for error in world.failures] == ["a bug"]
    assert not later


class Unwritable(Message):
    NAME: ClassVar[str] = "Unwritable"

    def kind(self) -> int:
        return MAINTENANCE

    def measure(self) -> int:
        return 1

    def write_to(self, out: bytearray) -> None:
        raise ValueError("a field does not fit its type")


def test_a_message_that_cannot_be_encoded_stops_the_host(world: World) -> None:
    peer = world.join(0)
    peer.environment.send(3, Unwritable())
    world.run(until=lambda: world.wire.passages)
    assert world.failures
    assert not world.wire.passages


def run_agenda(fill: Callable[[Agenda, TrialClock], Awaitable[None]]) -> Agenda:
    clock = TrialClock(unix_ns(), 1.0)
    agenda = Agenda(clock, lambda error: None)

    async def live() -> None:
        agenda.start()
        await fill(agenda, clock)
        agenda.stop()

    asyncio.run(live())
    return agenda


def test_calls_are_made_in_order_and_never_early() -> None:
    made: list[tuple[float, float]] = []
    times = [0.01 + 0.0003 * step for step in range(100)]

    async def fill(agenda: Agenda, clock: TrialClock) -> None:
        for due in reversed(times):
            agenda.add(due, lambda due=due: made.append((due, clock.now())))
        while len(made) < len(times):
            await asyncio.sleep(0.005)

    run_agenda(fill)
    assert [due for due, _ in made] == times
    assert all(at >= due - 1e-6 for due, at in made)


def test_a_call_that_blocks_shows_as_a_stall_and_as_lateness() -> None:
    done: list[int] = []

    async def fill(agenda: Agenda, clock: TrialClock) -> None:
        agenda.add(0.0, time.sleep, 0.05)
        agenda.add(0.01, done.append, 1)
        while not done or not agenda.longest_stall:
            await asyncio.sleep(0.002)

    agenda = run_agenda(fill)
    assert agenda.longest_stall >= 0.05
    assert agenda.lateness.maximum >= 0.03


@given(st.lists(st.floats(0, 10_000), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_never_too_small_and_at_most_four_percent_too_large(
    durations: list[float], share: float
) -> None:
    distribution = Distribution()
    for duration in durations:
        distribution.add(duration)
    exact = sorted(durations)[max(-int(-share * len(durations) // 1) - 1, 0)]
    assert exact - 1e-6 <= distribution.quantile(share) <= exact * 1.04 + 2e-6


@given(st.lists(st.floats(0, 100)), st.lists(st.floats(0, 100)))
def test_distributions_of_hosts_add_up(one: list[float], other: list[float]) -> None:
    parts, whole = [Distribution(), Distribution()], Distribution()
    for part, durations in zip(parts, (one, other), strict=True):
        for duration in durations:
            part.add(duration)
            whole.add(duration)
    parts[0].merge(Distribution(parts[1].counts(), parts[1].maximum))
    assert list(parts[0].counts()) == list(whole.counts())
    assert parts[0].maximum == whole.maximum
