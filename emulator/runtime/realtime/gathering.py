"""The time for which messages to another host are gathered: until shortly before the first of them is due."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Final

from emulator.runtime.realtime.clock import TrialClock

AHEAD: Final = 0.05
"""The wall seconds before it is due at which a message is given to the link to another host."""
_WAY: Final = 0.01
"""The wall seconds before its first message is due at which a batch leaves, so that it arrives in time."""
_UNHURRIED: Final = 0.008
"""The wall seconds for which messages are gathered that are not due at a time at the other host."""


def in_time(clock: TrialClock, due_ns: int) -> float:
    """Return the monotonic time (s) at which a message has to leave that is due at a trial time (ns)."""
    return clock.wall(due_ns * 1e-9) - _WAY


def unhurried() -> float:
    """Return the monotonic time (s) at which a message leaves that may go now, and waits for some others."""
    return time.monotonic() + _UNHURRIED


class Gathering:
    """The time at which the next batch of a link leaves."""

    def __init__(self) -> None:
        self._end = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[None] | None = None
        """The future that `over` waits for."""

    def end_by(self, at: float) -> None:
        """Have the batch leave at this monotonic time (s), if not earlier."""
        if at < self._end:
            self._end = at
            if self._ended is not None:
                self._time(self._ended)

    async def over(self) -> None:
        """Wait until the batch has to leave."""
        loop = asyncio.get_running_loop()
        if self._end > loop.time():
            self._ended = loop.create_future()
            self._time(self._ended)
            try:
                await self._ended
            finally:
                self._ended = None
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None

    def begin(self) -> None:
        """Begin to gather the next batch, since all that waited leaves."""
        self._end = math.inf

    def _time(self, ended: asyncio.Future[None]) -> None:
        """Have the future end when the batch has to leave."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._end < math.inf:
            self._timer = asyncio.get_running_loop().call_at(self._end, _set, ended)


def _set(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
