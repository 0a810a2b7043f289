"""How far the clocks of two hosts are apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from emulator.runtime.realtime.clock import unix_ns
from trellis.v1 import control_pb2

_ROUNDS = 8
_GOOD_NS = 10_000_000
"""A round trip that tells enough."""
_MORE_ROUNDS, _PAUSE = 8, 0.25
"""Further exchanges, and the wall seconds before each, while none was as good."""


async def measure_clock_offset(stub: Any, host: str, clock: Callable[[], int] = unix_ns) -> int:
    """This host's clock minus the coordinator's in ns, by the exchange with the shortest round trip.

    Each exchange gives four timestamps (as NTP's, RFC 5905, section 8); the error is at most half of
    the round trip. On a busy machine there are more exchanges, later: all hosts may ask at the same moment.
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
    """(round trip, asker's clock minus the other's), ns; `asked` and `heard` are on the asker's clock."""
    round_trip = (heard - asked) - (replied - received)
    return round_trip, ((asked - received) + (heard - replied)) // 2
