"""The routing table of one server on one tree, with covering (Siena, Carzaniga et al., TOCS 2001, section 4).

A server tells each neighbour the boxes that are wanted on its own side of the link: those of its own
subscribers and of its other neighbours, without the boxes that another one of these covers. When a covering
box is withdrawn, the server tells the boxes that only this one covered (un-covering). A neighbour that gets a
new box drops the boxes that it covers by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.protocols.pubsub.content.boxes import Boxes
from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.space import Box, Values


class FilterRoutes:
    """The boxes that neighbours and subscribers want, and those that neighbours were told."""

    def __init__(
        self,
        region: Box,
        lows: tuple[float, ...],
        highs: tuple[float, ...],
        tell: Callable[[int, Box, bool], None],
    ) -> None:
        """Boxes lie in `region`.

        `tell(neighbour, box, there)` is called for each box that a neighbour is to hear of.
        """
        self.table = BoxIndex(region, lows, highs)
        """The boxes that each neighbour wants, as it has told."""
        self.own = BoxIndex(region, lows, highs)
        """The boxes that subscribers at this server want, by the subscribers' numbers."""
        self.neighbours: dict[int, None] = {}
        self._told = Boxes(region, lows, highs)
        self._tell = tell

    def open(self, neighbour: int) -> None:
        """Tell the neighbour all boxes from the start, over a new link or an old one.

        What the neighbour has told holds until it tells anew, so no event goes astray meanwhile.
        """
        self._told.discard_all(neighbour)
        self.neighbours[neighbour] = None
        wanted = [box for box, _ in self.own.items()]
        wanted += [box for box, owner in self.table.items() if owner != neighbour]
        for box in self._largest_first(wanted):
            self._offer(neighbour, box)

    def close(self, neighbour: int) -> None:
        """Forget a link that is gone, and all that came over it."""
        if neighbour in self.neighbours:
            del self.neighbours[neighbour]
            self._told.discard_all(neighbour)
            self.clear(neighbour)

    def clear(self, neighbour: int) -> None:
        """Forget what the neighbour has told."""
        for box in self.table.discard_all(neighbour):
            self._withdrawn(box, neighbour)

    def add(self, neighbour: int, box: Box) -> None:
        """Note that the neighbour wants `box`, which replaces the boxes that it covers."""
        for covered, _ in self.table.covered(box, neighbour):
            if covered != box:
                self.table.discard(covered, neighbour)
        if self.table.add(box, neighbour):
            self._offer_to_all(box, neighbour)

    def remove(self, neighbour: int, box: Box) -> None:
        """Note that the neighbour no longer wants `box`."""
        if self.table.discard(box, neighbour):
            self._withdrawn(box, neighbour)

    def add_own(self, subscriber: int, box: Box) -> None:
        """Note that a subscriber here wants `box`."""
        if self.own.add(box, subscriber):
            self._offer_to_all(box, None)

    def remove_own(self, subscriber: int, box: Box) -> None:
        """Note that a subscriber here no longer wants `box`."""
        if self.own.discard(box, subscriber):
            self._withdrawn(box, None)

    def next_hops(self, values: Values, sender: int | None) -> list[int]:
        """Return the neighbours that an event goes on to."""
        return self.table.owners_matching(values, sender)

    def told(self, neighbour: int) -> list[Box]:
        """Return all boxes that the neighbour was told."""
        return self._told.boxes_of(neighbour)

    def _offer_to_all(self, box: Box, come_from: int | None) -> None:
        for neighbour in self.neighbours:
            if neighbour != come_from:
                self._offer(neighbour, box)

    def _offer(self, neighbour: int, box: Box) -> None:
        """Tell the neighbour of `box`, unless it knows a box that covers this one (covering)."""
        if self._told.any_covers(box, neighbour):
            return
        for covered, _ in self._told.covered(box, neighbour):
            self._told.discard(covered, neighbour)
        self._told.add(box, neighbour)
        self._tell(neighbour, box, True)

    def _withdrawn(self, box: Box, come_from: int | None) -> None:
        """Withdraw `box` where nothing else asks for it, and uncover what it covered."""
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
        """Return each box once, the largest first; equal volumes are ordered by bounds."""
        keys = {box: (self._told.volume(box), box.lows, box.highs) for box in boxes}
        return sorted(keys, key=keys.__getitem__, reverse=True)
