"""Links between hosts: one gRPC stream to each host that this one talks to, in micro-batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import grpc.aio
from trellis.v1 import wire_pb2, wire_pb2_grpc

from emulator.runtime.passage import Passage
from emulator.runtime.realtime import GATHERING, Host

_BATCH_LIMIT = 2000
"""Envelopes in a batch."""
_QUEUE_LIMIT = 20_000
"""Envelopes that may wait for one link; more are dropped and counted."""
_BACK_OFF = (0.1, 5.0)
"""Wall seconds until the first and between the last attempts to reach a host again."""
_CONNECT_LIMIT = 5.0

OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", 256 << 20),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.so_reuseport", 0),
]
"""Of every server and channel between hosts and coordinator."""


class _Link:
    """The stream to one host."""

    def __init__(self, host: Host, address: str) -> None:
        self._host = host
        self._address = address
        self._queue: list[Passage] = []
        self._wanted = asyncio.Event()
        self._up = True

    def offer(self, passage: Passage) -> None:
        if not self._up:
            self._host.give_up([passage])
        elif len(self._queue) < _QUEUE_LIMIT:
            self._queue.append(passage)
            self._wanted.set()
        else:
            self._host.dropped["link full"] += 1

    async def run(self) -> None:
        """Connect, send, and connect again after failures, until cancelled."""
        back_off = _BACK_OFF[0]
        while True:
            async with grpc.aio.insecure_channel(self._address, options=OPTIONS) as channel:
                try:
                    await asyncio.wait_for(channel.channel_ready(), _CONNECT_LIMIT)
                    self._up = True
                    back_off = _BACK_OFF[0]
                    await self._send_all(wire_pb2_grpc.LinksStub(channel))  # type: ignore[no-untyped-call]
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError, TimeoutError):
                    self._up = False
                    queue, self._queue = self._queue, []
                    self._host.give_up(queue)
            await asyncio.sleep(back_off)
            back_off = min(back_off * 2, _BACK_OFF[1])

    async def _send_all(self, stub: Any) -> None:
        call = stub.Send()
        while True:
            await self._wanted.wait()
            await asyncio.sleep(GATHERING)
            while self._queue:
                passages = self._queue[:_BATCH_LIMIT]
                batch = wire_pb2.Batch()
                for passage in passages:
                    passage.add_to(batch)
                await call.write(batch)
                del self._queue[: len(passages)]
            self._wanted.clear()


class Links(wire_pb2_grpc.LinksServicer):
    """All links of a host, out and in."""

    def __init__(self, host: Host, addresses: Sequence[str]) -> None:
        """`addresses` of all hosts, by index. Becomes the host's wire."""
        self._host = host
        self._links = {
            index: _Link(host, address) for index, address in enumerate(addresses) if index != host.index
        }
        host.wire = self

    def offer(self, host: int, passage: Passage) -> None:
        self._links[host].offer(passage)

    async def run(self) -> None:
        """Keep the links to all other hosts until cancelled."""
        async with asyncio.TaskGroup() as group:
            for link in self._links.values():
                group.create_task(link.run())
            await asyncio.Event().wait()

    async def Send(
        self, request_iterator: AsyncIterator[wire_pb2.Batch], context: Any
    ) -> wire_pb2.LinkClosed:
        """Handle what another host sends."""
        received = 0
        async for batch in request_iterator:
            received += len(batch.envelopes)
            self._host.receive(batch)
        return wire_pb2.LinkClosed(envelopes=received)
