"""A message of an operation that comes to a peer that is down is marked in its trace, in each runtime."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import fault, run_with, up
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from realtime_world import Parts, World
from recorded_telemetry import read
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan

from emulator.faults.network_faults import NetworkFaults
from emulator.faults.spec import FaultSpec
from emulator.messages.message import Message
from emulator.network.peer_network import PEER_DOWN
from emulator.telemetry import names
from trellis.v1 import wire_pb2
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData

EVENT = EventData(event=7, payload=bytes(100))
DAMAGING: dict[str, Any] = {"links": {"peers": [0], "corrupt": 1.0}}
NETWORKS: dict[str, dict[str, Any]] = {
    "delays alone": {},
    "links in order": {"bandwidth": {"up": "1 Mbit/s", "down": "1 Mbit/s"}},
    "fair links": {"bandwidth": {"up": "1 Mbit/s", "down": "1 Mbit/s", "discipline": "fair"}},
    "kept order": {"order": "kept", "jitter": "10 ms"},
}


def on_virtual_clock(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    message: Message,
    ends: tuple[float, float],
    network: dict[str, Any],
    bad: dict[str, Any] | None = None,
) -> list[Any]:
    """Have peer 0 send peer 1 a message; return the spans. Their sessions end at `ends`.

    An event is sent 2 s after the join and in its operation, another message at any time and in none.
    """
    diary = diary_system(monkeypatch)

    def start(peer: Diary) -> None:
        send = partial(peer.environment.send, 1, message)
        if peer.peer == 0 and message is EVENT:
            peer.environment.set_timer(2.0, send)
        elif peer.peer == 0:
            peer.environment.every(4.0, send)

    diary.on_start = staticmethod(start)
    faults = [] if bad is None else [fault("bad", "0 s", "5 s", **bad)]
    return run_with(diary_spec(2, 5.0, network=network, faults=faults), path, make_plan(2, up(*ends))).spans


@pytest.mark.parametrize("name", NETWORKS)
def test_the_virtual_clock_marks_a_message_to_a_peer_that_is_down(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = on_virtual_clock(monkeypatch, tmp_path, EVENT, (5.0, 1.0), NETWORKS[name])
    (mark,) = (span for span in spans if span.attributes.get(names.OBSERVED) == PEER_DOWN)
    joins = [(span.trace, span.span) for span in spans if span.attributes.get(names.PEER) == 0]
    assert (mark.trace, mark.parent) in joins
    told = [mark.attributes[name] for name in (names.PEER, names.SESSION, names.SUBJECT, names.VALUE)]
    assert told == [0, 0, 1, EVENT.byte_size()]
    assert 2.0 < mark.start < 2.2


@pytest.mark.parametrize(
    ("message", "ends", "bad"),
    [
        (EVENT, (5.0, 5.0), None),  # the receiver is up
        (Goodbye(), (5.0, 0.001), None),  # the message belongs to no operation
        (EVENT, (2.01, 1.0), None),  # the sender has gone too
        (EVENT, (5.0, 1.0), DAMAGING),  # the fault has marked it
    ],
)
def test_the_virtual_clock_marks_nothing_else(
    message: Message,
    ends: tuple[float, float],
    bad: dict[str, Any] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans = on_virtual_clock(monkeypatch, tmp_path, message, ends, {}, bad)
    assert not [span for span in spans if span.attributes.get(names.OBSERVED) == PEER_DOWN]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def marks(world: World) -> list[tuple[Span, dict[str, Any]]]:
    each = [(span, read(span.attributes)) for span in world.spans()]
    return [(span, told) for span, told in each if told.get(names.OBSERVED) == PEER_DOWN]


def check_mark(world: World, receiver: int) -> None:
    """Check that the event that peer 0 has sent to this peer is marked once in its trace."""
    ((span, told),) = marks(world)
    (recovery,) = (each for each in world.spans() if each.name == names.RECOVERY)
    assert (span.trace_id, span.parent_span_id) == (recovery.trace_id, recovery.span_id)
    assert [told[name] for name in (names.PEER, names.SUBJECT)] == [0, receiver]
    assert (told[names.SESSION], told[names.VALUE]) == (3, EVENT.byte_size())


def test_a_host_marks_a_message_to_a_peer_of_its_own_that_is_down(world: World) -> None:
    peer = world.add(0, Parts, session=3)
    peer.environment.send(1, EVENT)
    peer.environment.send(2, Goodbye())
    world.run(until=lambda: len(peer.unreachable) == 2)
    check_mark(world, 1)


def test_a_host_marks_a_message_that_another_host_sends_back(world: World, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = World(tmp_path / "there")
    there.host.index, there.host.host_of = 1, world.host.host_of
    sent_back: list[tuple[int, Any]] = []
    there.wire.offer = lambda host, passage: sent_back.append((host, passage))
    peer = world.add(0, Parts, session=3)
    peer.environment.send(3, EVENT)
    world.run(until=lambda: world.wire.passages)
    there.host.receive(world.wire.batch())
    there.run(until=lambda: sent_back)
    there.close()
    ((host, passage),) = sent_back
    batch = wire_pb2.Batch(host=1)
    passage.add_to(batch)
    assert host == 0 and not batch.envelopes[0].payload
    world.host.receive(batch)
    check_mark(world, 3)
    assert not marks(there)


def test_a_host_marks_what_it_gives_up_because_another_host_is_not_reached(world: World) -> None:
    peer = world.add(0, Parts, session=3)
    peer.environment.send(3, EVENT)
    peer.environment.send(4, Goodbye())
    world.run(until=lambda: len(world.wire.passages) == 2)
    world.host.give_up(world.wire.passages)
    check_mark(world, 3)


def test_a_host_marks_nothing_of_a_peer_that_has_gone_or_come_again(world: World) -> None:
    world.add(0, Parts).environment.send(1, EVENT)
    world.crash(0)
    world.add(2, Parts).environment.send(1, EVENT)
    world.crash(2)
    world.add(2, Parts, session=1)
    world.pass_time(0.1)
    assert not marks(world)


def test_a_host_marks_a_damaged_message_once(tmp_path: Path) -> None:
    spec = FaultSpec.model_validate(fault("bad", "0 s", "100 s", **DAMAGING))
    world = World(tmp_path, faults=NetworkFaults([spec], [[0]], [[]], 5))
    peer = world.add(0, Parts)
    peer.environment.send(1, EVENT)
    world.run(until=lambda: peer.unreachable)
    world.close()
    observed = [read(span.attributes).get(names.OBSERVED) for span in world.spans()]
    assert [name for name in observed if name] == ["fault bad corrupts"]
