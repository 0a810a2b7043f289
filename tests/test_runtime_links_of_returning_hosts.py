"""A link whose host does not answer where it was, and opens a stream from elsewhere."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from emulator.runtime.realtime.sent_message import Passage
from emulator.runtime.realtime.streams import Links
from trellis.v1 import wire_pb2


class _Stream:
    def __init__(self) -> None:
        self.due: list[int] = []
        self.written = asyncio.Event()

    async def write(self, batch: wire_pb2.Batch) -> None:
        self.due += [envelope.due_ns for envelope in batch.envelopes]
        self.written.set()


def _probe(due_ns: int) -> Passage:
    return Passage(0, 1, None, "", 0, due_ns, due_ns, None)


def test_what_waits_for_a_silent_host_goes_over_its_stream_at_once_but_for_what_is_overdue() -> None:
    given_up: list[int] = []

    def give_up(passages: Iterable[Passage]) -> None:
        given_up.extend(passage.due_ns for passage in passages)

    async def exchange(address: str) -> list[int]:
        host: Any = SimpleNamespace(
            index=0,
            wire=None,
            dropped=Counter(),
            clock=SimpleNamespace(now=lambda: 10.0),
            network=SimpleNamespace(unreachable_after=3.0),
            give_up=give_up,
        )
        links, stream = Links(host, ["", address]), _Stream()
        for due_ns in (6_000_000_000, 9_000_000_000):
            links.offer(1, _probe(due_ns))
        await asyncio.sleep(0.1)
        links.accept(1, stream)
        async with asyncio.timeout(5):
            await stream.written.wait()
        await links.close()
        return stream.due

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert asyncio.run(exchange(address)) == [9_000_000_000]
    assert given_up == [6_000_000_000]
