"""Delayed release of what a server no longer needs while other servers may still rely on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Timer

LINGERING: Final = 10.0
"""The seconds of delay: within them a new holder joins its tree, and children of the old one find new
parents."""


class DelayedRelease:
    """Things that end some time after they were given up, unless they are wanted again before."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._timers: dict[Hashable, Timer] = {}

    def give_up(self, key: Hashable, end: Callable[[], None]) -> None:
        """Call `end()` after the delay, unless this key is waiting for its end already."""
        if key not in self._timers:
            self._timers[key] = self._environment.set_timer(LINGERING, partial(self._end, key, end))

    def keep(self, key: Hashable) -> bool:
        """Keep what this key names, because it is wanted again. Returns whether it had been given up."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def stop(self) -> None:
        """Cancel all releases."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end(self, key: Hashable, end: Callable[[], None]) -> None:
        del self._timers[key]
        end()
