"""Measurement of the offset between the clocks of a host and the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from emulator.runtime.realtime.clock import unix_ns
from trellis.v1 import control_pb2

_ROUNDS = 8
_GOOD_NS = 10_000_000
"""A round trip of at most this many ns makes the offset exact enough."""
_MORE_ROUNDS, _PAUSE = 8, 0.25
"""The number of further exchanges while none was fast enough, and the wall seconds before each."""


async def measure_clock_offset(stub: Any, host: str, clock: Callable[[], int] = unix_ns) -> int:
    """Return this host's clock minus the coordinator's in ns, by the exchange with the shortest round trip.

    Each exchange gives four timestamps (as NTP's, RFC 5905, section 8); the error is at most half of the
    round trip. All hosts may ask at the same moment, so on a busy machine a host repeats the exchange later.
    """
    exchanges: list[tuple[int, int]] = []
    for number in range(_ROUNDS + _MORE_ROUNDS):
        if number >= _ROUNDS:
            if min(exchanges)[0] <= _GOOD_NS:
                break
            await asyncio.sleep(_PAUSE)
        asked = clock()
        reply = await stub.MeasureClock(control_pb2.ClockRequest(host=host), timeout=10)
        heard = clock()
        exchanges.append(clock_exchange(asked, reply.received_unix_ns, reply.replied_unix_ns, heard))
    return min(exchanges)[1]


def clock_exchange(asked: int, received: int, replied: int, heard: int) -> tuple[int, int]:
    """Return (round trip, asker's clock minus the other's) in ns.

    `asked` and `heard` are on the asker's clock, `received` and `replied` on the other's.
    """
    round_trip = (heard - asked) - (replied - received)
    return round_trip, ((asked - received) + (heard - replied)) // 2
