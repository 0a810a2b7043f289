"""HTTP servers that strangers reach: what a connection, a source and all together may take is bounded."""

from __future__ import annotations

import contextlib
import io
import socket
import sys
import threading
import time
from collections import Counter, OrderedDict
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from emulator.network.listening import ALL
from emulator.network.loopback import family_of
from emulator.trust.refusals import TOO_LARGE, TOO_MANY, TOO_SLOW, Refusals

MAX_REQUESTS = 32
"""The most connections at once; a further one takes the place of the one that has been silent longest."""
MAX_OF_A_SOURCE = 24
"""The most connections of one address, so that one client leaves room for others."""
MAX_HEADER = 1 << 16
"""The most bytes of a request, which is a line and headers: none has a body."""
_HEADER_LIMIT = 10.0
"""The seconds within which a request has to be here whole."""
_EVICTION = 2.0
"""The seconds for a place to become free once its silent connection has been ended."""
_TOO_LARGE = (HTTPStatus.REQUEST_URI_TOO_LONG, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
_LOG_PERIOD = 10.0
"""The seconds between two lines of the log about connections that failed."""


class BoundedServer(ThreadingHTTPServer):
    """A server with a thread for each connection, of which there are at most `MAX_REQUESTS`.

    A connection that finds no place, or none for its address, takes the place of the one that has been silent
    longest, of the same address where it has too many. If none is silent, the connection is closed.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, host: str, port: int, handler: type[BoundedHandler], refusals: Refusals | None = None
    ) -> None:
        """Listen at once, on the host `ALL` at all interfaces; port 0 takes a free one.

        `refusals` counts what is refused. Raises OSError if the server cannot listen.
        """
        self._both = host == ALL and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if self._both else family_of(host)
        self._places = threading.Semaphore(MAX_REQUESTS)
        self._sources: Counter[str] = Counter()
        self._silent: OrderedDict[socket.socket, str] = OrderedDict()
        """The connections that have not asked for anything yet with their sources, the oldest first."""
        self._changing = threading.Lock()
        self.refusals = refusals or Refusals()
        self._failed = 0
        self._logged = -_LOG_PERIOD
        super().__init__(("" if host == ALL else host, port), handler)

    def server_bind(self) -> None:
        if self._both:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        source = client_address[0]
        if not self._place(source):
            self.refusals.add(TOO_MANY)
            self.shutdown_request(request)
            return
        with self._changing:
            self._silent[request] = source
        super().process_request(request, client_address)

    def heard(self, request: socket.socket) -> None:
        """Note that the connection has asked for something."""
        with self._changing:
            self._silent.pop(request, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.heard(request)
            source = client_address[0]
            with self._changing:
                self._sources[source] -= 1
                if not self._sources[source]:
                    del self._sources[source]
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        with self._changing:
            self._failed += 1
            if time.monotonic() < self._logged + _LOG_PERIOD:
                return
            failed, self._failed, self._logged = self._failed, 0, time.monotonic()
        more = f" ({failed} have failed since the last such line)" if failed > 1 else ""
        print(f"request of {client_address[0]}: {sys.exception()!r}{more}", file=sys.stderr, flush=True)

    def drain(self, limit: float) -> bool:
        """Wait until all requests have ended, at most `limit` seconds. Returns whether they have."""
        deadline = time.monotonic() + limit
        return all(
            self._places.acquire(timeout=max(0.0, deadline - time.monotonic())) for _ in range(MAX_REQUESTS)
        )

    def _place(self, source: str) -> bool:
        """Return whether there is a place for a connection of this source, which is then taken.

        Only the thread that accepts connections asks.
        """
        with self._changing:
            own = self._sources[source] >= MAX_OF_A_SOURCE
        free = not own and self._places.acquire(blocking=False)
        if not free and self._end_silent(source if own else None):
            free = self._places.acquire(timeout=_EVICTION)
        if free:
            with self._changing:
                self._sources[source] += 1
        return free

    def _end_silent(self, source: str | None) -> bool:
        """End the connection that has been silent longest, of this source if one is given.

        Its thread gives its place back. Returns False if there is none.
        """
        with self._changing:
            oldest = next((each for each, of in self._silent.items() if source in (None, of)), None)
            if oldest is None:
                return False
            del self._silent[oldest]
        self.refusals.add(TOO_MANY)
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        return True


class BoundedHandler(BaseHTTPRequestHandler):
    """One request, answered with 431 if it is larger than `MAX_HEADER`, and ended if it is late."""

    server: BoundedServer
    timeout = 30.0
    """The seconds for which a client may take nothing of the answer."""
    disable_nagle_algorithm = True  # otherwise a body waits 40 ms for the acknowledgement of its header

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._bytes = _RequestBytes(self.connection, self.timeout, self.server.refusals)
        self.rfile = io.BufferedReader(self._bytes)

    def parse_request(self) -> bool:
        asked = super().parse_request()
        self.server.heard(self.connection)
        return asked

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if code in _TOO_LARGE and not self._bytes.exhausted:
            self.server.refusals.add(TOO_LARGE)
        super().send_error(code, message, explain)


class _RequestBytes(io.RawIOBase):
    """The bytes of one request, of which there are at most `MAX_HEADER` within `_HEADER_LIMIT` seconds."""

    def __init__(self, connection: socket.socket, timeout: float, refusals: Refusals) -> None:
        self._refusals = refusals
        self._connection = connection
        self._timeout = timeout
        self._left = MAX_HEADER
        self._deadline = time.monotonic() + _HEADER_LIMIT

    @property
    def exhausted(self) -> bool:
        """This is true if the request was larger than `MAX_HEADER`, which is counted."""
        return not self._left

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        """Raises LineTooLong, which is answered with 431, and TimeoutError."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            self._refusals.add(TOO_SLOW)
            raise TimeoutError(f"no whole request within {_HEADER_LIMIT:g} s")
        if not self._left:
            self._refusals.add(TOO_LARGE)
            raise LineTooLong("request")
        self._connection.settimeout(remaining)
        try:
            received = self._connection.recv_into(memoryview(into)[: self._left])
        except TimeoutError:
            self._refusals.add(TOO_SLOW)
            raise
        finally:
            self._connection.settimeout(self._timeout)
        self._left -= received
        return received
