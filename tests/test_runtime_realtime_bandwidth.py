"""Links with a bandwidth in real time: the delay line does with messages what the virtual clock does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from realtime_world import ONE_WAY, Parts, World

from emulator.messages.message import Message
from trellis.v1.pubsub import EventData

RATE = "100 kbit/s"
SIZE = 1250
FRAME = EventData(event=1, payload=b"").byte_size()
MESSAGE = 0.1
"""The seconds that a message takes on a link."""


@pytest.fixture
def world_of(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**bandwidth: Any) -> World:
        made.append(World(tmp_path / str(len(made)), bandwidth={"queue": "10 s", **bandwidth}))
        return made[-1]

    yield make
    for world in made:
        world.close()


def due(world: World, receivers: list[int]) -> list[float]:
    """Have peer 0 send a message to each receiver at the other host; when each is due (s) after sending."""
    peer = world.add(0, Parts)
    for receiver in receivers:
        peer.environment.send(receiver, EventData(event=1, payload=bytes(SIZE - FRAME - 3)))
    world.run(lambda: len(world.wire.passages) == len(receivers))
    passages = world.wire.passages
    began = min(passage.sent_ns for passage in passages)
    return sorted((passage.due_ns - began) * 1e-9 - ONE_WAY for passage in passages)


@pytest.mark.parametrize(
    "discipline, receivers, expected",
    [("fifo", [3, 4], [1, 2]), ("fair", [3, 4], [2, 2]), ("fair", [3, 3, 4], [2, 2, 3])],
)
def test_an_up_link_delays_what_is_sent(
    world_of: Callable[..., World], discipline: str, receivers: list[int], expected: list[int]
) -> None:
    got = due(world_of(up=RATE, discipline=discipline), receivers)
    assert got == pytest.approx([each * MESSAGE for each in expected], abs=0.02)


def test_what_does_not_fit_into_a_fair_up_link_is_not_sent(world_of: Callable[..., World]) -> None:
    world = world_of(up=RATE, queue="250 ms", discipline="fair")
    peer = world.add(0, Parts)
    for receiver in (3, 4, 3, 4):
        peer.environment.send(receiver, EventData(event=1, payload=bytes(SIZE - FRAME - 3)))
    world.pass_time(5 * MESSAGE)
    assert len(world.wire.passages) == 2


@pytest.mark.parametrize("discipline, expected", [("fifo", [1, 2]), ("fair", [2, 2])])
def test_a_down_link_delays_what_is_received(
    world_of: Callable[..., World], discipline: str, expected: list[int]
) -> None:
    world = world_of(down=RATE, discipline=discipline)
    came: list[float] = []

    class Listening(Parts):
        def hear(self, name: str, sender: int, message: Message) -> None:
            came.append(self.environment.now)

    world.add(2, Listening)
    senders = [world.add(peer, Parts) for peer in (0, 1)]
    sent = world.host.clock.now()
    for peer in senders:
        peer.environment.send(2, EventData(event=1, payload=bytes(SIZE - FRAME - 3)))
    world.run(lambda: len(came) == 2)
    waited = [at - sent - ONE_WAY for at in came]
    assert waited == pytest.approx([each * MESSAGE for each in expected], abs=0.06)
