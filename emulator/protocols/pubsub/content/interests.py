"""The interests of one server's clients."""

from __future__ import annotations

from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.space import Box, EventSpace, Values


class Interests:
    """The boxes that clients want, by the number that each got when it was added."""

    def __init__(self, space: EventSpace) -> None:
        self.boxes: dict[int, Box] = {}
        self._index = BoxIndex(space.whole, space.lows, space.highs)
        self._last = 0

    def add(self, box: Box) -> int:
        """Add a box that a client wants. Returns the number of this interest."""
        self._last += 1
        self.boxes[self._last] = box
        self._index.add(box, self._last)
        return self._last

    def remove(self, box: Box) -> int | None:
        """Remove an interest in the box. Returns its number, None if no client wanted the box."""
        number = next((number for number, held in self.boxes.items() if held == box), None)
        if number is not None:
            del self.boxes[number]
            self._index.discard(box, number)
        return number

    @property
    def compared(self) -> int:
        """The number of subscriptions that events were compared with."""
        return self._index.compared

    def want(self, values: Values) -> bool:
        """Return whether a client of this server wants the event."""
        return bool(self._index.owners_matching(values))
