"""Zones of equal event rate, drawn by k-d splits (Kyra, III.B; the paper leaves the rule open, so it is
ours).

A box is split in two at the value that divides the events as the numbers of zones on both sides do, on one
attribute after the other. The zones are numbered from left to right, so neighbours in number are often
neighbours in space, and a run of them is a union of few boxes.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from emulator.protocols.pubsub.content.space import Box, EventSpace, Values


def draw_zones(space: EventSpace, count: int, events: Sequence[Values] = ()) -> list[Box]:
    """Return `count` boxes that partition the whole space. Without events, all values are equally likely."""
    found: list[Box] = []
    _split(space, space.whole, list(events), count, 0, found)
    return found


def zone_of(zones: Sequence[Box], values: Values) -> int:
    """Return the number of the zone that an event is in. Raises ValueError if no zone holds the event."""
    for number, zone in enumerate(zones):
        if zone.has(values):
            return number
    raise ValueError(f"no zone has the event {values}")


def imbalance(zones: Sequence[Box], events: Sequence[Values]) -> float:
    """Return the events of the fullest zone over the mean of all zones; 1 is the best possible."""
    counts = [0] * len(zones)
    for values in events:
        counts[zone_of(zones, values)] += 1
    return max(counts) * len(zones) / len(events) if events else 1.0


def _split(
    space: EventSpace, box: Box, events: list[Values], count: int, level: int, found: list[Box]
) -> None:
    if count == 1:
        found.append(box)
        return
    left = count // 2
    attributes = len(space.names)
    for turn in range(attributes):
        index = (level + turn) % attributes
        cut = _cut(space, box, events, index, left / count)
        if cut is not None:
            below, above = _halves(box, index, cut)
            _split(space, below, [e for e in events if e[index] < cut], left, level + turn + 1, found)
            _split(
                space, above, [e for e in events if e[index] >= cut], count - left, level + turn + 1, found
            )
            return
    # The box is a single point: one zone gets it, and the other zones are empty.
    found += [box] * count


def _cut(space: EventSpace, box: Box, events: list[Values], index: int, share: float) -> float | None:
    """Return the value from which on events are in the upper part, or None if the box cannot be cut there."""
    low, high = max(box.lows[index], space.lows[index]), min(box.highs[index], space.highs[index])
    if not low < high:
        return None
    inside = sorted([event[index] for event in events if low <= event[index] <= high])
    if not inside:
        return low + (high - low) * share
    wanted = share * len(inside)
    # Where many events have the same value, the middle value or the next one divides them best.
    middle = inside[min(int(wanted), len(inside) - 1)]
    places = [place for place in (bisect_left(inside, middle), bisect_right(inside, middle)) if place]
    places = [place for place in places if place < len(inside)]
    if not places:
        # All events have the same value here.
        return (low + middle) / 2 if middle > low else (middle + high) / 2
    return inside[min(places, key=lambda place: abs(place - wanted))]


def _halves(box: Box, index: int, cut: float) -> tuple[Box, Box]:
    """Return the part of the box below `cut` and the part from there on."""
    highs, lows = list(box.highs), list(box.lows)
    highs[index] = math.nextafter(cut, -math.inf)
    lows[index] = cut
    return Box(box.lows, tuple(highs)), Box(tuple(lows), box.highs)
