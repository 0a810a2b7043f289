"""Measuring how far two clocks are apart, on a machine that is busy for a while."""

from __future__ import annotations

import asyncio

import pytest

from emulator.fleet.host import clock_offset
from emulator.fleet.host.clock_offset import measure_clock_offset
from trellis.v1 import control_pb2

AHEAD = 5_000_000_000


class BusyCoordinator:
    """Its clock is the true one. The first replies take `slow_ns` longer on their way back."""

    def __init__(self, slow: int, slow_ns: int) -> None:
        self.now = 10**12
        self.slow = slow
        self.slow_ns = slow_ns
        self.asked = 0

    async def MeasureClock(self, request: control_pb2.ClockRequest, timeout: float) -> control_pb2.ClockReply:
        self.asked += 1
        self.now += 1_000_000
        reply = control_pb2.ClockReply(received_unix_ns=self.now, replied_unix_ns=self.now)
        self.now += 1_000_000 + (self.slow_ns if self.asked <= self.slow else 0)
        return reply


def measured(coordinator: BusyCoordinator) -> int:
    return asyncio.run(measure_clock_offset(coordinator, "host-0", lambda: coordinator.now + AHEAD))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_offset, "_PAUSE", 0.0)


def test_the_shortest_round_trip_counts() -> None:
    coordinator = BusyCoordinator(slow=5, slow_ns=80_000_000)
    assert measured(coordinator) == AHEAD
    assert coordinator.asked == 8


def test_a_busy_coordinator_is_asked_again() -> None:
    coordinator = BusyCoordinator(slow=10, slow_ns=80_000_000)
    assert measured(coordinator) == AHEAD
    assert coordinator.asked == 11


def test_one_that_stays_busy_is_not_asked_for_ever() -> None:
    coordinator = BusyCoordinator(slow=1000, slow_ns=80_000_000)
    assert abs(measured(coordinator) - AHEAD) <= 41_000_000
    assert coordinator.asked == 16
