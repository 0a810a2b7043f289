"""Connections without a good secret are ended once they take too much, and those with one are left alone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from emulator.network.refusal_metrics import RefusalMetrics
from emulator.telemetry.collector_gate import serve_gate
from emulator.trust import strangers as bounds
from emulator.trust.credentials import Credentials
from emulator.trust.refusals import BAD_TOKEN, REASONS, TOO_LARGE, TOO_MANY, TOO_SLOW, Refusals
from emulator.trust.strangers import MOST_BYTES, MOST_OF_A_SOURCE, Strangers

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
FIRST_HEADERS = bytes.fromhex("000000010000000001")
"""Headers of HTTP/2 that are empty and do not end."""
MORE_HEADERS = bytes.fromhex("000068090000000001") + b"\x00\x01a\x64" + b"z" * 100
"""Further ones, a hundred bytes for a name."""


class Server:
    """A socket that takes connections, and the callers' ends of them."""

    def __init__(self, host: str, family: socket.AddressFamily) -> None:
        self.listening = socket.create_server((host, 0), family=family, backlog=128)
        self.port: int = self.listening.getsockname()[1]
        self.strangers = Strangers()
        self.accepted: list[socket.socket] = []

    def connect(self) -> socket.socket:
        host = self.listening.getsockname()[0]
        caller = socket.create_connection((host, self.port), 5)
        self.accepted.append(self.listening.accept()[0])
        return caller

    def look(self, now: float = 0.0) -> bool:
        return self.strangers.look(self.port, now)


@pytest.fixture(params=["127.0.0.1", "::1"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    made = Server(request.param, family)
    yield made
    for each in (*made.accepted, made.listening):
        each.close()


def send(caller: socket.socket, taken: socket.socket, size: int) -> None:
    """Send bytes that the server takes."""
    while size:
        part = min(size, 1 << 14)
        caller.sendall(bytes(part))
        taken.recv(part, socket.MSG_WAITALL)
        size -= part


def name(caller: socket.socket) -> str:
    """Return how gRPC names the caller."""
    host, port = caller.getsockname()[:2]
    return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"


def ended(caller: socket.socket) -> bool:
    caller.setblocking(False)
    try:
        return caller.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_connection_ends_that_sends_much_before_a_secret_and_stays_after_one(server: Server) -> None:
    stranger, host = server.connect(), server.connect()
    server.look()
    server.strangers.admit(name(host))
    for caller, taken in zip((stranger, host), server.accepted, strict=True):
        send(caller, taken, MOST_BYTES + 1)
    server.look()
    server.look()

    assert (ended(stranger), ended(host)) == (True, False)
    assert server.strangers.refusals.counts()[TOO_LARGE] == 1


def test_the_window_of_a_call_may_fill_before_its_secret_is_seen(server: Server) -> None:
    caller = server.connect()
    send(caller, server.accepted[0], 1 << 16)
    server.look()
    assert not ended(caller)


def test_the_oldest_connections_of_a_source_end_where_it_has_too_many(server: Server) -> None:
    callers = [server.connect() for _ in range(MOST_OF_A_SOURCE)]
    server.look()
    callers += [server.connect(), server.connect()]
    server.look()

    assert [ended(caller) for caller in callers] == [True] * 2 + [False] * MOST_OF_A_SOURCE
    assert server.strangers.refusals.counts()[TOO_MANY] == 2


def test_connections_with_a_secret_take_no_place_of_strangers(server: Server) -> None:
    hosts = [server.connect() for _ in range(MOST_OF_A_SOURCE + 5)]
    for host in hosts:
        server.strangers.admit(name(host))
    server.look()
    stranger = server.connect()
    server.look()
    assert not any(map(ended, [*hosts, stranger]))


def test_a_connection_that_shows_no_secret_for_long_ends(server: Server) -> None:
    stranger = server.connect()
    server.look(0.0)
    server.look(bounds._PATIENCE)
    assert not ended(stranger)
    server.look(bounds._PATIENCE + 1)
    assert ended(stranger)
    assert server.strangers.refusals.counts()[TOO_SLOW] == 1


def test_a_secret_that_is_shown_before_the_first_look_counts_and_not_for_a_later_connection(
    server: Server,
) -> None:
    host = server.connect()
    server.strangers.admit(name(host))
    server.look()
    stranger = server.connect()
    for caller, taken in zip((host, stranger), server.accepted, strict=True):
        send(caller, taken, MOST_BYTES + 1)
    server.look()
    assert (ended(host), ended(stranger)) == (False, True)


def test_connections_to_another_port_are_not_looked_at(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        caller = socket.create_connection(other.getsockname(), 5)
        taken = other.accept()[0]
        send(caller, taken, MOST_BYTES + 1)
        assert server.look()
        assert not ended(caller)
        taken.close()
        caller.close()


def test_looking_ends_with_the_server(server: Server) -> None:
    assert server.look()
    server.listening.close()
    assert not server.look()


def test_the_metric_has_every_reason_and_adds_up_all_servers_of_a_program() -> None:
    one, other = Refusals(), Refusals()
    for server in (one, one, other):
        server.add(BAD_TOKEN)
    (family,) = RefusalMetrics("demo", "gate", [one, other]).collect()
    found = {sample.labels["reason"]: sample.value for sample in family.samples}
    assert found == dict.fromkeys(REASONS, 0) | {BAD_TOKEN: 3}
    assert {sample.labels["program"] for sample in family.samples} == {"gate"}


def test_headers_that_do_not_end_end_their_connection() -> None:
    async def refused() -> int:
        strangers = Strangers()
        guarded = Credentials("the token", connections=5)
        server, channel, port = await serve_gate(
            "127.0.0.1:0", "127.0.0.1:9", "key", guarded, None, strangers
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HELLO + FIRST_HEADERS + MORE_HEADERS * (MOST_BYTES // 100))
        try:
            async with asyncio.timeout(10):
                while await reader.read(1 << 16):
                    pass
        except ConnectionError:
            pass
        finally:
            writer.close()
            await server.stop(0)
            await channel.close(None)
        return strangers.refusals.counts()[TOO_LARGE]

    assert asyncio.run(refused()) == 1
