"""Servers of a release that strangers reach: connections take a bounded place, and only for a while."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from emulator.fleet.coordinator.authorization import Trust
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.fleet.host.program import Place, run_host
from emulator.telemetry.collector_gate import serve_gate
from emulator.telemetry.otlp_files import BackgroundSink
from emulator.trust import credentials
from emulator.trust.credentials import Credentials

MOST = 5
GUARDED = Credentials("the token", connections=MOST)
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
"""The beginning of a connection of HTTP/2, with settings that change nothing."""


@asynccontextmanager
async def gate() -> AsyncIterator[int]:
    server, channel, port = await serve_gate("127.0.0.1:0", "127.0.0.1:9", "key", GUARDED)
    yield port
    await server.stop(0)
    await channel.close(None)


@asynccontextmanager
async def coordinator() -> AsyncIterator[int]:
    service = CoordinatorService(Trust(GUARDED))
    server, address = await service.serve("127.0.0.1:0")
    yield int(address.rpartition(":")[2])
    await service.close()
    await server.stop(0)


@asynccontextmanager
async def host() -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listen = f"127.0.0.1:{port}"
    place = Place(
        "host-0", "127.0.0.1:9", listen, Path("telemetry"), BackgroundSink, stay=True, credentials=GUARDED
    )
    program = asyncio.create_task(run_host(place))
    while True:
        with contextlib.suppress(OSError):
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            break
        await asyncio.sleep(0.01)
    yield port
    program.cancel()
    await asyncio.gather(program, return_exceptions=True)


class Stranger:
    """Many connections to a server, of which each has said hello, or nothing at all."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def connect(self, count: int, hello: bytes) -> None:
        for _ in range(count):
            self._ends.append(await asyncio.open_connection("127.0.0.1", self._port))
            self._ends[-1][1].write(hello)

    async def left(self, seconds: float) -> int:
        """Return how many connections the server has not closed after so long."""
        reading = [asyncio.create_task(reader.read()) for reader, _ in self._ends]
        _, waiting = await asyncio.wait(reading, timeout=seconds)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        return len(waiting)

    def close(self) -> None:
        for _, writer in self._ends:
            writer.close()


@pytest.mark.parametrize("serve", [gate, coordinator, host])
def test_connections_beyond_the_limit_are_closed_at_once(
    serve: Callable[[], AbstractAsyncContextManager[int]],
) -> None:
    async def left() -> int:
        async with serve() as port:
            stranger = Stranger(port)
            await stranger.connect(8 * MOST, HELLO)
            try:
                return await stranger.left(1.0)
            finally:
                stranger.close()

    assert 0 < asyncio.run(left()) <= 2 * MOST, "gRPC takes some more, where they come at once"


@pytest.mark.parametrize("hello", [HELLO, b""])
def test_a_connection_without_a_call_makes_room_for_others(
    hello: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_HANDSHAKE_MS", 500)
    monkeypatch.setattr(credentials, "_IDLE_MS", 500)

    async def left() -> int:
        async with gate() as port:
            stranger = Stranger(port)
            await stranger.connect(MOST, hello)
            try:
                return await stranger.left(10.0)
            finally:
                stranger.close()

    assert asyncio.run(left()) == 0


def test_local_programs_have_no_limit() -> None:
    assert Credentials("the token").bounds == []
