"""The event space: attributes in an order that all peers know, and boxes in this space.

A box is a conjunction: for each attribute a closed range or a set of values. An event has the value -inf for
an attribute that it lacks. A subscription that names the attribute never asks for -inf; one that does not
name it asks for any value, -inf included. So every event is a point, and boxes can be cut at any place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from emulator.contract.protocol import Event, Interest, RangeInterest
from trellis.v1.filters import Filter, PlacedEvent, ValueSet

ABSENT: Final = -math.inf
_LEAST: Final = -1.7976931348623157e308
"""The least number that a subscription can ask for."""
_REMEMBERED: Final = 1 << 18
NO_EVENT: Final = "it has no event of these attributes"
NO_BOX: Final = "it has a box of other attributes"
Values = Sequence[float]


class Box:
    """An immutable box in the event space. Equal boxes are equal keys."""

    __slots__ = ("_hash", "highs", "lows", "message", "sets")

    def __init__(
        self,
        lows: tuple[float, ...],
        highs: tuple[float, ...],
        sets: tuple[frozenset[float] | None, ...] | None = None,
    ) -> None:
        """`lows` and `highs` bound the sets too; `sets` is None if the box has no set.

        A set of one value is kept as a range, so that boxes that hold the same points are equal.
        """
        if sets is not None:
            sets = tuple([None if each is None or len(each) == 1 else each for each in sets])
            if not any(sets):
                sets = None
        self.lows = lows
        self.highs = highs
        self.sets = sets
        self.message: Filter | None = None
        """The message that carries the box, once it has been sent or received."""
        self._hash = hash((lows, highs, sets))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Box)
            and self.lows == other.lows
            and self.highs == other.highs
            and self.sets == other.sets
        )

    def __repr__(self) -> str:
        return f"Box({self.lows}, {self.highs}, {self.sets})"

    def has(self, values: Values) -> bool:
        """Return whether the point is in the box."""
        lows, highs, sets = self.lows, self.highs, self.sets
        for index in range(len(lows)):
            value = values[index]
            if value < lows[index] or value > highs[index]:
                return False
            if sets is not None:
                members = sets[index]
                if members is not None and value not in members:
                    return False
        return True

    def covers(self, other: Box) -> bool:
        """Return whether all points of the other box are in this one."""
        lows, highs, other_lows, other_highs = self.lows, self.highs, other.lows, other.highs
        for index in range(len(lows)):
            if other_lows[index] < lows[index] or other_highs[index] > highs[index]:
                return False
        return self.sets is None or self._sets_cover(other)

    def _sets_cover(self, other: Box) -> bool:
        assert self.sets is not None
        for index, members in enumerate(self.sets):
            if members is None:
                continue
            others = other.sets[index] if other.sets is not None else None
            if others is None:
                # A range has more values than a set, unless it is a single value.
                if other.lows[index] != other.highs[index] or other.lows[index] not in members:
                    return False
            elif not others <= members:
                return False
        return True

    def clip(self, zone: Box) -> Box | None:
        """Return the part of this box inside a box without sets, or None if there is none."""
        lows = tuple([max(a, b) for a, b in zip(self.lows, zone.lows, strict=True)])
        highs = tuple([min(a, b) for a, b in zip(self.highs, zone.highs, strict=True)])
        for index in range(len(lows)):
            if lows[index] > highs[index]:
                return None
        if self.sets is None:
            return Box(lows, highs)
        return _clip_sets(lows, highs, self.sets)


def _clip_sets(
    lows: tuple[float, ...], highs: tuple[float, ...], sets: tuple[frozenset[float] | None, ...]
) -> Box | None:
    new_lows, new_highs = list(lows), list(highs)
    clipped: list[frozenset[float] | None] = list(sets)
    for index, members in enumerate(sets):
        if members is not None:
            inside = [value for value in members if lows[index] <= value <= highs[index]]
            if not inside:
                return None
            new_lows[index], new_highs[index] = min(inside), max(inside)
            clipped[index] = frozenset(inside)
    return Box(tuple(new_lows), tuple(new_highs), tuple(clipped))


class EventSpace:
    """The attributes with their domains [low, high]; values outside of a domain are allowed everywhere."""

    def __init__(self, domains: tuple[tuple[str, float, float], ...]) -> None:
        self.names = tuple([name for name, _, _ in domains])
        self.lows = tuple([low for _, low, _ in domains])
        self.highs = tuple([high for _, _, high in domains])
        self._index = {name: index for index, name in enumerate(self.names)}

    @staticmethod
    def of(domains: Mapping[str, tuple[float, float]]) -> EventSpace:
        """Return a space in the order of the names, so that all peers number the attributes alike."""
        return _space(tuple([(name, *domains[name]) for name in sorted(domains)]))

    @property
    def whole(self) -> Box:
        """The box that holds every event."""
        return Box((-math.inf,) * len(self.names), (math.inf,) * len(self.names))

    def box(self, interest: Interest) -> Box:
        """Return the box of a subscription.

        Raises TypeError for a topic, ValueError for an attribute that the space does not have or that is
        asked for twice, and for an empty range or set.
        """
        if not isinstance(interest, RangeInterest):
            raise TypeError(f"this system knows ranges over attributes, not {type(interest).__name__}")
        lows, highs = [-math.inf] * len(self.names), [math.inf] * len(self.names)
        sets: list[frozenset[float] | None] = [None] * len(self.names)
        for name, (low, high) in interest.ranges.items():
            if not low <= high:
                raise ValueError(f"a subscription to {name} asks for no value at all")
            index = self._number(name)
            lows[index], highs[index] = max(low, _LEAST), high
        for name, values in interest.sets.items():
            if not values or name in interest.ranges:
                raise ValueError(f"a subscription to {name} needs a range or a set with values")
            index = self._number(name)
            lows[index], highs[index], sets[index] = min(values), max(values), frozenset(values)
        return Box(tuple(lows), tuple(highs), tuple(sets) if interest.sets else None)

    def place(self, event: Event) -> PlacedEvent:
        """Return the event as messages carry it.

        Raises TypeError for a topic, ValueError for other attributes.
        """
        if event.topic is not None:
            raise TypeError("this system matches events by their attributes; the event has a topic")
        values = [ABSENT] * len(self.names)
        for name, value in event.attributes.items():
            values[self._number(name)] = value
        return PlacedEvent(event.number, event.publisher, values, event.payload)

    def event(self, placed: PlacedEvent, hops: int) -> Event:
        """Return the event as the application gets it. Raises ValueError for one that this space does not
        hold."""
        named = zip(self.names, placed.values, strict=True)
        attributes = {name: value for name, value in named if value != ABSENT}
        return Event(placed.event, placed.publisher, None, attributes, placed.payload, hops)

    def holds(self, placed: PlacedEvent) -> bool:
        """Return whether an event that came in a message has a value for each attribute."""
        return len(placed.values) == len(self.names)

    def holds_all(self, messages: Iterable[Filter]) -> bool:
        """Return whether all boxes that came in a message have bounds, and sets if any, for each
        attribute."""
        width = len(self.names)
        return all(
            len(each.lows) == len(each.highs) == width and len(each.sets) in (0, width) for each in messages
        )

    def _number(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            raise ValueError(f"the system has no attribute {name}; it has {', '.join(self.names)}")
        return index


@cache
def _space(domains: tuple[tuple[str, float, float], ...]) -> EventSpace:
    return EventSpace(domains)


_filters: Final[dict[Box, Filter]] = {}
"""The messages of boxes. Equal boxes share one message, whichever peers of this host made them."""
_boxes: Final[dict[int, Box]] = {}
"""The boxes by the identity of their message, which the box keeps. Peers of one host pass messages by
reference."""


def filter_of(box: Box) -> Filter:
    """Return the message that carries the box."""
    found = box.message
    if found is None:
        found = _filters.get(box)
        if found is None:
            sets: list[ValueSet] = []
            if box.sets is not None:
                sets = [ValueSet([] if members is None else sorted(members)) for members in box.sets]
            found = Filter(list(box.lows), list(box.highs), sets)
            _remember(found, box)
        else:
            box.message = found
    return found


def box_of(message: Filter) -> Box:
    """Return the box that a message carries."""
    found = _boxes.get(id(message))
    if found is None:
        sets: tuple[frozenset[float] | None, ...] | None = None
        if message.sets:
            sets = tuple([frozenset(each.values) if each.values else None for each in message.sets])
        found = Box(tuple(message.lows), tuple(message.highs), sets)
        _remember(message, found)
    return found


def _remember(message: Filter, box: Box) -> None:
    if len(_boxes) >= _REMEMBERED:
        _filters.clear()
        _boxes.clear()
    box.message = message
    _filters[box] = message
    _boxes[id(message)] = box
