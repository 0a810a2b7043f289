"""The pending events of a discrete-event simulation, in order of time."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

_BUCKETS_PER_SECOND: Final = 512.0


class Entry:
    """An event that is to happen at a time; of events at the same time, the first scheduled comes first."""

    __slots__ = ("at", "order")

    def __init__(self, at: float, order: int) -> None:
        self.at = at
        """The time in seconds."""
        self.order = order
        """The number of its scheduling; no two entries of a queue have the same time and order."""

    def is_void(self) -> bool:
        """Return whether nothing is left to happen. A queue may leave such an entry out."""
        return False


class EventQueue:
    """A binary heap of buckets of 2 ms, each made a heap of its own when its turn comes.

    One heap of all pending events of a large trial does not fit a processor's cache; these heaps do. The
    heaps of entries are written out, because comparing two times in native code is what a compiled queue
    gains. Most timers are time-outs of requests that were answered long before: they get into no heap.
    """

    __slots__ = ("_current", "_current_index", "_indices", "_later")

    def __init__(self) -> None:
        self._current: list[Entry] = []
        self._current_index = -1
        self._later: dict[int, list[Entry]] = {}
        self._indices: list[int] = []

    def push(self, entry: Entry) -> None:
        """Add an entry; its time is not before that of the last one popped."""
        index = int(entry.at * _BUCKETS_PER_SECOND)
        if index <= self._current_index:
            self._current.append(entry)
            _sift_up(self._current, len(self._current) - 1)
            return
        bucket = self._later.get(index)
        if bucket is None:
            self._later[index] = [entry]
            heappush(self._indices, index)
        else:
            bucket.append(entry)

    def pop(self, end: float) -> Entry | None:
        """Take the first entry, or None if there is none up to time `end`."""
        current = self._current
        while not current:
            if not self._indices or self._indices[0] > end * _BUCKETS_PER_SECOND:
                return None
            self._current_index = heappop(self._indices)
            bucket = self._later.pop(self._current_index)
            current = self._current = [entry for entry in bucket if not entry.is_void()]
            for place in range(len(current) // 2 - 1, -1, -1):
                _sift_down(current, place)
        first = current[0]
        if first.at > end:
            return None
        last = current.pop()
        if current:
            current[0] = last
            _sift_down(current, 0)
        return first


def _sift_up(heap: list[Entry], place: int) -> None:
    """Move an entry that was appended up to its place."""
    entry = heap[place]
    at, order = entry.at, entry.order
    while place > 0:
        above = (place - 1) // 2
        parent = heap[above]
        if parent.at < at or (parent.at == at and parent.order < order):
            break
        heap[place] = parent
        place = above
    heap[place] = entry


def _sift_down(heap: list[Entry], place: int) -> None:
    """Move an entry, below which both halves are heaps, down to its place."""
    entry = heap[place]
    at, order = entry.at, entry.order
    size = len(heap)
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        lesser = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if other.at < lesser.at or (other.at == lesser.at and other.order < lesser.order):
                lesser = other
                child += 1
        if at < lesser.at or (at == lesser.at and order < lesser.order):
            break
        heap[place] = lesser
        place = child
    heap[place] = entry
