"""Links between hosts: one gRPC stream to each host that this one talks to, in micro-batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
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
_CONNECT_LIMIT = 20.0
"""Wall seconds for a host that does not even refuse."""
_IDLE = 30.0
"""Wall seconds without anything to send after which a link is closed; an open one takes 150 KiB."""

OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", 256 << 20),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.so_reuseport", 0),
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
"""Of every server and channel between hosts and coordinator."""


def _ready(host: int, address: str) -> None:
    """The way to a host needs no preparation."""


async def _connect(channel: grpc.aio.Channel) -> None:
    """Raises ConnectionError as soon as an attempt has failed."""
    state = channel.get_state(try_to_connect=True)
    while state is not grpc.ChannelConnectivity.READY:
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            raise ConnectionError("the host does not listen")
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


class _Link:
    """The stream to one host. It is opened when it is needed and closed when it is not for a while."""

    def __init__(self, host: Host, address: str) -> None:
        self._host = host
        self._address = address
        self._queue: list[Passage] = []
        self._wanted = asyncio.Event()
        self._up = True
        self._back_off = _BACK_OFF[0]
        self._task: asyncio.Task[None] | None = None

    def offer(self, passage: Passage) -> None:
        if not self._up:
            self._host.give_up([passage])
        elif len(self._queue) >= _QUEUE_LIMIT:
            self._host.dropped["link full"] += 1
        else:
            self._queue.append(passage)
            self._wanted.set()
            if self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> asyncio.Task[None] | None:
        """Stop sending; what waits is forgotten. Gives what remains to be awaited."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    def retire(self) -> None:
        """The host is elsewhere now: nobody gets what waits."""
        self.stop()
        self._host.give_up(self._queue)

    async def _run(self) -> None:
        """Connect and send until there is nothing to send.

        After a failure nothing is tried for a while, and then only when there is something to send: many
        hosts that look for each other without need keep a busy machine busy.
        """
        while True:
            async with grpc.aio.insecure_channel(self._address, options=OPTIONS) as channel:
                try:
                    # `asyncio.wait_for` of Python 3.11 may swallow the cancellation that ends a link.
                    async with asyncio.timeout(_CONNECT_LIMIT):
                        await _connect(channel)
                    self._up = True
                    self._back_off = _BACK_OFF[0]
                    await self._send_all(wire_pb2_grpc.LinksStub(channel))  # type: ignore[no-untyped-call]
                    if not self._queue:
                        self._task = None
                        return
                    continue
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError, ConnectionError, TimeoutError):
                    self._up = False
                    queue, self._queue = self._queue, []
                    self._host.give_up(queue)
            await asyncio.sleep(self._back_off)
            self._back_off = min(self._back_off * 2, _BACK_OFF[1])
            self._up = True
            self._task = None
            return

    async def _send_all(self, stub: Any) -> None:
        """Until nothing is to be sent for `_IDLE` seconds."""
        call = stub.Send()
        while True:
            try:
                async with asyncio.timeout(_IDLE):
                    await self._wanted.wait()
            except TimeoutError:
                await call.done_writing()
                await call
                return
            await asyncio.sleep(GATHERING)
            while self._queue:
                passages = self._queue[:_BATCH_LIMIT]
                batch = wire_pb2.Batch()
                for passage in passages:
                    passage.add_to(batch)
                await call.write(batch)
                del self._queue[: len(passages)]
            self._wanted.clear()


class Links:
    """All links of a host to others."""

    def __init__(
        self, host: Host, addresses: Sequence[str], prepare: Callable[[int, str], None] = _ready
    ) -> None:
        """`addresses` of all hosts, by index; `prepare(index, address)` is called before a link is opened.

        Becomes the host's wire. Needs a running event loop when something is sent.
        """
        self._host = host
        self._addresses = list(addresses)
        self._prepare = prepare
        self._links: dict[int, _Link] = {}
        host.wire = self

    def offer(self, host: int, passage: Passage) -> None:
        link = self._links.get(host)
        if link is None:
            address = self._addresses[host]
            self._prepare(host, address)
            link = self._links[host] = _Link(self._host, address)
        link.offer(passage)

    def move(self, host: int, address: str) -> None:
        """The host has come back at this address."""
        self._addresses[host] = address
        if (link := self._links.pop(host, None)) is not None:
            link.retire()

    async def close(self) -> None:
        """Close all; nothing is sent any more."""
        tasks = [task for link in self._links.values() if (task := link.stop()) is not None]
        await asyncio.gather(*tasks, return_exceptions=True)


class LinksService(wire_pb2_grpc.LinksServicer):
    """Receives what other hosts send, for whichever trial is on."""

    def __init__(self) -> None:
        self.host: Host | None = None
        """Takes what arrives; without one it is thrown away."""

    async def Send(
        self, request_iterator: AsyncIterator[wire_pb2.Batch], context: Any
    ) -> wire_pb2.LinkClosed:
        """Handle what another host sends."""
        received = 0
        async for batch in request_iterator:
            received += len(batch.envelopes)
            if self.host is not None:
                self.host.receive(batch)
        return wire_pb2.LinkClosed(envelopes=received)
