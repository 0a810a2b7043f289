"""This module places the peers of an overlay in a drawing: around a ring, or on circles by their hops from
one peer.

Positions are from -1 to 1, x to the right and y down, and the same for the same graph on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Place = tuple[float, float]
Neighbours = Mapping[int, Sequence[int]]
"""The neighbours of each peer, in both directions and in a fixed order."""


@dataclass(frozen=True, slots=True)
class ByHops:
    """The places of peers by their hops from `root`."""

    root: int
    places: dict[int, Place]
    parents: dict[int, int] = field(default_factory=dict)
    """The peer over which each peer is reached in the fewest hops; the root has none."""
    hops: int = 0
    """The most hops from the root to a peer."""
    apart: list[int] = field(default_factory=list)
    """The peers to which no links lead from the root."""


def around_ring(order: Sequence[int]) -> dict[int, Place]:
    """Return places around a ring, from the top on clockwise."""
    return {peer: _at(rank / len(order), 1.0) for rank, peer in enumerate(order)}


def by_hops(neighbours: Neighbours) -> ByHops:
    """Return places on circles around the peer with the most neighbours, one circle for each hop.

    Each peer has a share of its circle beside the peer over which it is reached, as wide as the peers behind
    it need. Peers that cannot be reached stand on the outermost circle. `neighbours` may not be empty.
    """
    root = max(sorted(neighbours), key=lambda peer: len(neighbours[peer]))
    parents, depths, order = _reached(neighbours, root)
    children: dict[int, list[int]] = {peer: [] for peer in order}
    for peer in order[1:]:
        children[parents[peer]].append(peer)
    ends = dict.fromkeys(order, 0)
    for peer in reversed(order):
        ends[peer] = sum(ends[child] for child in children[peer]) or 1
    apart = sorted(neighbours.keys() - depths.keys())
    circles = max(depths.values()) + bool(apart)
    begins = {root: 0.0}
    places = {root: (0.0, 0.0)}
    for peer in order:
        begin = begins[peer]
        for child in children[peer]:
            begins[child] = begin
            begin += ends[child]
            places[child] = _at((begins[child] + ends[child] / 2) / ends[root], depths[child] / circles)
    places |= {peer: _at(rank / len(apart), 1.0) for rank, peer in enumerate(apart)}
    return ByHops(root, places, parents, max(depths.values()), apart)


def _reached(neighbours: Neighbours, root: int) -> tuple[dict[int, int], dict[int, int], list[int]]:
    """Return over whom and in how many hops each peer is reached, and the peers in that order."""
    parents: dict[int, int] = {}
    depths, order = {root: 0}, [root]
    for peer in order:
        for other in neighbours[peer]:
            if other not in depths:
                parents[other] = peer
                depths[other] = depths[peer] + 1
                order.append(other)
    return parents, depths, order


def _at(turn: float, radius: float) -> Place:
    """Return the place at a share of a turn from the top, clockwise."""
    return radius * math.sin(2 * math.pi * turn), -radius * math.cos(2 * math.pi * turn)
