"""Connections to a gRPC server on which nobody has shown a good secret yet: what they may take is bounded.

gRPC bounds how many connections there are, and not what each of them takes: headers that never end took 16 to
45 MB. It does not show its sockets to Python, so the process looks at them itself, as /proc has them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import unquote

from emulator.trust.refusals import TOO_LARGE, TOO_MANY, TOO_SLOW, Refusals

MOST_OF_A_SOURCE = 32
"""The most strangers' connections of one address; a further one ends the oldest."""
MOST_BYTES = 128 << 10
"""The most bytes of a stranger's connection. A caller can send 64 KiB, which is the window of HTTP/2, before
the server has seen its secret."""
_PATIENCE = 60.0
"""The seconds in which a secret has to be shown."""
_PERIOD = 0.25
"""The seconds between two looks where there are no strangers."""
_CLOSELY = 0.05
"""The seconds between two looks where there are some."""
_SHARE = 19
"""The least ratio of the time between looks to that of a look, which lists all sockets: looks take a
twentieth of a core at most."""
_RECEIVED = struct.Struct("128xQ")
"""The bytes that came in, `tcpi_bytes_received` of Linux' struct tcp_info."""

Address = tuple[str, int]


@dataclass(slots=True)
class _Stranger:
    inode: int
    address: Address
    since: float


class Strangers:
    """Ends connections to a port of this process on which no good secret is shown, if they take too much."""

    def __init__(self, refusals: Refusals | None = None) -> None:
        self.refusals = refusals or Refusals()
        self._showing = threading.Lock()
        self._shown: set[str] = set()
        """The callers that have shown a good secret since the last look, as gRPC names them."""
        self._settled: dict[int, int] = {}
        """The inodes of sockets that are no strangers' by file descriptor."""
        self._strangers: dict[int, _Stranger] = {}
        """The strangers' connections by file descriptor, the oldest first."""

    def admit(self, caller: str) -> None:
        """Note that this caller has shown a good secret: `context.peer()` of its call."""
        with self._showing:
            self._shown.add(caller)

    def watch(self, port: int) -> None:
        """Look at the connections to this port in a thread of its own until nothing listens there."""
        threading.Thread(target=self._watch, args=(port,), name="strangers", daemon=True).start()

    def _watch(self, port: int) -> None:
        listens = True
        while listens:
            began = time.monotonic()
            listens = self.look(port, began)
            pause = _CLOSELY if self._strangers else _PERIOD
            time.sleep(max(pause, _SHARE * (time.monotonic() - began)))

    def look(self, port: int, now: float) -> bool:
        """Look at the connections to this port once. Returns False if this process does not listen there.

        `now` is in seconds of any clock that goes on.
        """
        with self._showing:  # before sockets are listed: those of the callers are then in the list
            shown, self._shown = self._shown, set()
        admitted = {_address_of(caller) for caller in shown}
        listens = False
        inodes = _sockets()
        self._settled = {fd: inode for fd, inode in self._settled.items() if inodes.get(fd) == inode}
        self._strangers = {fd: each for fd, each in self._strangers.items() if inodes.get(fd) == each.inode}
        for fd, inode in inodes.items():
            if fd in self._settled or fd in self._strangers:
                continue
            with _opened(fd, inode) as found:
                if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
                    self._settled[fd] = inode
                elif found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listens |= found.getsockname()[1] == port
                elif found.getsockname()[1] != port:
                    self._settled[fd] = inode
                else:
                    with contextlib.suppress(OSError):  # it has been closed by its caller
                        self._strangers[fd] = _Stranger(inode, _plain(found.getpeername()), now)
        for fd, each in list(self._strangers.items()):
            if each.address in admitted:
                self._settled[fd] = each.inode
                del self._strangers[fd]
        self._bound(now)
        return listens

    def _bound(self, now: float) -> None:
        """End the strangers' connections that take too much."""
        of_source: defaultdict[str, int] = defaultdict(int)
        for fd, each in reversed(list(self._strangers.items())):
            of_source[each.address[0]] += 1
            with _opened(fd, each.inode) as found:
                if found is None:
                    continue
                reason = ""
                if of_source[each.address[0]] > MOST_OF_A_SOURCE:
                    reason = TOO_MANY
                elif _received(found) > MOST_BYTES:
                    reason = TOO_LARGE
                elif now - each.since > _PATIENCE:
                    reason = TOO_SLOW
                if reason:
                    with contextlib.suppress(OSError):
                        found.shutdown(socket.SHUT_RDWR)
                    self.refusals.add(reason)
                    self._settled[fd] = each.inode
                    del self._strangers[fd]


def _sockets() -> dict[int, int]:
    """Return the inodes of all sockets of this process by file descriptor."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):  # it has been closed since
            status = os.fstat(int(name))
            if stat.S_ISSOCK(status.st_mode):
                found[int(name)] = status.st_ino
    return found


@contextlib.contextmanager
def _opened(fd: int, inode: int) -> Iterator[socket.socket | None]:
    """Give a socket of its own for this file descriptor; None if it has become another's or none."""
    try:
        found = socket.socket(fileno=os.dup(fd))
    except OSError:
        yield None
        return
    with found:
        yield found if os.fstat(found.fileno()).st_ino == inode else None


def _received(connection: socket.socket) -> int:
    """Return how many bytes have come in; 0 for a connection that has ended."""
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
        return int(_RECEIVED.unpack(told)[0])
    except (OSError, struct.error):
        return 0


def _address_of(caller: str) -> Address:
    """Return the address of a caller, such as "ipv4:10.0.0.1:4000" or "ipv6:%5B::1%5D:4000"."""
    host, _, port = unquote(caller).partition(":")[2].rpartition(":")
    return (_plain_host(host.strip("[]")), int(port)) if port.isdecimal() else (host, 0)


def _plain(name: tuple[Any, ...]) -> Address:
    """Return the address that `getpeername` gives."""
    return _plain_host(name[0]), name[1]


def _plain_host(text: str) -> str:
    """Return an address in one spelling; of IPv4 also where a socket of IPv6 took the connection."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
