"""Boxes and events over one to three attributes: uniform, skewed, or local.

All ranges are about equally wide, and wide enough that an event interests as many peers on average as is
asked for, so that distributions can be compared. Centres of boxes and events are drawn alike: uniform in the
domain, or from cells of it whose ranks follow a Zipf distribution, the lowest first. Local centres: peers
that are near each other (of one region) have a centre of their own, around which their boxes lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from emulator.workload.subscription_sources import Rows

_CELLS = 100
_SAMPLE = 400
"""The number of events by which the width is found."""
_STEPS = 24
_SPREAD = 0.1
"""The standard deviation of local centres around their region's centre, as a share of the domain."""
_SIZES = (0.5, 1.5)
"""The bounds of a range's width, as multiples of the mean."""

Numbers = NDArray[np.float64]
Domains = Mapping[str, tuple[float, float]]
"""The lowest and the highest value of each attribute, by its name."""


def draw_interests(
    domains: Domains,
    centres: Numbers,
    peer: NDArray[np.int32],
    interested: float,
    skew_of_events: float | None,
    random: np.random.Generator,
) -> Rows:
    """Return what each subscription asks for, given its centre in the unit cube and its subscriber.

    Boxes are so wide that an event interests `interested` peers on average.
    """
    sizes = random.uniform(*_SIZES, size=centres.shape)
    events = draw_points(skew_of_events, _SAMPLE, len(domains), random)
    width = _width(centres, sizes, peer, events, interested)
    low, high = _bounds(centres, sizes * width)
    ends = np.array(list(domains.values()))
    below, wide = ends[:, 0], ends[:, 1] - ends[:, 0]
    lows, highs = (below + low * wide).tolist(), (below + high * wide).tolist()
    return [
        [
            {"attribute": name, "low": lows[row][column], "high": highs[row][column]}
            for column, name in enumerate(domains)
        ]
        for row in range(len(peer))
    ]


def draw_events(domains: Domains, skew: float | None, count: int, random: np.random.Generator) -> Rows:
    """Return the attributes of each event."""
    found = draw_points(skew, count, len(domains), random)
    rows = []
    for point in found.tolist():
        row = []
        for (name, (low, high)), value in zip(domains.items(), point, strict=True):
            row.append({"attribute": name, "value": low + value * (high - low)})
        rows.append(row)
    return rows


def draw_points(skew: float | None, count: int, attributes: int, random: np.random.Generator) -> Numbers:
    """Return points of the unit cube: uniform, or by a Zipf distribution over the hundredths of each side."""
    if skew is None:
        return random.random((count, attributes))
    weights = np.power(np.arange(1.0, _CELLS + 1), -skew)
    cells = random.choice(_CELLS, size=(count, attributes), p=weights / weights.sum())
    drawn: Numbers = (cells + random.random((count, attributes))) / _CELLS
    return drawn


def draw_points_of_regions(
    region: NDArray[np.int32], regions: int, attributes: int, random: np.random.Generator
) -> Numbers:
    """Return points of the unit cube around the centre of their region."""
    homes = random.random((regions, attributes))
    around = homes[region] + _SPREAD * random.standard_normal((len(region), attributes))
    # Points beyond the domain's ends are reflected, so that none gather there.
    inside: Numbers = 1 - np.abs(1 - np.abs(around) % 2)
    return inside


def _bounds(centres: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of the ranges; a range that reaches beyond the domain is moved into it."""
    sizes = np.minimum(sizes, 1.0)
    low = np.clip(centres - sizes / 2, 0.0, 1.0 - sizes)
    return low, low + sizes


def _width(
    centres: Numbers, sizes: Numbers, peer: NDArray[np.int32], events: Numbers, interested: float
) -> float:
    """Return the mean width of a range with which an event interests so many different peers on average."""
    if not len(peer):
        return 0.0
    order = np.argsort(peer, kind="stable")
    _, first = np.unique(peer[order], return_index=True)
    low, high = 0.0, 2.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below, above = _bounds(centres[order], sizes[order] * middle)
        hits = np.ones((len(events), len(peer)), np.bool_)
        for column in range(events.shape[1]):
            value = events[:, column, None]
            hits &= (below[:, column] <= value) & (value <= above[:, column])
        mean = np.logical_or.reduceat(hits, first, axis=1).sum(axis=1).mean()
        low, high = (middle, high) if mean < interested else (low, middle)
    return (low + high) / 2


def draw_regions(
    regions: int, peers: int, one_way: Callable[[int, int], float], random: np.random.Generator
) -> NDArray[np.int32]:
    """Return the region of each peer: that of the nearest of so many random peers, by one-way delays."""
    landmarks = random.choice(peers, size=min(regions, peers), replace=False).tolist()
    delays = [[one_way(peer, landmark) for landmark in landmarks] for peer in range(peers)]
    nearest: NDArray[np.int32] = np.argmin(delays, axis=1).astype(np.int32)
    return nearest
