"""What a server needs no more, and keeps a little longer because others count on it still."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Timer

LINGERING: Final = 10.0
"""Seconds: within them a new holder is on its tree, and those below the old one have found other parents."""


class DelayedRelease:
    """Things that end some time after they were given up, unless they are wanted again."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._timers: dict[Hashable, Timer] = {}

    def give_up(self, key: Hashable, end: Callable[[], None]) -> None:
        """Call `end()` later, if this is the first that is heard of it."""
        if key not in self._timers:
            self._timers[key] = self._environment.set_timer(LINGERING, partial(self._end, key, end))

    def keep(self, key: Hashable) -> bool:
        """It is wanted again; whether it had been given up."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def stop(self) -> None:
        """Nothing ends any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end(self, key: Hashable, end: Callable[[], None]) -> None:
        del self._timers[key]
        end()
