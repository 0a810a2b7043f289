"""Quasar's choice of a next hop: Algorithm 2, lines 12 to 23."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from emulator.protocols.pubsub.quasar.bloom import contains

Surroundings = list[tuple[int, list[bytes] | None]]
"""The neighbours in the order in which they are asked, each with its attenuated filter, None if that is
unknown or stale."""


def find_gradient(
    surroundings: Surroundings, depth: int, group: Sequence[int], negated: Collection[Sequence[int]]
) -> tuple[int, int]:
    """Return the neighbour with the group in the lowest level, and that level; (-1, -1) if there is none.

    A level of a neighbour's filter that also has one of the `negated` peers does not count (lines 16 to 19).
    `group` and `negated` are bit positions.
    """
    for level in range(depth):
        for peer, levels in surroundings:
            if levels is None or not contains(levels[level], group):
                continue
            if not _has_any(levels[level], negated):
                return peer, level
    return -1, -1


def has_group(surroundings: Surroundings, depth: int, group: Sequence[int]) -> bool:
    """Return whether any neighbour's filter has the group in one of the first `depth` levels, negated or
    not."""
    return find_gradient(surroundings, depth, group, ())[0] >= 0


def _has_any(level: bytes, entries: Collection[Sequence[int]]) -> bool:
    return any(contains(level, positions) for positions in entries)


def choose_branches(neighbours: Sequence[int], count: int, draw: random.Random) -> Sequence[int]:
    """Return the neighbours that get a copy of what is (re-)published: `count` random ones, all if 0."""
    if count == 0 or count >= len(neighbours):
        return neighbours
    return draw.sample(neighbours, count)
