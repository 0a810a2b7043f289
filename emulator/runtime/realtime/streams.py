"""Links between hosts: one gRPC stream between two hosts that talk to each other, in small batches.

The host that first has something to send opens the stream, and the other one answers over it, because opening
a stream costs more than hundreds of messages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc
import grpc.aio

from emulator.runtime.realtime.connecting import OPTIONS, connect
from emulator.runtime.realtime.gathering import AHEAD, Gathering
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.ledger import Ledger
from emulator.runtime.realtime.sent_message import Passage, Wire
from emulator.trust.credentials import OPEN, Credentials
from emulator.trust.proof import digest, prove
from trellis.v1 import wire_pb2, wire_pb2_grpc

_BATCH_LIMIT = 2000
"""The most envelopes in a batch."""
_QUEUE_LIMIT = 20_000
"""The most envelopes that may wait for one link; envelopes beyond are dropped and counted."""
_BACK_OFF = (0.1, 5.0)
"""The wall seconds before the first and between the last attempts to reach a host again."""
_CONNECT_LIMIT = 20.0
"""The wall seconds after which an attempt fails at a host that does not even refuse."""
_SETTLING = 0.25
"""The wall seconds after which a host tells the other one what it has taken from a stream."""
_IDLE = 30.0
"""A stream is closed after this many wall seconds without traffic either way; an open one takes 150 KiB."""

Stream = Any
"""A gRPC stream, whose `await write(batch)` raises one of `_BROKEN` if the other host is gone."""

_BROKEN = (grpc.RpcError, grpc.aio.BaseError, asyncio.InvalidStateError)
"""The exceptions that writing to a stream raises when it has ended."""


def _ready(host: int, address: str) -> None:
    """Do nothing: the link to a host needs no preparation."""


class _Link:
    """The link to one host: the stream that the other host opened or, without one, a stream of this host.

    A stream is opened when it is needed and closed when neither host has used it for a while.
    """

    def __init__(self, host: Host, address: str, credentials: Credentials) -> None:
        self._host = host
        self._address = address
        self._credentials = credentials
        self._queue: list[Passage] = []
        self._gathering = Gathering()
        self._wanted = asyncio.Event()
        self._accepted: Stream | None = None
        self._answering = asyncio.Lock()
        self._heard = False
        self._up = True
        self._attempt: asyncio.Timeout | None = None
        self._back_off = _BACK_OFF[0]
        self._task: asyncio.Task[None] | None = None
        self._ledgers: dict[Stream, Ledger] = {}
        """The record of what was written, for each stream that is open."""

    def offer(self, passage: Passage) -> None:
        if not self._up:
            self._host.give_up([passage])
        elif len(self._queue) >= _QUEUE_LIMIT:
            self._host.dropped["link full"] += 1
        else:
            self._queue.append(passage)
            self._work(passage.leave_by)

    def hear(self, stream: Stream, batch: wire_pb2.Batch) -> None:
        """Take note of a batch that came over a stream, and have the other host told of it soon."""
        ledger = self._ledger(stream)
        ledger.settle(batch.taken)
        if batch.envelopes:
            if not ledger.owes:
                asyncio.get_running_loop().call_later(_SETTLING, self._acknowledge, stream)
            ledger.taken += len(batch.envelopes)

    def accept(self, stream: Stream) -> None:
        """Use the stream that the other host has opened.

        An attempt to reach it at a former address ends now.
        """
        self._accepted = stream
        self._up = True
        if self._attempt is not None and not self._attempt.expired():
            self._attempt.reschedule(asyncio.get_running_loop().time())

    async def release(self, stream: Stream, broken: bool = False) -> None:
        """Let go of the stream that the other host closes; a batch that is being written is still written.

        If the stream has `broken`, what may not have arrived is given up.
        """
        if self._accepted is stream:
            self._accepted = None
        async with self._answering:
            self._settle(stream, broken)

    def stop(self) -> asyncio.Task[None] | None:
        """Stop sending and forget the envelopes that wait. Returns the task to wait for, if any."""
        self._ledgers.clear()
        if self._task is not None:
            self._task.cancel()
        return self._task

    def retire(self) -> None:
        """Forget the envelopes that wait: the host has another address now, and they would not arrive."""
        left = [passage for ledger in self._ledgers.values() for passage in ledger.unsettled()]
        self.stop()
        self._host.give_up([*left, *self._queue])

    def _work(self, by: float) -> None:
        """Have a task send what there is to send by this monotonic time (s)."""
        self._gathering.end_by(by)
        self._wanted.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._notice)

    def _notice(self, task: asyncio.Task[None]) -> None:
        """Tell the host if the task has ended by an error, also that of a link that is not used any more."""
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._host.fail(error)

    def _ledger(self, stream: Stream) -> Ledger:
        return self._ledgers.setdefault(stream, Ledger())

    def _acknowledge(self, stream: Stream) -> None:
        if (ledger := self._ledgers.get(stream)) is not None and ledger.owes:
            self._work(asyncio.get_running_loop().time() + AHEAD)

    def _owes(self, stream: Stream | None) -> bool:
        return stream is not None and (found := self._ledgers.get(stream)) is not None and found.owes

    def _settle(self, stream: Stream, broken: bool) -> None:
        """Forget a stream that has ended; what may have been lost with it is given up. Nothing waits any
        longer for others to leave with it."""
        self._gathering.end_by(0.0)
        ledger = self._ledgers.pop(stream, None)
        if ledger is not None and broken:
            self._host.give_up(ledger.unsettled())

    async def _run(self) -> None:
        """Send until there is nothing to send."""
        while self._queue or self._owes(self._accepted):
            if self._accepted is not None:
                await self._answer()
            else:
                await self._call()
        self._task = None

    async def _answer(self) -> None:
        """Send what waits over the other host's stream."""
        await self._gathering.over()
        async with self._answering:
            if (stream := self._accepted) is not None and (self._queue or self._owes(stream)):
                try:
                    await self._write(stream)
                except _BROKEN:
                    self._settle(stream, broken=True)
                    if self._accepted is stream:
                        self._accepted = None

    async def _call(self) -> None:
        """Open a stream and send until it is no longer used.

        After a failure, the link waits for a while and then until there is something to send, because many
        hosts that look for each other without need would keep a busy machine busy.
        """
        async with self._credentials.open(self._address, OPTIONS) as channel:
            try:
                await self._reach(channel)
                self._back_off = _BACK_OFF[0]
                stub = wire_pb2_grpc.LinksStub(self._credentials.showing(channel))  # type: ignore[no-untyped-call]
                await self._send_all(stub.Exchange())
                return
            except (*_BROKEN, ConnectionError, TimeoutError):
                if self._accepted is not None:
                    self._give_up_overdue()
                    return
                self._up = False
                queue, self._queue = self._queue, []
                self._host.give_up(queue)
        self._wanted.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._back_off):
                await self._wanted.wait()  # something can be sent again only once the host has called
        self._back_off = min(self._back_off * 2, _BACK_OFF[1])
        self._up = True

    async def _reach(self, channel: grpc.aio.Channel) -> None:
        """Connect. Raises ConnectionError, or TimeoutError if it takes long or `accept` ends the attempt."""
        try:
            # `asyncio.wait_for` of Python 3.11 may swallow the cancellation that ends a link.
            async with asyncio.timeout(_CONNECT_LIMIT) as self._attempt:
                await connect(channel)
        finally:
            self._attempt = None

    def _give_up_overdue(self) -> None:
        """Give up envelopes to the host's former start that have waited for longer than a time-out."""
        oldest_ns = (self._host.clock.now() - self._host.network.unreachable_after) * 1e9
        self._host.give_up([passage for passage in self._queue if passage.due_ns < oldest_ns])
        self._queue = [passage for passage in self._queue if passage.due_ns >= oldest_ns]

    async def _send_all(self, call: Any) -> None:
        """Send what waits until neither host has sent anything for `_IDLE` seconds."""
        reading = asyncio.create_task(self._read(call))
        reading.add_done_callback(lambda _: self._end_gathering())
        broken = True
        try:
            while await self._is_used():
                if reading.done():  # the other host has ended the stream
                    reading.result()
                    break
                await self._gathering.over()
                if self._queue or self._owes(call):
                    await self._write(call)
                if not (self._queue or self._owes(call)):
                    self._wanted.clear()
                if self._owes(self._accepted):  # both hosts have opened a stream
                    await self._answer_alone()
            await call.done_writing()
            async with asyncio.timeout(_CONNECT_LIMIT):
                await reading
            broken = False
        finally:
            reading.cancel()
            (ended,) = await asyncio.gather(reading, return_exceptions=True)
            self._settle(call, broken)
            if isinstance(ended, Exception) and not isinstance(ended, _BROKEN):
                self._host.fail(ended)

    def _end_gathering(self) -> None:
        """Have nothing wait any longer: the other host has ended the stream."""
        self._gathering.end_by(0.0)
        self._wanted.set()

    async def _answer_alone(self) -> None:
        """Tell the other host what came over its stream, while messages go over that of this host."""
        async with self._answering:
            if (stream := self._accepted) is not None:
                try:
                    await self._write(stream, most=0)
                except _BROKEN:
                    self._settle(stream, broken=True)

    async def _is_used(self) -> bool:
        """Wait for something to send. Returns False if neither host had anything for `_IDLE` seconds."""
        while True:
            self._heard = False
            try:
                async with asyncio.timeout(_IDLE):
                    await self._wanted.wait()
            except TimeoutError:
                if self._heard:
                    continue
                return False
            return True

    async def _read(self, call: Any) -> None:
        """Handle what the other host answers over a stream of this host."""
        async for batch in call:
            self._heard = True
            self.hear(call, batch)
            self._host.receive(batch)

    async def _write(self, stream: Stream, most: int = _BATCH_LIMIT) -> None:
        """Send what waits, or a part of it, and how much has come over the stream."""
        passages = self._queue[:most]
        if most and len(passages) == len(self._queue):
            self._gathering.begin()
        ledger = self._ledger(stream)
        taken = ledger.taken
        batch = wire_pb2.Batch(host=self._host.index, taken=taken)
        for passage in passages:
            passage.add_to(batch)
        await stream.write(batch)
        ledger.told = taken
        ledger.write(passages)
        del self._queue[: len(passages)]
        if ledger.owes:  # the time at which this was to be told may have passed while the batch was written
            self._gathering.end_by(asyncio.get_running_loop().time() + _SETTLING)


class Links(Wire):
    """All links of a host to others."""

    def __init__(
        self,
        host: Host,
        addresses: Sequence[str],
        prepare: Callable[[int, str], None] = _ready,
        credentials: Credentials = OPEN,
    ) -> None:
        """`addresses` has those of all hosts, by index; `prepare(index, address)` is called before a link is
        used.

        The links become the host's wire. They need a running event loop when something is sent.
        """
        self._host = host
        self._addresses = list(addresses)
        self._prepare = prepare
        self._credentials = credentials
        self._links: dict[int, _Link] = {}
        host.wire = self

    def offer(self, host: int, passage: Passage) -> None:
        self._link(host).offer(passage)

    def accept(self, host: int, stream: Stream) -> _Link | None:
        """Return the link to the host that has opened this stream; None if there is no such host."""
        if host >= len(self._addresses):
            return None
        link = self._link(host)
        link.accept(stream)
        return link

    def receive(self, batch: wire_pb2.Batch) -> None:
        """Handle what another host sent."""
        self._host.receive(batch)

    def move(self, host: int, address: str) -> None:
        """Reach a host that has come back at this address from now on."""
        self._addresses[host] = address
        if (link := self._links.pop(host, None)) is not None:
            link.retire()

    async def close(self) -> None:
        """Close all links; nothing is sent any more."""
        tasks = [task for link in self._links.values() if (task := link.stop()) is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _link(self, host: int) -> _Link:
        link = self._links.get(host)
        if link is None:
            address = self._addresses[host]
            self._prepare(host, address)
            link = self._links[host] = _Link(self._host, address, self._credentials)
        return link


class LinksService(wire_pb2_grpc.LinksServicer):
    """Receives the batches of other hosts in the running trial."""

    def __init__(self, start: str = "") -> None:
        """`start` is the token of this start of the host's program."""
        self.links: Links | None = None
        """The links that take batches; without them batches are thrown away."""
        self._digest = digest(start)

    async def Prove(self, request: wire_pb2.Question, context: Any) -> wire_pb2.Proof:
        """Prove to the coordinator that this start of the program lives."""
        return wire_pb2.Proof(proof=prove(self._digest, request.question))

    async def Exchange(self, request_iterator: AsyncIterator[wire_pb2.Batch], context: Any) -> None:
        """Handle what another host sends, and send what this host has for it over the same stream."""
        link: _Link | None = None
        broken = True
        try:
            async for batch in request_iterator:
                if (links := self.links) is None:
                    continue
                if link is None:
                    link = links.accept(batch.host, context)
                if link is not None:
                    link.hear(context, batch)
                links.receive(batch)
            broken = False
        finally:
            if link is not None:
                await link.release(context, broken)
