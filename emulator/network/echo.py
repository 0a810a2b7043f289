"""Round trips between hosts, measured by UDP echoes.

A request is 24 bytes: 8 that say what it is, 8 of the measurement (so that late answers to another one are
refused), 8 of the echo's number. An answer is the request with other first bytes. So an answer is never
answered, and a victim of a forged sender address gets no more bytes than were sent in its name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import struct
import time
from collections.abc import Sequence
from random import Random
from typing import Any

_REQUEST = b"trellis?"
_ANSWER = b"trellis!"
_FORM = struct.Struct("!8s8sQ")
_SPACING = 0.002
"""The seconds between requests, so that they do not wait for each other."""

Address = tuple[str, int]
"""An IPv4 address and port."""


class _Server(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        if len(data) == _FORM.size and data.startswith(_REQUEST):
            self._transport.sendto(_ANSWER + data[len(_REQUEST) :], address)


class _Prober(asyncio.DatagramProtocol):
    """Sends requests and keeps in `elapsed` how long each took in ns, by its number."""

    def __init__(self) -> None:
        self.elapsed: dict[int, int] = {}
        self.arrived = asyncio.Event()
        self._measurement = os.urandom(8)
        self._sent: dict[int, tuple[int, Address]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def send(self, number: int, address: Address) -> None:
        request = _FORM.pack(_REQUEST, self._measurement, number)
        self._sent[number] = time.perf_counter_ns(), address
        self._transport.sendto(request, address)

    def datagram_received(self, data: bytes, address: Any) -> None:
        arrived = time.perf_counter_ns()
        if len(data) != _FORM.size:
            return
        kind, measurement, number = _FORM.unpack(data)
        if kind == _ANSWER and measurement == self._measurement and number in self._sent:
            sent, asked = self._sent[number]
            if asked == address[:2]:
                del self._sent[number]
                self.elapsed[number] = arrived - sent
                self.arrived.set()


async def serve_echo(host: str, port: int) -> asyncio.DatagramTransport:
    """Answer echoes at an IPv4 address until the transport is closed; port 0 takes a free one.

    Raises OSError if the address cannot be bound.
    """
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(_Server, local_addr=(host, port))
    return transport


async def measure_round_trips(
    addresses: Sequence[Address], count: int = 5, wait: float = 2.0
) -> list[int | None]:
    """Return the shortest of `count` round trips to each address in ns; None for one that never answered.

    All addresses are asked, 2 ms apart, then all again in another order. The measurement ends when all have
    answered, or `wait` seconds after the last request. The shortest round trip is the path's own, because
    longer ones waited for a processor at either end. Raises OSError if no socket can be made, ValueError for
    a name or an IPv6 address.
    """
    for host, _ in addresses:
        ipaddress.IPv4Address(host)
    if not addresses:
        return []
    loop = asyncio.get_running_loop()
    transport, prober = await loop.create_datagram_endpoint(_Prober, local_addr=("0.0.0.0", 0))
    try:
        for turn in range(count):
            # The order changes each time, so that requests that arrive together once do not do so always.
            for place in Random(turn).sample(range(len(addresses)), len(addresses)):
                prober.send(turn * len(addresses) + place, addresses[place])
                await asyncio.sleep(_SPACING)
        end = loop.time() + wait
        while len(prober.elapsed) < count * len(addresses) and (left := end - loop.time()) > 0:
            prober.arrived.clear()
            try:
                async with asyncio.timeout(left):
                    await prober.arrived.wait()
            except TimeoutError:
                break
    finally:
        transport.close()
    shortest: list[int | None] = [None] * len(addresses)
    for number, elapsed in prober.elapsed.items():
        place = number % len(addresses)
        known = shortest[place]
        shortest[place] = elapsed if known is None else min(known, elapsed)
    return shortest
