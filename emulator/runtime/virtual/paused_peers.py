"""The queue of a trial in which peers pause, or crash and keep their state: it keeps their events back until
they go on."""

from __future__ import annotations

from mypy_extensions import i64

from emulator.runtime.virtual.event_queue import ROW_ARRIVES, Entry, EventQueue
from emulator.runtime.virtual.events import Arrival, Call, Handled


class KeptRow(Entry):
    """The arrival of a row of a message pool at a peer that is paused."""

    __slots__ = ("pool", "receiver", "row", "sender", "sent", "session")

    def __init__(self, queue: EventQueue) -> None:
        """Take over the row that the queue has popped."""
        self.at = queue.at
        self.order = int(queue.order)
        self.pool = int(queue.pool)
        self.receiver = int(queue.receiver)
        self.sender = int(queue.sender)
        self.session = int(queue.session)
        self.row = int(queue.row)
        self.sent = queue.sent


class PausingQueue(EventQueue):
    """A queue that passes over what is due at a paused peer, and gives it in order when the peer goes on.

    What belongs to a peer is what it would handle itself: messages that reach it and its timers' calls. Its
    links work on, as those of a stopped process do. To a peer that is down belong only its timers' calls,
    because messages meet nobody there. Only trials in which peers pause, or keep their state while they are
    down, have this queue, so the others pay nothing for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[int, list[Entry]] = {}
        """The events of each paused peer that were due, in the order in which they were."""
        self._down: set[int] = set()
        """The paused peers that are down."""
        self._freed: list[Entry] = []
        """The events of peers that go on now, the first of them last."""

    def pause(self, peer: int) -> None:
        """Keep back what is due at this peer from now on."""
        self._kept[peer] = []

    def take_down(self, peer: int) -> None:
        """Keep back the calls of this peer's timers from now on."""
        self._kept[peer] = []
        self._down.add(peer)

    def is_paused(self, peer: int) -> bool:
        """Return whether all that is due at this peer is kept back."""
        return peer in self._kept and peer not in self._down

    def keep(self, peer: int, entry: Entry) -> None:
        """Have an event wait until this peer, which is paused, goes on."""
        self._kept[peer].append(entry)

    def go_on(self, peer: int) -> int:
        """Give what waits at this peer before all other events. Returns how many events that are."""
        kept = self._kept.pop(peer, [])
        self._down.discard(peer)
        kept.reverse()
        self._freed = kept + self._freed
        return len(kept)

    def pop(self, end: float) -> Entry | None:
        while not self._freed:
            entry = super().pop(end)
            if entry is None or not self._kept:
                return entry
            peer = self._peer_of(entry)
            kept = self._kept.get(peer)
            if kept is None or (peer in self._down and not isinstance(entry, Call)):
                return entry
            kept.append(KeptRow(self) if entry is ROW_ARRIVES else entry)
        freed = self._freed.pop()
        if not isinstance(freed, KeptRow):
            return freed
        self.order = i64(freed.order)
        self.pool = i64(freed.pool)
        self.receiver = i64(freed.receiver)
        self.sender = i64(freed.sender)
        self.session = i64(freed.session)
        self.row = i64(freed.row)
        self.sent = freed.sent
        return ROW_ARRIVES

    def _peer_of(self, entry: Entry) -> int:
        """Return the peer that is to handle an event, -1 if none is."""
        if entry is ROW_ARRIVES:
            return int(self.receiver)
        if isinstance(entry, Arrival):
            return entry.receiver if entry.reaches < 0 else -1
        if isinstance(entry, Handled):
            return entry.life.peer
        if isinstance(entry, Call) and entry.timer.life is not None:
            return entry.timer.life.peer
        return -1
