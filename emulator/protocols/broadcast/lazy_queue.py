"""The announcements that wait to be sent: Plumtree's lazyQueue and its policy (SRDS 2007, section 3.4)."""

from __future__ import annotations

from emulator.contract.protocol import Environment
from trellis.v1.plumtree import PlumtreeIHave


class LazyQueue:
    """Announcements by receiver, all of which are sent `interval` seconds after the first."""

    def __init__(self, environment: Environment, interval: float) -> None:
        """With an interval of 0 each announcement is sent at once, alone."""
        self._environment = environment
        self._interval = interval
        self._waiting: dict[int, list[tuple[int, int]]] = {}

    def add(self, peer: int, number: int, hops: int) -> None:
        """Announce a message, which would make so many hops to that peer, to it."""
        if not self._interval:
            self._environment.send(peer, PlumtreeIHave([number], [hops]))
            return
        if not self._waiting:
            self._environment.set_timer(self._interval, self._dispatch)
        self._waiting.setdefault(peer, []).append((number, hops))

    def _dispatch(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for peer, announced in waiting.items():
            numbers = [number for number, _ in announced]
            self._environment.send(peer, PlumtreeIHave(numbers, [hops for _, hops in announced]))
