"""The points that are stored for an interest (sections 3.3 and 3.5)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from emulator.contract.protocol import RangeInterest
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.space import Attribute, Schema
from trellis.v1.content import SubscriptionObject

Range = tuple[float, float]


def subscription_objects(
    interest: RangeInterest,
    subscriber: int,
    sid: int,
    schema: Schema,
    parameters: LiParameters,
    draw: random.Random,
) -> list[SubscriptionObject]:
    """Make what is to be stored: one object for each piece of the base attribute's range.

    The base attribute is drawn from those that the interest names. Raises ValueError for an interest that
    names none, or one that is not in the schema.
    """
    if not interest.ranges:
        raise ValueError("a subscription needs at least one attribute")
    ranges = {schema.index(name): bounds for name, bounds in interest.ranges.items()}
    base = draw.choice(sorted(ranges))
    low, high = ranges.pop(base)
    attribute = schema.attributes[base]
    point = attribute.clip(low), attribute.clip(high)
    point = widened(point, attribute, parameters.widening, parameters.deepest_level, draw)
    return [
        SubscriptionObject(
            subscriber=subscriber,
            sid=sid,
            piece=piece,
            attributes=[base, *ranges],
            lows=[bounds[0], *(low for low, _ in ranges.values())],
            highs=[bounds[1], *(high for _, high in ranges.values())],
        )
        for piece, bounds in enumerate(cut(point, attribute, parameters.cut_off, parameters.piece, draw))
    ]


def widened(
    point: Range, attribute: Attribute, share: float, deepest_level: int, draw: random.Random
) -> Range:
    """Return the range, or a little longer one if its point is a corner of areas that splitting makes.

    Each end moves out by a random length of up to `share` of the domain, and stays in the domain.
    """
    steps = 1 << (deepest_level + 1) // 2
    if not all(((end - attribute.low) / attribute.width * steps).is_integer() for end in point):
        return point
    longest = share * attribute.width
    low, high = point[0] - longest * draw.random(), point[1] + longest * draw.random()
    return attribute.clip(low), attribute.clip(high)


def cut(
    point: Range, attribute: Attribute, cut_off: float, piece: Sequence[float], draw: random.Random
) -> list[Range]:
    """Cut a range into ranges whose points lie below the cut-off line y = x + c, c being `cut_off`.

    A range that is not longer than c stays whole; a longer one is cut into pieces of one random length h and
    a rest, as in figure 3.4. There is no cut-off line if `cut_off` is 0.
    """
    low, high = point
    longest = cut_off * attribute.width
    if not longest or high - low <= longest:
        return [point]
    length = longest * draw.uniform(piece[0], piece[1])
    ends = [low]
    while high - ends[-1] > length:
        end = ends[-1] + length
        while end - ends[-1] > longest:  # rounding must not lift a piece above the line
            end = math.nextafter(end, -math.inf)
        ends.append(end)
    return list(zip(ends, [*ends[1:], high], strict=True))


def matches(ranges: Mapping[str, Range], values: Mapping[str, float], absent_matches: bool) -> bool:
    """Return whether a subscription with these ranges asks for an event with these values."""
    for name, (low, high) in ranges.items():
        value = values.get(name)
        if value is None:
            if not absent_matches:
                return False
        elif not low <= value <= high:
            return False
    return True
