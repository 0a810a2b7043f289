"""The peers of one host in real time: delays, timers, traces, what is unreachable and what is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from realtime_world import ONE_WAY, UNREACHABLE_AFTER, World
from trellis.v1 import overlay_pb2, pubsub_pb2, wire_pb2

from emulator.protocol import Event, TopicInterest
from emulator.runtime import realtime
from emulator.runtime.agenda import Agenda
from emulator.runtime.clock import TrialClock, unix_ns
from emulator.runtime.distribution import Distribution
from emulator.runtime.passage import PROBE


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.host.agenda.stop()


def test_a_message_arrives_after_the_one_way_delay_and_by_reference(world: World) -> None:
    sender, receiver = world.join(0), world.join(1)
    heard: list[tuple[float, Any]] = []
    receiver.world.handlers[overlay_pb2.Goodbye] = (  # type: ignore[attr-defined]
        lambda peer, message: heard.append((world.host.clock.now(), message))
    )
    message = overlay_pb2.Goodbye()
    sent = world.host.clock.now()
    sender.world.send(1, message)
    world.run(until=lambda: heard)
    assert ONE_WAY <= heard[0][0] - sent < ONE_WAY + 0.1
    assert heard[0][1] is message


def test_a_message_object_is_encoded_once_for_all_its_receivers(world: World) -> None:
    peer = world.join(0)
    message = pubsub_pb2.EventData(payload=b"x" * 500)
    for receiver in (3, 4):
        peer.world.send(receiver, message)
    world.run(until=lambda: len(world.wire.passages) == 2)
    first, second = world.wire.passages
    assert first.payload is second.payload
    assert pubsub_pb2.EventData.FromString(first.payload) == message


def test_delay_counts_from_the_send_call_and_half_a_batch_is_taken_off(world: World) -> None:
    peer = world.join(0)
    peer.world.send(3, overlay_pb2.Goodbye())
    world.run(until=lambda: world.wire.passages)
    (passage,) = world.wire.passages
    assert passage.due_ns - passage.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert world.host.clock.now_ns() >= passage.due_ns - realtime.GATHERING / 2 * 1e9


def test_a_peer_that_is_down_is_noticed_after_the_time_out_and_not_before(world: World) -> None:
    peer = world.join(0)
    noticed: list[float] = []
    peer.on_unreachable = lambda other: noticed.append(world.host.clock.now())  # type: ignore[method-assign]
    sent = world.host.clock.now()
    peer.world.send(1, overlay_pb2.Goodbye())
    world.run(until=lambda: noticed)
    assert UNREACHABLE_AFTER <= noticed[0] - sent < UNREACHABLE_AFTER + 0.1


def test_a_host_bounces_what_is_for_a_peer_that_is_down(world: World) -> None:
    envelope = wire_pb2.Envelope(sender=3, receiver=0, type="Goodbye", payload=b"", sent_ns=5)
    world.host.receive(wire_pb2.Batch(envelopes=[envelope]))
    (answer,) = world.wire.passages
    assert (answer.bounced, answer.sender, answer.receiver, answer.sent_ns) == (True, 3, 0, 5)


def test_a_bounce_reaches_the_sender_after_the_time_out(world: World) -> None:
    peer = world.join(0)
    sent = world.host.clock.now_ns()
    envelope = wire_pb2.Envelope(sender=0, receiver=3, type="Goodbye", sent_ns=sent, bounced=True)
    world.host.receive(wire_pb2.Batch(envelopes=[envelope]))
    world.run(until=lambda: peer.unreachable)
    assert world.host.clock.now_ns() - sent >= UNREACHABLE_AFTER * 1e9


def test_a_new_session_hears_nothing_of_what_the_old_one_sent(world: World) -> None:
    world.join(0).world.send(1, overlay_pb2.Goodbye())
    world.crash(0)
    reborn = world.join(0)
    world.run(limit=UNREACHABLE_AFTER + 0.1)
    assert reborn.unreachable == 0


def test_no_timer_fires_after_a_crash_and_nothing_is_sent(world: World) -> None:
    peer = world.join(0)
    fired: list[int] = []
    peer.world.set_timer(0.01, lambda: fired.append(1))
    peer.world.every(0.01, lambda: fired.append(2))
    peer.world.set_timer(0.01, lambda: fired.append(3)).cancel()
    world.crash(0)
    peer.world.send(3, overlay_pb2.Goodbye())
    world.run(limit=0.05)
    assert not fired
    assert not world.wire.passages


def test_a_periodic_call_keeps_its_period_without_drift(world: World) -> None:
    peer = world.join(0)
    calls: list[float] = []
    peer.world.every(0.02, lambda: calls.append(world.host.clock.now()))
    world.run(until=lambda: len(calls) == 8, limit=2)
    assert calls[0] < 0.02 + 0.1
    assert calls[7] - calls[0] == pytest.approx(7 * 0.02, abs=0.05)


def test_a_trace_follows_messages_and_timers_and_marks_the_delivery(world: World) -> None:
    floods = [world.join(peer) for peer in (0, 1, 2)]
    floods[0].known, floods[1].known = {1}, {2}
    floods[2].world.subscribe(0, TopicInterest(9))  # type: ignore[attr-defined]
    session = world.host.sessions[0]
    session.operate("publish", {}, lambda: floods[0].publish(Event(5, 0, 9)), topic=9)
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
    assert marks[1]["trellis.depth"].int_value == 2
    assert world.host.context is None


def test_what_periodic_calls_cause_is_not_traced(world: World) -> None:
    peer = world.join(0)
    world.host.sessions[0].operate(
        "publish",
        {},
        lambda: peer.world.every(0.01, lambda: peer.world.send(3, overlay_pb2.Goodbye())) and None,
    )
    world.run(until=lambda: world.wire.passages)
    assert world.wire.passages[0].context is None


def test_a_trace_context_survives_the_wire(world: World) -> None:
    peer = world.join(0)
    world.host.sessions[0].operate("publish", {}, lambda: peer.world.send(3, overlay_pb2.Goodbye()), topic=0)
    world.run(until=lambda: world.wire.passages)
    batch = wire_pb2.Batch()
    world.wire.passages[0].add_to(batch)
    trace = batch.envelopes[0].trace
    (root,) = world.spans()
    identity = (root.trace_id, int.from_bytes(root.span_id, "little"))
    assert (trace.trace_id, trace.span_id, trace.depth) == (*identity, 1)
    assert (trace.has_topic, trace.topic) == (True, 0)


def test_a_full_delay_line_drops_and_counts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "_WAITING_LIMIT", 3)
    peer = world.join(0)
    for _ in range(5):
        peer.world.send(3, overlay_pb2.Goodbye())
    assert world.host.dropped == {"delay line full": 2}


@pytest.mark.parametrize(
    ("envelope", "cause"),
    [
        (wire_pb2.Envelope(sender=3, receiver=0, type="Unheard"), "no handler for Unheard"),
        (
            wire_pb2.Envelope(sender=3, receiver=0, type="EventData", payload=b"\xff"),
            "EventData cannot be decoded",
        ),
        (wire_pb2.Envelope(sender=77, receiver=0, type="Goodbye"), "unknown sender"),
    ],
)
def test_a_bad_envelope_is_dropped_and_counted(world: World, envelope: wire_pb2.Envelope, cause: str) -> None:
    world.join(0)
    world.host.receive(wire_pb2.Batch(envelopes=[envelope]))
    assert world.host.dropped == {cause: 1}
    assert not world.failures


def test_a_probe_is_measured_and_no_protocol_sees_it(world: World) -> None:
    world.host.probe(0, 1)
    world.host.probe(0, 3)
    world.run(until=lambda: world.host.probes and world.wire.passages)
    (probe,) = world.host.probes
    assert probe.due_ns - probe.sent_ns == pytest.approx(ONE_WAY * 1e9, abs=2)
    assert probe.received_ns >= probe.due_ns
    assert world.wire.passages[0].type == PROBE


def test_an_error_in_a_protocol_stops_the_host(world: World) -> None:
    peer = world.join(0)
    later: list[int] = []

    def fail() -> None:
        raise ValueError("a bug")

    peer.world.set_timer(0.001, fail)
    peer.world.set_timer(0.005, lambda: later.append(1))
    world.run()
    assert [str(error) for error in world.failures] == ["a bug"]
    assert not later


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
    import time

    done: list[int] = []

    async def fill(agenda: Agenda, clock: TrialClock) -> None:
        agenda.add(0.0, time.sleep, 0.15)
        agenda.add(0.01, done.append, 1)
        while not done:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)

    agenda = run_agenda(fill)
    assert agenda.longest_stall >= 0.14
    assert agenda.lateness.maximum >= 0.1


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
