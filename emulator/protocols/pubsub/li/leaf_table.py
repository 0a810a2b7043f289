"""The LeafNodeRoutingTable of a tree node: which leaves it knows below itself (section 3.2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.protocols.pubsub.li.space import Area, Attribute, TargetArea, halves, is_below, level_of


class LeafNodeRoutingTable:
    """The leaves below one tree node that this node knows.

    The table is kept as the set of nodes that were split: a node that was not split below one that was is a
    leaf. The tree only grows, so an entry that is missing makes a path longer but never wrong, and updates
    may come in any order and more than once.
    """

    def __init__(self, attribute: Attribute, position: int) -> None:
        """The table of the node at `position` is empty at first: the node itself is a leaf."""
        self._of_attribute = attribute
        self._position = position
        self._level = level_of(position)
        self._area = attribute.area(position)
        self.splits: set[int] = set()

    def update(self, splits: Iterable[int]) -> None:
        """Note that these nodes were split, and so were all nodes between them and this one."""
        for split in splits:
            if is_below(split, self._position):
                while split not in self.splits and split >= self._position:
                    self.splits.add(split)
                    split >>= 1

    def leaf_of(self, x: float, y: float) -> int:
        """Return the leaf known here that covers the point."""
        position, level, area = self._position, self._level, self._area
        while position in self.splits:
            lower, upper = halves(area, level)
            is_upper = (x >= upper[0]) if level % 2 == 0 else (y >= upper[2])
            position, area = position * 2 + is_upper, upper if is_upper else lower
            level += 1
        return position

    def leaves_overlapping(self, target: TargetArea) -> list[int]:
        """Return the leaves known here that may hold subscriptions that an event matches."""
        return [position for position, _ in self._leaves(target)]

    def records(self) -> dict[str, Area]:
        """Return the table as the thesis prints it (table 3.1): identifiers of leaves with their areas."""
        return {self._of_attribute.identifier(position): area for position, area in self._leaves(None)}

    def _leaves(self, target: TargetArea | None) -> Iterator[tuple[int, Area]]:
        waiting = [(self._position, self._level, self._area)]
        while waiting:
            position, level, area = waiting.pop()
            if target is not None and not target.overlaps(area):
                continue
            if position not in self.splits:
                yield position, area
                continue
            lower, upper = halves(area, level)
            waiting.append((2 * position + 1, level + 1, upper))
            waiting.append((2 * position, level + 1, lower))
