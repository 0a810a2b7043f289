"""A server that strangers reach: no client takes its memory, its places, its time or its log."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from emulator.network import http_server
from emulator.network.http_server import MAX_HEADER, MAX_OF_A_SOURCE, BoundedHandler, BoundedServer
from emulator.trust.refusals import TOO_LARGE, TOO_MANY, TOO_SLOW


class Greeting(BoundedHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/broken":
            raise RuntimeError("broken by its page")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[BoundedServer]:
    with BoundedServer("127.0.0.1", 0, Greeting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def connect(server: BoundedServer, source: str = "127.0.0.1") -> socket.socket:
    address = server.socket.getsockname()
    return socket.create_connection(address, 10, source_address=(source, 0))


def ask(server: BoundedServer, request: bytes, source: str = "127.0.0.1") -> bytes:
    """Return all that is answered; a connection that the server ended has answered nothing more."""
    answer = b""
    with connect(server, source) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(1 << 16):
                answer += piece
        except ConnectionError:
            pass
    return answer


MORE_THAN_BUFFERS = 50_000_000
"""More bytes than both ends of a connection buffer."""
GET = b"GET / HTTP/1.1\r\nConnection: close\r\n"


def test_headers_up_to_the_limit_are_read(server: BoundedServer) -> None:
    filled = GET + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 1000) for n in range(60)) + b"\r\n"
    assert len(filled) < MAX_HEADER
    assert ask(server, filled).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("line", [b"X-%d: " + b"x" * 1000, b"X-%d: " + b"x" * 60_000])
def test_headers_beyond_the_limit_are_refused_and_not_kept(server: BoundedServer, line: bytes) -> None:
    """By default Python keeps a hundred headers of 64 KiB a connection. The kernel may take some megabytes
    before a server that is busy comes to refuse them."""
    taken = number = 0
    with connect(server) as connection:
        connection.sendall(GET)
        try:
            while taken < MORE_THAN_BUFFERS:
                connection.sendall(line % number + b"\r\n")
                taken += len(line)
                number += 1
        except ConnectionError:
            pass
        else:
            pytest.fail(f"{taken} bytes of headers were taken")
    assert ask(server, GET + b"\r\n").startswith(b"HTTP/1.1 200")


def test_a_header_that_is_too_large_is_answered_with_431(server: BoundedServer) -> None:
    assert ask(server, GET + b"X: " + b"x" * MAX_HEADER).startswith(b"HTTP/1.1 431")
    assert server.refusals.counts()[TOO_LARGE] == 1


def test_too_many_headers_are_counted_as_too_large(server: BoundedServer) -> None:
    assert ask(server, GET + b"X: y\r\n" * 200 + b"\r\n").startswith(b"HTTP/1.1 431")
    assert server.refusals.counts()[TOO_LARGE] == 1


def test_a_request_that_comes_byte_by_byte_is_ended_in_time(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "_HEADER_LIMIT", 0.3)
    began = time.monotonic()
    with connect(server) as connection, pytest.raises(ConnectionError):
        while time.monotonic() < began + 10:
            connection.sendall(b"G")
            time.sleep(0.02)
    assert time.monotonic() < began + 5
    assert server.refusals.counts()[TOO_SLOW] == 1


def test_a_source_leaves_places_to_others_and_is_served_itself(server: BoundedServer) -> None:
    with ExitStack() as open_ones:
        for _ in range(2 * MAX_OF_A_SOURCE):
            open_ones.enter_context(connect(server, "127.0.0.2"))
        assert ask(server, GET + b"\r\n").startswith(b"HTTP/1.1 200")
        deadline = time.monotonic() + 5
        while len(server._silent) < MAX_OF_A_SOURCE and time.monotonic() < deadline:
            time.sleep(0.01)
        assert set(server._silent.values()) == {"127.0.0.2"}
        assert len(server._silent) <= MAX_OF_A_SOURCE
        assert server.refusals.counts()[TOO_MANY] == MAX_OF_A_SOURCE
        assert ask(server, GET + b"\r\n", "127.0.0.2").startswith(b"HTTP/1.1 200")
    assert server.drain(10)
    assert not server._sources


def test_a_hundred_failures_are_two_lines_of_the_log(
    server: BoundedServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(100):
        ask(server, b"GET /broken HTTP/1.0\r\n\r\n")
    said = capfd.readouterr().err
    assert said.splitlines() == ["request of 127.0.0.1: RuntimeError('broken by its page')"]
    monkeypatch.setattr(http_server, "_LOG_PERIOD", 0.0)
    ask(server, b"GET /broken HTTP/1.0\r\n\r\n")
    assert "(100 have failed since the last such line)" in capfd.readouterr().err


def test_what_a_stranger_sends_forges_no_line_of_the_log(
    server: BoundedServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Greeting, "log_message", http.server.BaseHTTPRequestHandler.log_message)
    ask(server, b"GET /\x0bvitis-1\x85is\rvalid HTTP/1.0\r\n\r\n")
    said = capfd.readouterr().err.splitlines()
    assert said
    assert all(line.startswith("127.0.0.1 - - [") for line in said)
