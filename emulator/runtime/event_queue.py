"""The pending events of a discrete-event simulation, in order of time."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

Entry = tuple[Any, ...]
"""(time in s, order of scheduling, ...): no two are equal in the first two."""

_BUCKETS_PER_SECOND = 512


class EventQueue:
    """A binary heap of buckets of 2 ms, each made a heap of its own when its turn comes.

    One heap of all that is under way in a large trial does not fit a processor's cache; these do.
    """

    __slots__ = ("_current", "_current_index", "_indices", "_later")

    def __init__(self) -> None:
        self._current: list[Entry] = []
        self._current_index = -1
        self._later: dict[int, list[Entry]] = {}
        self._indices: list[int] = []

    def push(self, entry: Entry) -> None:
        """Add an entry; its time is not before that of the last one popped."""
        index = int(entry[0] * _BUCKETS_PER_SECOND)
        if index <= self._current_index:
            heappush(self._current, entry)
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
        if not current:
            if not self._indices or self._indices[0] > end * _BUCKETS_PER_SECOND:
                return None
            self._current_index = heappop(self._indices)
            current = self._current = self._later.pop(self._current_index)
            heapify(current)
        return heappop(current) if current[0][0] <= end else None
