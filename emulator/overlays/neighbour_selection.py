"""Vitis's Algorithm 4: which of the known peers become neighbours.

Successor and predecessor on the ring, small-world links, and for the rest the peers with the
highest utility.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Mapping

from emulator.gossip.descriptor import Descriptor, Sighting
from emulator.identifiers import HALF, MASK, SPACE

SUCCESSOR, PREDECESSOR, SMALL_WORLD, FRIEND = "successor", "predecessor", "small-world", "friend"


class NeighbourSelection:
    """Chooses `size` neighbours of which `size - 2 - small_world_links` are friends.

    A small-world link is to be found with a probability inversely proportional to its distance
    (section III.A.1, after Symphony). The paper does not say how to draw it. Two ways:

    - "distance": the distance of each link is drawn once, from the harmonic distribution between
      1/n and 1/2 of the ring and to either side, and the known peer nearest to that point is taken;
      n is estimated from the distance between successor and predecessor.
    - "candidates": each selection draws one of the known peers with weight 1/distance. Gossip hands
      a peer mostly its ring neighbours, so the links collapse to near peers.
    """

    def __init__(
        self, own: Descriptor, size: int, small_world_links: int, draw: str, rng: random.Random
    ) -> None:
        self._identifier = own.identifier
        self._small_world_links = small_world_links
        self._friends = size - 2 - small_world_links
        self._random = rng
        self._select_small_world: Callable[[list[tuple[int, Sighting]]], list[Sighting]] = (
            self._nearest_to_drawn if draw == "distance" else self._drawn_from_candidates
        )
        self._drawn = [(rng.random(), rng.random() < 0.5) for _ in range(small_world_links)]

    def select(
        self, own: Descriptor, candidates: Mapping[int, Sighting], current: Mapping[int, object]
    ) -> dict[str, list[Sighting]]:
        """The neighbours by kind. `current` are the peers that are neighbours now: among equals they stay."""
        identifier = self._identifier
        # Sorted by clockwise distance; identifiers differ, so sightings are never compared.
        ring = sorted([((s[1].identifier - identifier) & MASK, s) for s in candidates.values()])
        chosen: dict[str, list[Sighting]] = {SUCCESSOR: [], PREDECESSOR: [], SMALL_WORLD: [], FRIEND: []}
        if ring:
            chosen[SUCCESSOR] = [ring.pop(0)[1]]
        if ring:
            chosen[PREDECESSOR] = [ring.pop()[1]]
        if ring and self._small_world_links:
            self._gap = self._ring_gap(chosen)
            chosen[SMALL_WORLD] = self._select_small_world(ring)
        if ring and self._friends > 0:
            utility = own.utility
            ranked = sorted(
                [(-utility(s[1]), s[1].peer not in current, s[1].identifier ^ identifier, s) for _, s in ring]
            )
            chosen[FRIEND] = [entry[3] for entry in ranked[: self._friends]]
        return chosen

    def _ring_gap(self, chosen: Mapping[str, list[Sighting]]) -> int:
        """The mean distance between ring neighbours here: 1/n of the ring."""
        ends = [chosen[SUCCESSOR][0][1].identifier, chosen[PREDECESSOR][0][1].identifier]
        span = ((ends[0] - self._identifier) & MASK) + ((self._identifier - ends[1]) & MASK)
        return max(1, min(span // 2, HALF // 2))

    def _nearest_to_drawn(self, ring: list[tuple[int, Sighting]]) -> list[Sighting]:
        selected = []
        spread = math.log(HALF / self._gap)
        for position, clockwise in self._drawn:
            if not ring:
                break
            drawn = int(self._gap * math.exp(spread * position))
            target = drawn if clockwise else SPACE - drawn
            index = bisect_left(ring, (target,))
            if index == len(ring) or (index and target - ring[index - 1][0] <= ring[index][0] - target):
                index -= 1
            selected.append(ring.pop(index)[1])
        return selected

    def _drawn_from_candidates(self, ring: list[tuple[int, Sighting]]) -> list[Sighting]:
        selected = []
        for _ in range(min(self._small_world_links, len(ring))):
            weights = [1 / min(clockwise, SPACE - clockwise) for clockwise, _ in ring]
            (index,) = self._random.choices(range(len(ring)), weights)
            selected.append(ring.pop(index)[1])
        return selected
