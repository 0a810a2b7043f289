"""Vitis's Algorithm 4, which selects neighbours among the known peers.

A peer selects its successor and predecessor on the ring, small-world links, and for the rest the peers with
the highest utility.
"""

from __future__ import annotations

import math
import random
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.contract.identifiers import Ring
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.ratings import RING_UNITS, Ratings
from trellis.v1.overlay import Profile

SUCCESSOR: Final = "successor"
PREDECESSOR: Final = "predecessor"
SMALL_WORLD: Final = "small-world"
FRIEND: Final = "friend"


class _Rated:
    """The candidates by their places, with the values by which they are selected."""

    __slots__ = ("clockwise", "kept", "orders", "taken", "utilities")

    def __init__(self, kept: i64) -> None:
        self.kept = kept
        """The number of candidates, from the first on, that are neighbours now and are preferred among
        equals."""
        self.clockwise = vec[i64]()
        """The clockwise distances from the peer that selects, in units of `RING_UNITS`."""
        self.utilities = vec[float]()
        self.orders = vec[i64]()
        """The order among candidates that are equal in all else: the least number comes first."""
        self.taken = vec[i64]()
        """The flags of candidates that are selected already, 1 or 0."""

    def __len__(self) -> int:
        return len(self.orders)

    def add(self, clockwise: i64, utility: float, order: i64) -> None:
        self.clockwise = append(self.clockwise, clockwise)
        self.utilities = append(self.utilities, utility)
        self.orders = append(self.orders, order)
        self.taken = append(self.taken, i64(0))

    def take(self, place: i64) -> int:
        self.taken[place] = 1
        return int(place)

    def left(self) -> list[i64]:
        """Return the places of candidates that are not selected yet."""
        return [place for place in range(len(self)) if not self.taken[place]]

    def outranks(self, one: i64, other: i64) -> bool:
        """Whether `one` makes a better friend than `other`."""
        if self.utilities[one] != self.utilities[other]:
            return self.utilities[one] > self.utilities[other]
        if (one < self.kept) != (other < self.kept):
            return one < self.kept
        return self.orders[one] < self.orders[other]

    def nearest(self, target: i64) -> i64:
        """Return the unselected candidate nearest to a point clockwise from here; -1 if none is left."""
        best: i64 = -1
        distance = RING_UNITS
        place: i64
        for place in range(len(self.taken)):
            if not self.taken[place]:
                away = self.clockwise[place] - target
                if away < 0:
                    away = -away
                if away < distance:
                    best, distance = place, away
        return best


class NeighbourSelection:
    """Chooses `size` neighbours of which `size - 2 - small_world_links` are friends.

    A small-world link is to be found with a probability inversely proportional to its distance
    (section III.A.1, after Symphony). The paper does not say how to draw it. Three ways:

    - "distance": the distance of each link is drawn once, from the harmonic distribution between
      1/n and 1/2 of the ring and to either side, and the known peer nearest to that point is taken;
      n is estimated from the distance between successor and predecessor. Among equally good friends
      the neighbours of now stay.
    - "anew": Algorithm 4 to the letter. The distance is drawn so at each selection, and equally good
      friends are taken at random.
    - "candidates": each selection draws one of the known peers with weight 1/distance. Gossip hands
      a peer mostly its ring neighbours, so the links collapse to near peers.
    """

    def __init__(
        self,
        space: Ring,
        identifier: int,
        size: int,
        small_world_links: int,
        draw: str,
        rng: random.Random,
    ) -> None:
        """`identifier` is that of the peer that selects; `draw` is one of the three ways."""
        self._small_world_links = small_world_links
        self._friends = size - 2 - small_world_links
        self._draw = draw
        self._random = rng
        self._places = self._random_places()
        self._ratings = Ratings(space, identifier)

    def select(self, own: Profile, candidates: Sightings, kept: i64) -> dict[str, list[int]]:
        """Return the places of the selected candidates by kind of link.

        The first `kept` are neighbours now.
        """
        chosen: dict[str, list[int]] = {SUCCESSOR: [], PREDECESSOR: [], SMALL_WORLD: [], FRIEND: []}
        if not len(candidates):
            return chosen
        rated = self._rate(own, candidates, kept)
        clockwise = rated.clockwise
        successor: i64 = 0
        predecessor: i64 = 0
        place: i64
        for place in range(len(clockwise)):
            if clockwise[place] < clockwise[successor]:
                successor = place
            if clockwise[place] > clockwise[predecessor]:
                predecessor = place
        chosen[SUCCESSOR].append(rated.take(successor))
        if predecessor != successor:
            chosen[PREDECESSOR].append(rated.take(predecessor))
            gap = (clockwise[successor] + (RING_UNITS - clockwise[predecessor])) // 2
            chosen[SMALL_WORLD] = self._select_small_world(rated, max(1, min(gap, RING_UNITS // 4)))
            chosen[FRIEND] = self._select_friends(rated)
        return chosen

    def _rate(self, own: Profile, candidates: Sightings, kept: i64) -> _Rated:
        ratings = self._ratings
        anew = self._draw == "anew"
        # The order differs from peer to peer; otherwise all peers would choose the same few as friends.
        rated = _Rated(0 if anew else kept)
        for profile in candidates.profiles:
            row = ratings.row(own, profile)
            order = i64(self._random.getrandbits(32)) if anew else ratings.order(row)
            rated.add(ratings.clockwise(row), ratings.utility(row), order)
        return rated

    def _select_friends(self, rated: _Rated) -> list[int]:
        """Return the peers of the highest utility (lines 11 to 15), the best first."""
        best = vec[i64]()
        candidate: i64
        for candidate in range(len(rated.taken)):
            if rated.taken[candidate]:
                continue
            place: i64 = len(best)
            if place < self._friends:
                best = append(best, candidate)
            elif place == 0 or not rated.outranks(candidate, best[place - 1]):
                continue
            else:
                place -= 1
            while place > 0 and rated.outranks(candidate, best[place - 1]):
                best[place] = best[place - 1]
                place -= 1
            best[place] = candidate
        return [int(friend) for friend in best]

    def _select_small_world(self, rated: _Rated, gap: i64) -> list[int]:
        """Return the small-world links (line 8); `gap` is 1/n of the ring."""
        if self._draw == "candidates":
            return self._drawn_from_candidates(rated)
        if self._draw == "anew":
            self._places = self._random_places()
        selected: list[int] = []
        # These are floats because compiled code would round quotients of large whole numbers differently.
        least = float(gap)
        spread = math.log(float(RING_UNITS // 2) / least)
        for reach, is_clockwise in self._places:
            drawn = i64(least * math.exp(spread * reach))
            nearest = rated.nearest(drawn if is_clockwise else RING_UNITS - drawn)
            if nearest < 0:
                break
            selected.append(rated.take(nearest))
        return selected

    def _random_places(self) -> list[tuple[float, bool]]:
        """Draw for each link its reach (0: a ring neighbour, 1: half round the ring) and its side."""
        draw = self._random.random
        return [(draw(), draw() < 0.5) for _ in range(self._small_world_links)]

    def _drawn_from_candidates(self, rated: _Rated) -> list[int]:
        selected: list[int] = []
        rest = sorted(rated.left(), key=lambda place: rated.clockwise[place])
        for _ in range(min(self._small_world_links, len(rest))):
            distances = [int(rated.clockwise[place]) for place in rest]
            weights = [1 / float(max(1, min(each, int(RING_UNITS) - each))) for each in distances]
            (index,) = self._random.choices(range(len(rest)), weights)
            selected.append(rated.take(rest.pop(index)))
        return selected
