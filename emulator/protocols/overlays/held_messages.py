"""Messages of its own that a peer keeps while it has not joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Environment, Timer

_MOST: Final = 256
"""The most messages that a peer keeps; it drops those that come later."""
_LONGEST: Final = 30.0
"""The most seconds for which a peer keeps a message."""


class HeldMessages:
    """The messages that one peer keeps, each as the call that sends it."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._held: dict[Timer, None] = {}

    def hold(self, send: Callable[[], None]) -> None:
        """Make the call when this peer has joined, or after 30 s; it is made in the trace of now."""
        if len(self._held) < _MOST:
            timer = self._environment.set_timer(_LONGEST, lambda: self._let_go(timer, send))
            self._held[timer] = None

    def release(self) -> None:
        """Make all calls now, because this peer has joined."""
        for timer in self._held:
            timer.hasten()
        self._held.clear()

    def _let_go(self, timer: Timer, send: Callable[[], None]) -> None:
        self._held.pop(timer, None)
        send()
