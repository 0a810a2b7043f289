"""Peers that handle one message after the other, each for some time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.network.processing_spec import NANOSECONDS, Processing

PROCESSING_DROP: Final = "processing drop"
"""The name of the observation that a message would have waited too long for its receiver."""


class BusyPeers:
    """Says when each peer has handled what reaches it.

    A message that reaches a peer at t is begun at max(t, free) and handled when the peer's time for a message
    is over, which is the new `free`. Times are whole nanoseconds of trial time.
    """

    def __init__(self, processing: Processing, classes: Mapping[int, int]) -> None:
        """`classes` gives the class (index) of each peer; those that it lacks are of the first one."""
        self._times = processing.times_ns()
        self._classes = classes
        self._longest = round(processing.queue * NANOSECONDS)
        self._free: dict[int, tuple[int, int]] = {}
        """The session of each peer that has handled a message, and when it is free."""

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
