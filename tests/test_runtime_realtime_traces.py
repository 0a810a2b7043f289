"""The traces of peers in real time: what belongs to which, and what is in none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from librt.vecs import vec
from mypy_extensions import i32
from realtime_world import ONE_WAY, Parts, World

from emulator.contract.protocol import Event, TopicInterest
from emulator.runtime.realtime import sent_message
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def test_a_trace_follows_messages_and_timers_and_marks_the_delivery(world: World) -> None:
    floods = [world.join(peer) for peer in (0, 1, 2)]
    floods[0].known, floods[1].known = {1}, {2}
    floods[2].subscribe(TopicInterest(9))
    world.host.sessions[2].topics = vec[i32]([9])
    session = world.host.sessions[0]
    session.operate("publish", {}, lambda: floods[0].publish(Event(5, 0, 9)), topic=9, event=5)
    world.run(until=lambda: world.host.outcomes.number)
    delays = world.host.outcomes.delays
    assert len(delays) == 1 and delays.maximum >= 2 * ONE_WAY
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
    read = sent_message.read_context(envelope)
    assert read is not None
    assert (read.depth, read.topic, read.event) == (0, 0, 0)
    assert read.began_ns == trace.began_ns and trace.HasField("began_ns")
    trace.ClearField("began_ns")
    trace.ClearField("topic")
    trace.ClearField("event")
    read = sent_message.read_context(envelope)
    assert read is not None
    assert (read.topic, read.event, read.began_ns) == (None, -1, -1)
