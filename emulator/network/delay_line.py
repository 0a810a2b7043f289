"""A delay line: envelopes wait here until they are due."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

Item = TypeVar("Item")


class DelayLine(Generic[Item]):
    """A heap of due items, without a clock: the caller brings the time, in any unit.

    Items with equal due times leave in the order in which they came. At most `capacity` items wait;
    what comes beyond that is dropped and counted.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a delay line needs room for at least 1 item, not {capacity}")
        self.capacity = capacity
        self.dropped = 0
        """Items that found the line full."""
        self._heap: list[tuple[float, int, Item]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, due: float, item: Item) -> bool:
        """False if the line is full and the item was dropped. Raises ValueError if `due` is not a number."""
        if due != due:
            raise ValueError("the due time is not a number")
        if len(self._heap) >= self.capacity:
            self.dropped += 1
            return False
        self._pushed += 1
        heapq.heappush(self._heap, (due, self._pushed, item))
        return True

    def pop_due(self, now: float) -> list[Item]:
        """The items due at `now` or before, earliest first."""
        due: list[Item] = []
        heap = self._heap
        while heap and heap[0][0] <= now:
            due.append(heapq.heappop(heap)[2])
        return due

    def next_due(self) -> float | None:
        """When the next item is due, or None if the line is empty."""
        return self._heap[0][0] if self._heap else None
