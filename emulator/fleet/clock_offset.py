"""How far the clocks of two hosts are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trellis.v1 import control_pb2

from emulator.runtime.clock import unix_ns

_ROUNDS = 8


async def measure_clock_offset(stub: Any, host: str, clock: Callable[[], int] = unix_ns) -> int:
    """This host's clock minus the coordinator's in ns, by the exchange with the shortest round trip.

    Each exchange gives four timestamps (as NTP's, RFC 5905, section 8); the error is at most half of
    the round trip.
    """
    exchanges: list[tuple[int, int]] = []
    for _ in range(_ROUNDS):
        asked = clock()
        reply = await stub.MeasureClock(control_pb2.ClockRequest(host=host), timeout=10)
        heard = clock()
        exchanges.append(clock_exchange(asked, reply.received_unix_ns, reply.replied_unix_ns, heard))
    return min(exchanges)[1]


def clock_exchange(asked: int, received: int, replied: int, heard: int) -> tuple[int, int]:
    """(round trip, asker's clock minus the other's), ns; `asked` and `heard` are on the asker's clock."""
    round_trip = (heard - asked) - (replied - received)
    return round_trip, ((asked - received) + (heard - replied)) // 2
