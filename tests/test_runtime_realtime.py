"""The peers of one host in real time: delays, timers, what is unreachable and what is dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from realtime_world import ONE_WAY, UNREACHABLE_AFTER, Parts, World

from emulator.messages.message import MAINTENANCE, Message
from emulator.runtime.realtime import gathering, host
from trellis.v1 import wire_pb2
from trellis.v1.overlay import Goodbye, LookupRequest, Routed
from trellis.v1.pubsub import EventData, Notification, Pull


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
    monkeypatch.setattr(host.Parcel, "payload", lambda parcel: pytest.fail("it was encoded"))
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


def sent_by_first(world: World, message: Message) -> tuple[int, int]:
    """Return how many messages like this one peer 0 has sent in operations, and their bytes."""
    tallies = world.recorder.tallies
    return tallies.on("").tally(message, traced=True).sent(tallies.place(0))


def test_bytes_are_counted_as_they_would_be_encoded(world: World) -> None:
    peer = world.join(0)
    message = EventData(event=1, payload=b"x" * 500)
    for receiver in (1, 3):
        peer.environment.send(receiver, message)
    assert sent_by_first(world, message) == (2, 2 * len(message.encode()))


def test_what_encloses_another_message_is_counted_by_the_kind_of_that_one(world: World) -> None:
    peer = world.join(0)
    event, lookup = Routed(message=EventData()), Routed(message=LookupRequest())
    for message in (event, lookup, lookup):
        world.host.sessions[0].operate("publish", {}, partial(peer.environment.send, 1, message))
    assert sent_by_first(world, event)[0] == 1
    assert sent_by_first(world, lookup)[0] == 2


def test_delay_counts_from_the_send_call_and_a_batch_leaves_shortly_before_it_is_over(world: World) -> None:
    peer = world.join(0)
    peer.environment.send(3, Goodbye())
    world.run(until=lambda: world.wire.passages)
    (passage,) = world.wire.passages
    assert passage.due_ns - passage.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert 0 < world.host.clock.wall(passage.due_ns * 1e-9) - passage.leave_by < ONE_WAY


def test_a_message_to_another_host_is_given_to_the_link_shortly_before_it_is_due(tmp_path: Path) -> None:
    world = World(tmp_path, latency={"kind": "constant", "rtt": "400 ms"})
    world.join(0).environment.send(3, Goodbye())
    world.run(until=lambda: world.wire.passages)
    (passage,) = world.wire.passages
    assert passage.due_ns * 1e-9 - gathering.AHEAD <= world.host.clock.now()
    world.close()


def from_another_host(world: World, seconds: float, receiver: int = 0) -> wire_pb2.Envelope:
    """Return an envelope of peer 3 that is due in so many seconds."""
    due = world.host.clock.now() + seconds
    kind, payload = Goodbye.NAME, Goodbye().encode()
    return wire_pb2.Envelope(sender=3, receiver=receiver, type=kind, payload=payload, due_ns=int(due * 1e9))


def test_a_message_that_comes_early_waits_until_it_is_due(world: World) -> None:
    peer = world.add(0, Parts)
    early = from_another_host(world, 0.1)
    world.host.receive(wire_pb2.Batch(host=1, envelopes=[early]))
    assert not peer.heard
    world.run(until=lambda: peer.heard)
    assert world.host.clock.now() >= early.due_ns * 1e-9


def test_a_message_that_comes_late_or_was_delayed_by_the_kernel_is_handled_at_once(world: World) -> None:
    peer = world.add(0, Parts)
    world.host.receive(wire_pb2.Batch(host=1, envelopes=[from_another_host(world, 0.0)]))
    assert len(peer.heard) == 1
    world.host._in_kernel = True
    world.host.receive(wire_pb2.Batch(host=1, envelopes=[from_another_host(world, 100.0)]))
    assert len(peer.heard) == 2


def test_a_message_overtakes_none_that_is_due_before_it_while_the_host_stands_still(world: World) -> None:
    peer = world.add(0, Parts)

    def receive() -> None:
        batches = []
        for event, seconds in ((1, 0.003), (2, 0.004), (3, 0.005)):
            envelope = from_another_host(world, seconds)
            envelope.type, envelope.payload = EventData.NAME, EventData(event=event).encode()
            batches.append(wire_pb2.Batch(host=1, envelopes=[envelope]))
        world.host.receive(batches[0])
        time.sleep(0.008)
        for batch in batches[1:]:
            world.host.receive(batch)

    world.pass_time(0.01)
    world.loop.call_soon(receive)
    world.run(until=lambda: len(peer.heard) == 3)
    assert [message.event for _, _, message in peer.heard] == [1, 2, 3]


@pytest.mark.parametrize("rtt", ["2 ms", "40 ms"])
def test_a_short_way_to_another_host_does_not_make_the_agenda_late(tmp_path: Path, rtt: str) -> None:
    world = World(tmp_path, latency={"kind": "constant", "rtt": rtt})
    peer = world.join(0)
    for _ in range(30):
        peer.environment.send(3, Goodbye())
    world.run(until=lambda: len(world.wire.passages) == 30)
    assert world.host.agenda.lateness.quantile(0.5) < 0.009
    world.close()


def test_early_messages_are_dropped_and_counted_beyond_the_most_that_may_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_WAITING_LIMIT", 2)
    peer = world.add(0, Parts)
    early = [from_another_host(world, 0.1) for _ in range(3)]
    world.host.receive(wire_pb2.Batch(host=1, envelopes=early))
    assert world.host.dropped == {"delay line full": 1}
    world.run(until=lambda: len(peer.heard) == 2)
    world.host.receive(wire_pb2.Batch(host=1, envelopes=[from_another_host(world, 0.1)]))
    world.run(until=lambda: len(peer.heard) == 3)


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


def test_a_full_delay_line_drops_and_counts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_WAITING_LIMIT", 3)
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
        (envelope(trace=wire_pb2.TraceContext(trace_id=bytes(16), began_ns=2**63)), "a time out of range"),
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
    world.run(until=lambda: world.host.probes.kept and world.wire.passages)
    (probe,) = world.host.probes.kept
    assert probe.due_ns - probe.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert probe.received_ns >= probe.due_ns
    assert world.host.probes.errors.maximum == pytest.approx((probe.received_ns - probe.due_ns) * 1e-9)
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
