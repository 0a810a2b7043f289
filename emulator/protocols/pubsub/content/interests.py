"""What the clients of one server want."""

from __future__ import annotations

from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.space import Box, EventSpace, Values


class Interests:
    """Boxes by the numbers under which they were added."""

    def __init__(self, space: EventSpace) -> None:
        self.boxes: dict[int, Box] = {}
        self._index = BoxIndex(space.whole, space.lows, space.highs)
        self._last = 0

    def add(self, box: Box) -> int:
        """Somebody wants the box; the number of this interest."""
        self._last += 1
        self.boxes[self._last] = box
        self._index.add(box, self._last)
        return self._last

    def remove(self, box: Box) -> int | None:
        """Somebody wants it no more; the number of the interest that ends, None if there was none."""
        number = next((number for number, held in self.boxes.items() if held == box), None)
        if number is not None:
            del self.boxes[number]
            self._index.discard(box, number)
        return number

    @property
    def compared(self) -> int:
        """Subscriptions that events were compared with."""
        return self._index.compared

    def want(self, values: Values) -> bool:
        """Whether somebody here wants the event."""
        return bool(self._index.owners_matching(values))
