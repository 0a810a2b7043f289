"""Content interests and the events that they are matched with (Li, section 4.1.2).

Both begin with a point. An attribute's domain is divided into sub-ranges, whose ranks follow a Zipf
distribution; a sub-range is drawn, then a value uniformly inside it. The thesis does not say which
sub-range has which rank: here the lowest has rank 1, and so on upwards. Where the domain is no whole
number of sub-ranges, the highest one is narrower.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.workload.attribute import Attribute
from emulator.workload.subscription_sources import Rows


def draw_points(attribute: Attribute, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return values of events, which are also the points that ranges are made around."""
    width = attribute.high - attribute.low
    ranks = int(np.ceil(width / attribute.sub_range))
    begin = attribute.low + _zipf(ranks, attribute.skew, count, random) * attribute.sub_range
    end = np.minimum(begin + attribute.sub_range, attribute.high)
    point: NDArray[np.float64] = np.minimum(begin + random.random(count) * (end - begin), attribute.high)
    return point


def draw_bounds(
    attribute: Attribute, count: int, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the low and high ends of ranges.

    The thesis leaves open what the ranks of sizes are and where the point lies in its range. Here sizes up to
    the bound are divided into steps of a sub-range, the smallest of rank 1, and a size is uniform inside its
    step; the point is the middle of the range. A range that reaches beyond the domain is moved into it with
    its size kept.
    """
    point = draw_points(attribute, count, random)
    largest = attribute.size_bound * (attribute.high - attribute.low)
    step = min(attribute.sub_range, largest)
    rank = _zipf(int(np.ceil(largest / step)), attribute.size_skew, count, random)
    size = np.minimum((rank + random.random(count)) * step, largest)
    low = np.clip(point - size / 2, attribute.low, attribute.high - size)
    return low, np.clip(low + size, low, attribute.high)


def draw_presence(
    attributes: Sequence[Attribute], count: int, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which attributes (columns) each subscription (row) names: independently, but at least one.

    The thesis does not say what becomes of a subscription without any: here its attributes are drawn again
    until there is one, so an attribute is there a little more often than its `presence`.
    """
    share = np.array([attribute.presence for attribute in attributes])
    chance = share * np.concatenate([[1.0], np.cumprod(1.0 - share)[:-1]])  # of being the first that is there
    first = random.choice(len(share), size=count, p=chance / chance.sum())[:, None]
    column = np.arange(len(share))
    later: NDArray[np.bool_] = (column > first) & (random.random((count, len(share))) < share)
    later |= column == first
    return later


def draw_interests(attributes: Sequence[Attribute], count: int, random: np.random.Generator) -> Rows:
    """Return the ranges of each subscription, as the plan's column has them."""
    bounds = [[ends.tolist() for ends in draw_bounds(each, count, random)] for each in attributes]
    present = draw_presence(attributes, count, random).tolist()
    return [
        [
            {"attribute": attribute.name, "low": low[row], "high": high[row]}
            for attribute, (low, high), there in zip(attributes, bounds, present[row], strict=True)
            if there
        ]
        for row in range(count)
    ]


def draw_events(attributes: Sequence[Attribute], count: int, random: np.random.Generator) -> Rows:
    """Return the attributes of each event, as the plan's column has them: every event has a value of each."""
    values = [draw_points(each, count, random).tolist() for each in attributes]
    names = [attribute.name for attribute in attributes]
    return [
        [{"attribute": name, "value": value} for name, value in zip(names, row, strict=True)]
        for row in zip(*values, strict=True)
    ]


def _zipf(ranks: int, skew: float, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return ranks from 0 on; rank r has a weight of (r + 1) ** -skew."""
    cumulative = np.cumsum(np.power(np.arange(1.0, ranks + 1), -skew))
    drawn = random.random(count) * cumulative[-1]
    rank: NDArray[np.int64] = np.minimum(np.searchsorted(cumulative, drawn, side="right"), ranks - 1)
    return rank
