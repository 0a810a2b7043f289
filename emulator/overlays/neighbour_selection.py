"""Vitis's Algorithm 4: which of the known peers become neighbours.

Successor and predecessor on the ring, small-world links, and for the rest the peers with the
highest utility.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from emulator.gossip.descriptor import Descriptor, Sighting
from emulator.identifiers import HALF, MASK, SPACE

SUCCESSOR, PREDECESSOR, SMALL_WORLD, FRIEND = "successor", "predecessor", "small-world", "friend"


_REMEMBERED_BEATEN = 256
"""Newcomers, one for each remainder of a peer's number: 2 KiB."""


@dataclass(slots=True)
class _Bounds:
    """What the last selection was made for, and what it takes to change it."""

    own: Descriptor
    peers: set[int]
    successor: int
    predecessor: int
    places: list[tuple[int, int]]
    """For each small-world link the point that it is for, clockwise from here, and how far off it is."""
    last_friend: tuple[float, bool, int] | None
    beaten: list[Descriptor | None] = field(default_factory=lambda: [None] * _REMEMBERED_BEATEN)
    """Newcomers that would not change it, each in the place of its number."""


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
        self._select_small_world: Callable[[list[tuple[int, Sighting]], int], list[Sighting]] = (
            self._nearest_to_drawn if draw == "distance" else self._drawn_from_candidates
        )
        self._drawn = [(rng.random(), rng.random() < 0.5) for _ in range(small_world_links)]
        self._fixed_draw = draw == "distance"
        self._bounds: _Bounds | None = None

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
        self._places: list[tuple[int, int]] = []
        if ring and self._small_world_links:
            chosen[SMALL_WORLD] = self._select_small_world(ring, self._ring_gap(chosen))
        if ring and self._friends > 0:
            rank = self._rank
            ranked = sorted([(*rank(own, s[1], s[1].peer in current), s) for _, s in ring])
            chosen[FRIEND] = [entry[3] for entry in ranked[: self._friends]]
        self._bounds = self._find_bounds(own, chosen)
        return chosen

    def keeps(self, own: Descriptor, current: Mapping[int, object], known: Iterable[Descriptor]) -> bool:
        """Whether `select` would choose the `current` neighbours again among these and the known peers.

        True only if the last selection chose them; this is much cheaper than selecting.
        """
        bounds = self._bounds
        if bounds is None or bounds.own is not own or bounds.peers != current.keys():
            return False
        identifier, beaten = self._identifier, bounds.beaten
        for newcomer in known:
            peer = newcomer.peer
            place = peer % _REMEMBERED_BEATEN
            if beaten[place] is newcomer or peer in current or newcomer.identifier == identifier:
                continue
            clockwise = (newcomer.identifier - identifier) & MASK
            if not bounds.successor <= clockwise <= bounds.predecessor:
                return False
            for target, away in bounds.places:
                if abs(clockwise - target) < away:
                    return False
            if bounds.last_friend is not None and self._rank(own, newcomer, False) < bounds.last_friend:
                return False
            beaten[place] = newcomer
        return True

    def _rank(self, own: Descriptor, other: Descriptor, current: bool) -> tuple[float, bool, int]:
        """Less is better: more utility, then neighbours, then an order that differs from peer to peer."""
        return (-own.utility(other), not current, other.identifier ^ self._identifier)

    def _find_bounds(self, own: Descriptor, chosen: Mapping[str, list[Sighting]]) -> _Bounds | None:
        """What a newcomer has to beat; None unless the table is full."""
        peers = {sighting[1].peer for sightings in chosen.values() for sighting in sightings}
        if len(peers) < self._friends + self._small_world_links + 2 or not self._fixed_draw:
            return None
        successor, predecessor = (
            (chosen[kind][0][1].identifier - self._identifier) & MASK for kind in (SUCCESSOR, PREDECESSOR)
        )
        friends = chosen[FRIEND]
        last_friend = self._rank(own, friends[-1][1], True) if friends else None
        return _Bounds(own, peers, successor, predecessor, self._places, last_friend)

    def _ring_gap(self, chosen: Mapping[str, list[Sighting]]) -> int:
        """The mean distance between ring neighbours here: 1/n of the ring."""
        ends = [chosen[SUCCESSOR][0][1].identifier, chosen[PREDECESSOR][0][1].identifier]
        span = ((ends[0] - self._identifier) & MASK) + ((self._identifier - ends[1]) & MASK)
        return max(1, min(span // 2, HALF // 2))

    def _nearest_to_drawn(self, ring: list[tuple[int, Sighting]], gap: int) -> list[Sighting]:
        selected = []
        spread = math.log(HALF / gap)
        for position, clockwise in self._drawn:
            if not ring:
                break
            drawn = int(gap * math.exp(spread * position))
            target = drawn if clockwise else SPACE - drawn
            index = bisect_left(ring, (target,))
            if index == len(ring) or (index and target - ring[index - 1][0] <= ring[index][0] - target):
                index -= 1
            clockwise_distance, sighting = ring.pop(index)
            self._places.append((target, abs(clockwise_distance - target)))
            selected.append(sighting)
        return selected

    def _drawn_from_candidates(self, ring: list[tuple[int, Sighting]], gap: int) -> list[Sighting]:
        selected = []
        for _ in range(min(self._small_world_links, len(ring))):
            weights = [1 / min(clockwise, SPACE - clockwise) for clockwise, _ in ring]
            (index,) = self._random.choices(range(len(ring)), weights)
            selected.append(ring.pop(index)[1])
        return selected
