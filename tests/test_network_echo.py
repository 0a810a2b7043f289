"""UDP echoes between hosts."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from emulator.network import echo
from emulator.network.echo import measure_round_trips, serve_echo

LOCAL = "127.0.0.1"
REQUEST = b"trellis?" + bytes(16)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


class Peculiar(asyncio.DatagramProtocol):
    """Answers as the test says: the answers to one request, each after some seconds."""

    def __init__(self, answers: Callable[[bytes], list[tuple[float, bytes]]]) -> None:
        self.answers = answers
        self.requests = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        self.requests += 1
        for delay, answer in self.answers(data):
            asyncio.get_running_loop().call_later(delay, self.transport.sendto, answer, address)


async def peculiar(answers: Callable[[bytes], list[tuple[float, bytes]]]) -> tuple[Peculiar, tuple[str, int]]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: Peculiar(answers), local_addr=(LOCAL, 0))
    return server, transport.get_extra_info("sockname")


def answered(data: bytes) -> bytes:
    return b"trellis!" + data[8:]


def test_each_address_has_its_own_round_trip() -> None:
    async def measure() -> None:
        servers = [await serve_echo(LOCAL, 0) for _ in range(3)]
        _, slow = await peculiar(lambda data: [(0.05, answered(data))])
        addresses = [server.get_extra_info("sockname") for server in servers]
        found = await measure_round_trips([*addresses, slow], count=3)
        assert all(trip is not None and 0 < trip < 40_000_000 for trip in found[:3])
        assert found[3] is not None
        assert found[3] >= 50_000_000
        for server in servers:
            server.close()

    run(measure())


def test_the_shortest_of_several_is_taken() -> None:
    delays = iter([0.2, 0.03, 0.1])

    async def measure() -> None:
        server, address = await peculiar(lambda data: [(next(delays), answered(data))])
        (found,) = await measure_round_trips([address], count=3)
        assert server.requests == 3
        assert found is not None
        assert 30_000_000 <= found < 90_000_000

    run(measure())


def test_who_does_not_answer_has_no_round_trip_and_is_waited_for_once() -> None:
    async def measure() -> None:
        server = await serve_echo(LOCAL, 0)
        _, silent = await peculiar(lambda data: [])
        began = time.monotonic()
        found = await measure_round_trips([silent, server.get_extra_info("sockname"), silent], 2, wait=0.2)
        assert 0.2 <= time.monotonic() - began < 2
        assert found[0] is None
        assert found[1] is not None
        assert found[2] is None
        server.close()

    run(measure())


def test_nobody_to_ask_takes_no_time() -> None:
    async def measure() -> None:
        assert await measure_round_trips([]) == []

    run(measure())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: data,
        lambda data: answered(data)[:-1],
        lambda data: answered(data) + b"!",
        lambda data: b"trellis!" + bytes(8) + data[16:],
        lambda data: data[:8].replace(b"?", b"!") + data[8:16] + (1 << 40).to_bytes(8, "big"),
    ],
    ids=["the request", "short", "long", "of another measurement", "to a number never sent"],
)
def test_what_is_no_answer_is_ignored(wrong: Callable[[bytes], bytes]) -> None:
    async def measure() -> None:
        _, address = await peculiar(lambda data: [(0, wrong(data)), (0.05, answered(data))])
        (found,) = await measure_round_trips([address], count=1)
        assert found is not None
        assert found >= 50_000_000

    run(measure())


def test_an_answer_from_elsewhere_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo.os, "urandom", lambda count: b"known..."[:count])

    async def measure() -> None:
        _, address = await peculiar(lambda data: [])
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        loop = asyncio.get_running_loop()
        original = loop.create_datagram_endpoint

        async def notice(*arguments: Any, **options: Any) -> Any:
            made = await original(*arguments, **options)
            port = made[0].get_extra_info("sockname")[1]
            answer = b"trellis!" + b"known..." + bytes(8)
            loop.call_later(0.05, stranger.sendto, answer, (LOCAL, port))
            return made

        monkeypatch.setattr(loop, "create_datagram_endpoint", notice)
        assert await measure_round_trips([address], count=1, wait=0.3) == [None]
        stranger.close()

    run(measure())


@pytest.mark.parametrize(
    "datagram",
    [b"", REQUEST[:-1], REQUEST + b"x", b"trellis!" + bytes(16), bytes(24), REQUEST * 50],
    ids=["empty", "short", "long", "an answer", "zeros", "many"],
)
def test_only_requests_are_answered(datagram: bytes) -> None:
    async def ask() -> None:
        server = await serve_echo(LOCAL, 0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.setblocking(False)
            asker.connect(server.get_extra_info("sockname"))
            asker.send(datagram)
            asker.send(REQUEST)
            loop = asyncio.get_running_loop()
            answer = await loop.sock_recv(asker, 4096)
            assert answer == answered(REQUEST)
            assert len(answer) == len(REQUEST)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(loop.sock_recv(asker, 4096), 0.05)
        server.close()

    run(ask())


@pytest.mark.parametrize("host", ["localhost", "::1", "10.0.0"])
def test_what_is_no_ipv4_address_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match=host.replace(".", r"\.")):
        asyncio.run(measure_round_trips([(host, 7001)]))


def test_an_address_that_is_taken_is_an_error() -> None:
    async def serve() -> None:
        server = await serve_echo(LOCAL, 0)
        with pytest.raises(OSError, match="Address already in use"):
            await serve_echo(*server.get_extra_info("sockname"))
        server.close()

    run(serve())


def test_it_costs_a_host_no_large_library() -> None:
    code = (
        "import sys, emulator.network.echo; sys.exit(bool({'numpy', 'pyarrow', 'pyroute2'} & {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
