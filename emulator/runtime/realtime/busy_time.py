"""The time for which messages kept the peers of a host busy, as the host really had it."""

from __future__ import annotations

from emulator.network.busy_peers import BusyPeers
from emulator.runtime.realtime.session import Session


class BusyTime:
    """The messages that the peers of one class handled, and the time that these took."""

    def __init__(self) -> None:
        self.messages = 0
        self.busy_ns = 0
        """The time (ns of trial time) in which a peer had a message in hand, of all these peers together."""


class BusyTimes:
    """The busy times of each class of peers.

    A message is in hand from when it reached its peer, or from when the peer was done with the one before it,
    whichever is later, until its handler is done. The time for which the peer stood still meanwhile is left
    out.
    """

    def __init__(self, busy: BusyPeers) -> None:
        self._busy = busy
        self.of_class = [BusyTime() for _ in range(busy.classes)]
        """The busy times, by the index of the class."""
        self._done: dict[int, tuple[int, int, int]] = {}
        """Of each peer the number of its session, when it was done with a message, and for how long it had
        stood still."""

    def note(self, session: Session, reached_ns: int, stood_ns: int, now_ns: int) -> None:
        """Take note that a peer is done with a message now.

        The message reached it at `reached_ns`, when it had stood still for `stood_ns` in all.
        """
        peer, life = session.peer, session.session
        of, done_ns, stood_then = self._done.get(peer, (life, reached_ns, stood_ns))
        if of == life and done_ns > reached_ns:
            reached_ns, stood_ns = done_ns, stood_then
        stood = self._busy.stood_still(peer)
        self._done[peer] = life, now_ns, stood
        time = self.of_class[self._busy.class_of(peer)]
        time.messages += 1
        time.busy_ns += max(now_ns - reached_ns - (stood - stood_ns), 0)
