"""The logic space of an attribute and its 2d-tree (sections 3.2 and 3.2.1).

A range [low, high] of an attribute is the point (low, high) of a square. The tree halves the square on
x, then on y, alternately. A node of the tree is named by its position as in a binary heap: the root is
1, the lower half of p is 2p, the upper half 2p + 1; the root has level 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from emulator.contract.identifiers import hash_of

ROOT: Final = 1

_REMEMBERED_KEYS: Final = 1 << 15

Area = tuple[float, float, float, float]
"""An area as (x from, x to, y from, y to): half open, except at the upper ends of the domain."""


def level_of(position: int) -> int:
    """Return the depth of a node, 0 for the root."""
    return position.bit_length() - 1


def ancestor(position: int, level: int) -> int:
    """Return the node above `position` (or itself) at a level that is not below its own."""
    return position >> (level_of(position) - level)


def is_below(position: int, node: int) -> bool:
    """Return whether `position` is `node` or one of its descendants."""
    depth = level_of(position) - level_of(node)
    return depth >= 0 and position >> depth == node


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the schema with its domain [low, high]."""

    name: str
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def clip(self, value: float) -> float:
        """Return the nearest value of the domain. Clipping keeps the order, so what matches still matches."""
        return min(max(value, self.low), self.high)

    def identifier(self, position: int) -> str:
        """Return the node's unique name: the attribute's, then 0 for each lower and 1 for each upper half."""
        return self.name + bin(position)[3:]

    def area(self, position: int) -> Area:
        """Return the area that the node covers."""
        area = (self.low, self.high, self.low, self.high)
        for level in range(level_of(position)):
            area = halves(area, level)[position >> (level_of(position) - level - 1) & 1]
        return area

    def position_of(self, x: float, y: float, level: int) -> int:
        """Return the node of `level` whose area covers the point (program 3.2, lines 14 to 44)."""
        position = ROOT
        x_from, x_to, y_from, y_to = self.low, self.high, self.low, self.high
        for depth in range(level):
            position <<= 1
            if depth % 2 == 0:
                middle = (x_from + x_to) / 2
                if x < middle:
                    x_to = middle
                else:
                    x_from = middle
                    position += 1
            else:
                middle = (y_from + y_to) / 2
                if y < middle:
                    y_to = middle
                else:
                    y_from = middle
                    position += 1
        return position


def halves(area: Area, level: int) -> tuple[Area, Area]:
    """Return the areas of the lower and the upper half of a node of `level` (program 3.1, lines 17 to 41)."""
    x_from, x_to, y_from, y_to = area
    if level % 2 == 0:
        middle = (x_from + x_to) / 2
        return (x_from, middle, y_from, y_to), (middle, x_to, y_from, y_to)
    middle = (y_from + y_to) / 2
    return (x_from, x_to, y_from, middle), (x_from, x_to, middle, y_to)


@dataclass(frozen=True, slots=True)
class TargetArea:
    """The area of the points that ranges which an event may match have: x <= `x_most`, y >= `y_least`.

    Points above the cut-off line, y - x > `cut`, are left out (section 3.5). For a value v both bounds are v;
    for an absent attribute that matches everything they are the domain's ends (section 3.4.1).
    """

    attribute: Attribute
    x_most: float
    y_least: float
    cut: float

    def overlaps(self, area: Area) -> bool:
        """Return whether a point of the target may lie in the area."""
        x_from, x_to, y_from, y_to = area
        if x_from > self.x_most:
            return False
        # Only the upper ends of the domain belong to an area.
        if y_to < self.attribute.high and (y_to <= self.y_least or y_to <= x_from):
            return False
        return max(y_from, self.y_least) - min(x_to, self.x_most) <= self.cut


class Schema:
    """The attributes that all peers know, and the identifiers of their trees' nodes."""

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        self.attributes = tuple(attributes)
        self._index = {attribute.name: index for index, attribute in enumerate(self.attributes)}
        self._keys: tuple[dict[int, int], ...] = tuple({} for _ in self.attributes)

    @staticmethod
    def of(domains: Mapping[str, tuple[float, float]]) -> Schema:
        """Return a schema in the order of the names, so that all peers number the attributes alike."""
        return _schema(tuple(Attribute(name, *domains[name]) for name in sorted(domains)))

    def index(self, name: str) -> int:
        """Return the number of an attribute in messages.

        Raises ValueError for one that is not in the schema.
        """
        if name not in self._index:
            raise ValueError(f"the schema has no attribute {name}; it has {', '.join(self._index)}")
        return self._index[name]

    def key(self, attribute: int, position: int) -> int:
        """Return hash(identifier) of a tree node; the peer closest to it stores the node (section 3.2.1)."""
        keys = self._keys[attribute]
        key = keys.get(position)
        if key is None:
            if len(keys) >= _REMEMBERED_KEYS:
                keys.clear()
            key = keys[position] = hash_of(self.attributes[attribute].identifier(position))
        return key


@cache
def _schema(attributes: tuple[Attribute, ...]) -> Schema:
    return Schema(attributes)
