"""The routing table of one server on one tree, with covering (Siena, Carzaniga et al., TOCS 2001, section 4).

A neighbour is told the boxes that are wanted on this side of the link: what the server's own subscribers and
its other neighbours want, without the boxes that another one of these covers. When a covering box is taken
back, those that only it covered are told (un-covering). The neighbour drops what a new box covers by itself,
so nobody tells it to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.protocols.pubsub.content.boxes import Boxes
from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.space import Box, Values


class FilterRoutes:
    """Who wants what, and what neighbours are told of it."""

    def __init__(
        self,
        region: Box,
        lows: tuple[float, ...],
        highs: tuple[float, ...],
        tell: Callable[[int, Box, bool], None],
    ) -> None:
        """Boxes lie in `region`. `tell(neighbour, box, there)` hears of each change of what it is told."""
        self.table = BoxIndex(region, lows, highs)
        """What each neighbour has told."""
        self.own = BoxIndex(region, lows, highs)
        """What the subscribers here want, by their numbers."""
        self.neighbours: dict[int, None] = {}
        self._told = Boxes(region, lows, highs)
        self._tell = tell

    def open(self, neighbour: int) -> None:
        """Tell the neighbour all from the start, over a new link or one that was there.

        What it has told holds until it tells anew: no event goes astray meanwhile.
        """
        self._told.discard_all(neighbour)
        self.neighbours[neighbour] = None
        wanted = [box for box, _ in self.own.items()]
        wanted += [box for box, owner in self.table.items() if owner != neighbour]
        for box in self._largest_first(wanted):
            self._offer(neighbour, box)

    def close(self, neighbour: int) -> None:
        """The link is gone, and all that came over it."""
        if neighbour in self.neighbours:
            del self.neighbours[neighbour]
            self._told.discard_all(neighbour)
            self.clear(neighbour)

    def clear(self, neighbour: int) -> None:
        """Forget what the neighbour has told."""
        for box in self.table.discard_all(neighbour):
            self._withdrawn(box, neighbour)

    def add(self, neighbour: int, box: Box) -> None:
        """The neighbour wants `box`, which takes the place of those that it covers."""
        for covered, _ in self.table.covered(box, neighbour):
            if covered != box:
                self.table.discard(covered, neighbour)
        if self.table.add(box, neighbour):
            self._offer_to_all(box, neighbour)

    def remove(self, neighbour: int, box: Box) -> None:
        """The neighbour wants `box` no more."""
        if self.table.discard(box, neighbour):
            self._withdrawn(box, neighbour)

    def add_own(self, subscriber: int, box: Box) -> None:
        """A subscriber here wants `box`."""
        if self.own.add(box, subscriber):
            self._offer_to_all(box, None)

    def remove_own(self, subscriber: int, box: Box) -> None:
        """A subscriber here wants `box` no more."""
        if self.own.discard(box, subscriber):
            self._withdrawn(box, None)

    def next_hops(self, values: Values, sender: int | None) -> list[int]:
        """The neighbours that an event goes on to."""
        return self.table.owners_matching(values, sender)

    def told(self, neighbour: int) -> list[Box]:
        """All that the neighbour is told."""
        return self._told.boxes_of(neighbour)

    def _offer_to_all(self, box: Box, come_from: int | None) -> None:
        for neighbour in self.neighbours:
            if neighbour != come_from:
                self._offer(neighbour, box)

    def _offer(self, neighbour: int, box: Box) -> None:
        """Tell the neighbour unless it knows a box that covers this one (covering)."""
        if self._told.any_covers(box, neighbour):
            return
        for covered, _ in self._told.covered(box, neighbour):
            self._told.discard(covered, neighbour)
        self._told.add(box, neighbour)
        self._tell(neighbour, box, True)

    def _withdrawn(self, box: Box, come_from: int | None) -> None:
        """Take `box` back from those who were told it for this reason alone, and uncover what it covered."""
        holders = self.table.owners_of(box)
        if self.own.owners_of(box):
            return
        for neighbour in self.neighbours:
            if neighbour == come_from or not self._told.has(box, neighbour):
                continue
            if any(holder != neighbour for holder in holders):
                continue
            self._told.discard(box, neighbour)
            self._tell(neighbour, box, False)
            hidden = [found for found, _ in self.own.covered(box)]
            hidden += [found for found, _ in self.table.covered(box, but=neighbour)]
            for found in self._largest_first(hidden):
                self._offer(neighbour, found)

    def _largest_first(self, boxes: Iterable[Box]) -> list[Box]:
        """Each once; equally large ones as they come, so that every run has the same order."""
        keys = {box: (self._told.volume(box), box.lows, box.highs) for box in boxes}
        return sorted(keys, key=keys.__getitem__, reverse=True)
