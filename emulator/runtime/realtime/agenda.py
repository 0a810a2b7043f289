"""The agenda of a host: one heap for all its peers' timers and delayed messages."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Any

from emulator.compact.durations import Distribution
from emulator.runtime.realtime.clock import TrialClock

_TURN_LIMIT = 0.005
"""The wall seconds of due calls after which the event loop gets its turn."""
_QUANTUM = 0.002
"""The least seconds between two turns, in which calls that fall due share a turn."""
_HEARTBEAT = 0.200
"""The most seconds between two turns, so that a stalled event loop is noticed."""


class Agenda:
    """Makes calls at their trial time, in order, from an asyncio event loop.

    `failed` is told the first exception that a call raises; no call is made after it.
    """

    def __init__(self, clock: TrialClock, failed: Callable[[Exception], None]) -> None:
        self._clock = clock
        self._failed = failed
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._wake: asyncio.TimerHandle | None = None
        self._wake_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that makes the calls, while calls are made."""
        self.lateness = Distribution()
        """The wall seconds between the time at which each call was due and the time at which it was made."""
        self.longest_stall = 0.0
        """The longest time in wall seconds for which the event loop did not turn."""
        self.late = 0.0
        """The wall seconds by which the last call was late."""

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, due: float, call: Callable[..., None], *arguments: Any) -> None:
        """Make the call at trial time `due`, or as soon as possible if that is past."""
        at = self._clock.wall(due)
        self._order += 1
        heapq.heappush(self._heap, (at, self._order, call, arguments))
        if self._loop is not None and at < self._wake_at - _QUANTUM:
            self._schedule(self._loop, at)

    def is_overdue(self) -> bool:
        """Return whether a call is due that was not made yet."""
        return bool(self._heap) and self._heap[0][0] <= time.monotonic()

    def start(self) -> None:
        """Make calls from now on. Raises RuntimeError without a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._schedule(self._loop, time.monotonic())

    def stop(self) -> None:
        """Forget all calls. Stopping twice is harmless."""
        self._loop = None
        self._heap.clear()
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None

    def _schedule(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake_at = at
        self._wake = loop.call_at(at, self._turn)

    def _turn(self) -> None:
        heap = self._heap
        began = now = time.monotonic()
        late = began - self._wake_at
        pop, late_by = heapq.heappop, self.lateness.add
        limit = began + _TURN_LIMIT
        try:
            while heap and heap[0][0] <= now < limit:
                due, _, call, arguments = pop(heap)
                self.late = now - due
                late_by(self.late)
                call(*arguments)
                now = time.monotonic()
        except Exception as error:
            self.stop()
            self._failed(error)
            return
        self.longest_stall = max(self.longest_stall, late + now - began)
        if self._loop is not None:
            next_due = heap[0][0] if heap else now + _HEARTBEAT
            at = min(max(next_due, now + _QUANTUM if now < limit else now), now + _HEARTBEAT)
            self._schedule(self._loop, at)
