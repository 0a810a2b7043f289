"""Links between two hosts over real gRPC streams in one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import pytest

from emulator.messages.catalogue import decode
from emulator.runtime.realtime import streams
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.runtime.realtime.sent_message import Parcel, Passage
from emulator.runtime.realtime.streams import Links, LinksService
from trellis.v1 import wire_pb2, wire_pb2_grpc
from trellis.v1.pubsub import EventData

_NOWHERE = "127.0.0.1:1"


class FakeHost:
    """What links need of a host."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.received: list[wire_pb2.Envelope] = []
        self.batches: list[int] = []
        """The number of envelopes in each batch that had some."""
        self.given_up: list[Passage] = []
        self.dropped: dict[str, int] = {"link full": 0}
        self.wire: Any = None

    def receive(self, batch: wire_pb2.Batch) -> None:
        self.received.extend(batch.envelopes)
        if batch.envelopes:
            self.batches.append(len(batch.envelopes))

    def give_up(self, passages: Sequence[Passage]) -> None:
        self.given_up.extend(passages)


def unsettled(links: Links) -> int:
    """Return the envelopes that were written and of which the other host has not told that it took them."""
    return sum(len(ledger._unsettled) for link in links._links.values() for ledger in link._ledgers.values())


def passage(number: int) -> Passage:
    return Passage(0, number, Parcel(EventData(payload=b"payload")), "part", 7, 5, 9, None)


async def until(condition: Callable[[], Any], limit: float = 10.0) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def listening(host: FakeHost, address: str = "127.0.0.1:0") -> AsyncIterator[tuple[Any, str]]:
    server = grpc.aio.server(options=OPTIONS)
    service = LinksService()
    service.links = answers = Links(host, [_NOWHERE, _NOWHERE])  # type: ignore[arg-type]
    wire_pb2_grpc.add_LinksServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port(address)
    await server.start()
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        await answers.close()
        await server.stop(0)


@asynccontextmanager
async def linked(here: FakeHost, address: str) -> AsyncIterator[Links]:
    mine = Links(here, ["", address])  # type: ignore[arg-type]
    try:
        yield mine
    finally:
        await mine.close()


def test_envelopes_arrive_in_order_and_whole() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            for number in range(5000):
                mine.offer(1, passage(number))
            await until(lambda: len(there.received) == 5000)
        assert [envelope.receiver for envelope in there.received] == list(range(5000))
        first = there.received[0]
        assert decode(first.type, first.payload) == EventData(payload=b"payload")
        assert (first.channel, first.request) == ("part", 7)
        assert not here.given_up

    asyncio.run(live())


def test_a_batch_leaves_when_its_most_urgent_message_has_to_and_takes_all_others_along() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(0))
            await until(lambda: there.received)
            now = time.monotonic()
            for number, seconds in enumerate((5.0, 0.2, 3.0)):
                waiting = passage(number)
                waiting.leave_by = now + seconds
                mine.offer(1, waiting)
            await asyncio.sleep(0.1)
            assert there.batches == [1]
            await until(lambda: len(there.received) == 4)
            assert time.monotonic() >= now + 0.2
            assert there.batches == [1, 3]
            mine.offer(1, passage(4))
            await until(lambda: there.batches == [1, 3, 1])

    asyncio.run(live())


def test_what_the_other_host_took_is_told_although_nothing_is_sent_back() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(0))
            await until(lambda: there.received)
            assert unsettled(mine) == 1
            await until(lambda: not unsettled(mine), 2.0)

    asyncio.run(live())


def test_what_was_taken_while_a_batch_was_written_is_told_soon() -> None:
    class Stream:
        """A stream over which the other host sends something while this one writes."""

        def __init__(self) -> None:
            self.taken: list[int] = []
            self.meanwhile: Callable[[], None] | None = None

        async def write(self, batch: wire_pb2.Batch) -> None:
            self.taken.append(batch.taken)
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                meanwhile()

    async def live() -> None:
        links, stream = Links(FakeHost(0), ["", _NOWHERE]), Stream()  # type: ignore[arg-type]
        link = links.accept(1, stream)
        assert link is not None
        batch = wire_pb2.Batch(host=1, envelopes=[wire_pb2.Envelope(sender=1)])
        link.hear(stream, batch)
        await asyncio.sleep(streams._SETTLING + 0.01)
        stream.meanwhile = lambda: link.hear(stream, batch)
        links.offer(1, passage(0))
        await until(lambda: stream.taken == [1, 2], 2.0)
        await links.close()

    asyncio.run(live())


def test_a_queue_is_bounded_and_what_it_drops_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_QUEUE_LIMIT", 10)

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            for number in range(25):
                mine.offer(1, passage(number))
            await until(lambda: len(there.received) == 10)
        assert here.dropped == {"link full": 15}

    asyncio.run(live())


def test_what_is_for_a_host_that_is_gone_is_given_up_until_it_is_back() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (server, address), linked(here, address) as mine:
            mine.offer(1, passage(1))
            await until(lambda: there.received)
            await until(lambda: not unsettled(mine))
            await server.stop(0)
            await until(lambda: mine.offer(1, passage(2)) or here.given_up)
            assert here.given_up[0].receiver == 2
            async with listening(there, address):
                await until(lambda: mine.offer(1, passage(3)) or len(there.received) > 1)

    asyncio.run(live())


def test_a_host_that_refuses_is_given_up_at_once() -> None:
    async def live() -> None:
        here = FakeHost(0)
        async with linked(here, _NOWHERE) as mine:
            mine.offer(1, passage(1))
            await until(lambda: here.given_up, limit=3.0)
            mine.offer(1, passage(2))
            assert [p.receiver for p in here.given_up] == [1, 2]

    asyncio.run(live())


def test_a_link_that_is_not_used_is_closed_and_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_IDLE", 0.05)

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(1))
            await until(lambda: there.received)
            await until(lambda: len(asyncio.all_tasks()) == idle)
            mine.offer(1, passage(2))
            await until(lambda: len(there.received) == 2)
        assert not here.given_up

    async def started() -> None:
        nonlocal idle
        async with listening(FakeHost(1)):
            idle = len(asyncio.all_tasks())

    idle = 0
    asyncio.run(started())
    asyncio.run(live())


def test_links_close_even_when_something_is_sent_at_that_moment() -> None:
    async def live() -> None:
        there = FakeHost(1)
        async with listening(there) as (_, address):
            for turn in range(30):
                here = FakeHost(0)
                mine = Links(here, ["", address])  # type: ignore[arg-type]
                mine.offer(1, passage(1))
                await until(lambda turn=turn: len(there.received) > turn)  # type: ignore[misc]
                await asyncio.sleep(0.02)
                mine.offer(1, passage(2))
                async with asyncio.timeout(5.0):
                    await mine.close()
                there.received = there.received[: turn + 1]

    asyncio.run(live())


def test_a_host_that_is_gone_is_not_looked_for_without_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BACK_OFF", (0.01, 0.02))

    async def live() -> None:
        here = FakeHost(0)
        alone = len(asyncio.all_tasks())
        async with linked(here, _NOWHERE) as mine:
            mine.offer(1, passage(1))
            assert len(asyncio.all_tasks()) > alone
            await until(lambda: len(asyncio.all_tasks()) == alone)
            mine.offer(1, passage(2))
            await until(lambda: len(here.given_up) == 2)

    asyncio.run(live())


def test_a_host_that_has_moved_is_reached_at_its_new_address() -> None:
    async def live() -> None:
        here, before, after = FakeHost(0), FakeHost(1), FakeHost(1)
        starts = listening(before), listening(after)
        async with starts[0] as (server, old), starts[1] as (_, new), linked(here, old) as mine:
            mine.offer(1, passage(1))
            await until(lambda: before.received)
            await server.stop(0)
            mine.move(1, new)
            mine.offer(1, passage(2))
            await until(lambda: after.received)
        assert [envelope.receiver for envelope in after.received] == [2]

    asyncio.run(live())


def test_the_way_is_prepared_before_the_first_envelope_to_each_host() -> None:
    async def live() -> None:
        prepared: list[tuple[int, str]] = []
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address):
            mine = Links(here, ["", address], lambda *way: prepared.append(way))  # type: ignore[arg-type]
            assert not prepared
            mine.offer(1, passage(1))
            mine.offer(1, passage(2))
            assert prepared == [(1, address)]
            await mine.close()

    asyncio.run(live())


def test_a_host_answers_over_the_stream_that_the_other_one_opened() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(1))
            await until(lambda: there.received)
            for number in range(3000):
                there.wire.offer(0, passage(number))
            await until(lambda: len(here.received) == 3000)
            assert [envelope.receiver for envelope in here.received] == list(range(3000))
            mine.offer(1, passage(2))
            await until(lambda: len(there.received) == 2)
        assert not there.given_up

    asyncio.run(live())


def test_a_stream_stays_open_while_only_the_other_host_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_IDLE", 0.1)

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(1))
            await until(lambda: there.received)
            for number in range(20):
                there.wire.offer(0, passage(number))
                await asyncio.sleep(0.03)
            await until(lambda: len(here.received) == 20)
        assert not there.given_up

    asyncio.run(live())


def test_what_is_answered_while_a_stream_is_closed_arrives_or_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_IDLE", 0.02)

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            for turn in range(20):
                mine.offer(1, passage(turn))
                await until(lambda turn=turn: len(there.received) > turn)  # type: ignore[misc]
                for _ in range(4):
                    there.wire.offer(0, passage(turn))
                    await asyncio.sleep(0.007 + turn * 0.001)
                await until(lambda turn=turn: len(here.received) + len(there.given_up) == 4 * turn + 4)  # type: ignore[misc]
                await asyncio.sleep(0.05)
        assert len(here.received) >= 20

    asyncio.run(live())


def test_nobody_answers_over_the_stream_of_a_host_that_is_gone() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address):
            async with linked(here, address) as mine:
                mine.offer(1, passage(1))
                await until(lambda: there.received)
            await until(lambda: there.wire.offer(0, passage(7)) or there.given_up)
        assert {p.receiver for p in there.given_up} == {7}

    asyncio.run(live())


def test_a_host_that_calls_is_answered_though_it_could_not_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BACK_OFF", (60.0, 60.0))

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            there.wire.offer(0, passage(7))
            await until(lambda: there.given_up)
            mine.offer(1, passage(1))
            await until(lambda: there.received)
            there.wire.offer(0, passage(8))
            await until(lambda: here.received)
        assert here.received[0].receiver == 8

    asyncio.run(live())


def test_a_stream_of_an_unknown_host_is_read_and_not_answered() -> None:
    async def live() -> None:
        here, there = FakeHost(9), FakeHost(1)
        async with listening(there) as (_, address), linked(here, address) as mine:
            mine.offer(1, passage(1))
            await until(lambda: there.received)

    asyncio.run(live())
