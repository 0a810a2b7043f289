"""Peers that handle one message after the other, each for some time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.network.processing_spec import NANOSECONDS, Processing

PROCESSING_DROP: Final = "processing drop"
"""The name of the observation that a message would have waited too long for its receiver."""


class BusyPeers:
    """The times at which peers have handled what reaches them.

    A message that reaches a peer at t is begun at max(t, free) and handled when the peer's time for a message
    is over, which is the new `free`. A peer that is paused stands still: what it has begun, and what waits
    there, is handled later by as long as the pause. Times are whole nanoseconds of trial time.
    """

    def __init__(self, processing: Processing, classes: Mapping[int, int]) -> None:
        """`classes` gives the class (index) of each peer; those that it lacks are of the first one."""
        self._times = processing.times_ns()
        self._classes = classes
        self._longest = round(processing.queue * NANOSECONDS)
        self._free: dict[int, tuple[int, int]] = {}
        """The session of each peer that has handled a message, and the time at which it is free."""
        self._paused: dict[int, int] = {}
        """The time at which each peer that is paused began to stand still."""
        self._stood: dict[int, int] = {}
        """The time for which each peer that has been paused stood still."""

    @property
    def classes(self) -> int:
        """The number of classes of peers."""
        return len(self._times)

    def class_of(self, peer: int) -> int:
        """Return the index of the class of a peer."""
        return self._classes.get(peer, 0)

    def handled_at(self, peer: int, session: int, now: int) -> int:
        """Return when the peer, in this session, has handled a message that reaches it now.

        Returns -1 if it would wait longer than allowed: it is not to be handled at all. To be called in the
        order of time for each peer.
        """
        takes = self._times[self._classes.get(peer, 0)]
        busy_in, free = self._free.get(peer, (session, 0))
        begins = max(now, free) if busy_in == session else now
        if begins - now > self._longest:
            return -1
        self._free[peer] = session, begins + takes
        return begins + takes

    def forget(self, peer: int) -> None:
        """Have the peer lose what it has in hand and what waits there."""
        self._free.pop(peer, None)

    def pause(self, peer: int, now: int) -> None:
        """Have the peer stand still from now on. Nothing is to reach it until it goes on."""
        self._paused[peer] = now

    def go_on(self, peer: int, now: int) -> None:
        """Have the peer go on with what it had in hand, if it is paused."""
        paused = self._paused.pop(peer, now)
        if paused == now:
            return
        self._stood[peer] = self.stood_still(peer) + now - paused
        session, free = self._free.get(peer, (0, 0))
        if free > paused:
            self._free[peer] = session, free + now - paused

    def stood_still(self, peer: int) -> int:
        """Return for how long the peer has stood still so far, without the pause that it is in."""
        return self._stood.get(peer, 0)
