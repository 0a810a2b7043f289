"""Vitis's Algorithm 4, which selects neighbours among the known peers.

A peer selects its successor and predecessor on the ring, small-world links, and for the rest the peers with
the highest utility.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.contract.identifiers import BITS
from emulator.protocols.gossip.profile_handles import RING_BITS, ProfileHandles
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.ratings import Ratings

SUCCESSOR: Final = "successor"
PREDECESSOR: Final = "predecessor"
SMALL_WORLD: Final = "small-world"
FRIEND: Final = "friend"


RING_UNITS: Final[i64] = 1 << RING_BITS
"""The whole ring in the units of the places of `ProfileHandles`."""


class _Rated:
    """The candidates by their places, with the values by which they are selected.

    One serves all selections of a process, because each is over before the next begins.
    """

    def __init__(self) -> None:
        self.count: i64 = 0
        self.kept: i64 = 0
        """The number of candidates, from the first on, that are neighbours now and are preferred among
        equals."""
        self.clockwise = vec[i64]()
        """The clockwise distances from the peer that selects, in units of `RING_UNITS`."""
        self.utilities = vec[float]()
        self.orders = vec[i64]()
        """The order among candidates that are equal in all else: the least number comes first."""
        self.taken = vec[i64]()
        """The flags of candidates that are selected already, 1 or 0."""

    def begin(self, kept: i64) -> None:
        """Forget the candidates of the last selection."""
        self.count = 0
        self.kept = kept

    def add(self, clockwise: i64, utility: float, order: i64) -> None:
        place = self.count
        if place == len(self.orders):
            self.clockwise = append(self.clockwise, clockwise)
            self.utilities = append(self.utilities, utility)
            self.orders = append(self.orders, order)
            self.taken = append(self.taken, i64(0))
        else:
            self.clockwise[place] = clockwise
            self.utilities[place] = utility
            self.orders[place] = order
            self.taken[place] = 0
        self.count = place + 1

    def left(self) -> list[int]:
        """Return the places of candidates that are not selected yet."""
        return [place for place in range(int(self.count)) if not self.taken[i64(place)]]

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
        clockwise, taken = self.clockwise, self.taken
        place: i64
        for place in range(self.count):
            if not taken[place]:
                away = clockwise[place] - target
                if away < 0:
                    away = -away
                if away < distance:
                    best, distance = place, away
        return best


_RATED: Final = _Rated()


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
        profiles: ProfileHandles,
        identifier: int,
        size: int,
        small_world_links: int,
        draw: str,
        rng: random.Random,
    ) -> None:
        """`identifier` is that of the peer that selects; `draw` is one of the three ways."""
        self._profiles = profiles
        self._here = i64(identifier >> (BITS - RING_BITS))
        self._small_world_links = small_world_links
        self._friends = size - 2 - small_world_links
        self._draw = draw
        self._random = rng
        self._places = self._random_places()
        self._ratings = Ratings(profiles)
        self.chosen = vec[i64]()
        """The places of the candidates that the last selection chose: the successor, the predecessor, the
        small-world links and the friends."""
        self.small_world: i64 = 0
        """The number of small-world links among them."""

    def select(self, own: i64, candidates: Sightings, kept: i64) -> None:
        """Choose among the candidates, of which the first `kept` are neighbours now.

        `own` is the handle of this peer's profile.
        """
        self.chosen = vec[i64](capacity=2 + self._small_world_links + self._friends)
        self.small_world = 0
        if not candidates.count:
            return
        rated = self._rate(own, candidates, kept)
        clockwise = rated.clockwise
        successor: i64 = 0
        predecessor: i64 = 0
        place: i64
        for place in range(rated.count):
            if clockwise[place] < clockwise[successor]:
                successor = place
            if clockwise[place] > clockwise[predecessor]:
                predecessor = place
        self._take(rated, successor)
        if predecessor != successor:
            self._take(rated, predecessor)
            gap = (clockwise[successor] + (RING_UNITS - clockwise[predecessor])) // 2
            self._select_small_world(rated, max(1, min(gap, RING_UNITS // 4)))
            self._select_friends(rated)

    def _take(self, rated: _Rated, place: i64) -> None:
        rated.taken[place] = 1
        self.chosen = append(self.chosen, place)

    def _rate(self, own: i64, candidates: Sightings, kept: i64) -> _Rated:
        anew = self._draw == "anew"
        # The order differs from peer to peer; otherwise all peers would choose the same few as friends.
        rated, profiles, ratings, here = _RATED, self._profiles, self._ratings, self._here
        rated.begin(0 if anew else kept)
        ratings.begin(own)
        handles, places = candidates.handles, profiles.places
        place: i64
        for place in range(candidates.count):
            handle = handles[place]
            theirs = places[handle]
            order = i64(self._random.getrandbits(32)) if anew else theirs ^ here
            rated.add((theirs - here) & (RING_UNITS - 1), ratings.utility(handle), order)
        return rated

    def _select_friends(self, rated: _Rated) -> None:
        """Choose the peers of the highest utility (lines 11 to 15), the best first."""
        begin: i64 = len(self.chosen)
        most: i64 = begin + self._friends
        best = self.chosen
        candidate: i64
        for candidate in range(rated.count):
            if rated.taken[candidate]:
                continue
            place: i64 = len(best)
            if place < most:
                best = append(best, candidate)
            elif place == begin or not rated.outranks(candidate, best[place - 1]):
                continue
            else:
                place -= 1
            while place > begin and rated.outranks(candidate, best[place - 1]):
                best[place] = best[place - 1]
                place -= 1
            best[place] = candidate
        self.chosen = best

    def _select_small_world(self, rated: _Rated, gap: i64) -> None:
        """Choose the small-world links (line 8); `gap` is 1/n of the ring."""
        before: i64 = len(self.chosen)
        if self._draw == "candidates":
            self._draw_from_candidates(rated)
        else:
            if self._draw == "anew":
                self._places = self._random_places()
            # These are floats because compiled code would round quotients of large whole numbers differently.
            least = float(gap)
            spread = math.log(float(RING_UNITS // 2) / least)
            for reach, is_clockwise in self._places:
                drawn = i64(least * math.exp(spread * reach))
                nearest = rated.nearest(drawn if is_clockwise else RING_UNITS - drawn)
                if nearest < 0:
                    break
                self._take(rated, nearest)
        self.small_world = len(self.chosen) - before

    def _random_places(self) -> list[tuple[float, bool]]:
        """Draw for each link its reach (0: a ring neighbour, 1: half round the ring) and its side."""
        draw = self._random.random
        return [(draw(), draw() < 0.5) for _ in range(self._small_world_links)]

    def _draw_from_candidates(self, rated: _Rated) -> None:
        rest = sorted(rated.left(), key=lambda place: rated.clockwise[i64(place)])
        for _ in range(min(self._small_world_links, len(rest))):
            distances = [int(rated.clockwise[i64(place)]) for place in rest]
            weights = [1 / float(max(1, min(each, int(RING_UNITS) - each))) for each in distances]
            (index,) = self._random.choices(range(len(rest)), weights)
            self._take(rated, i64(rest.pop(index)))


def by_kind(chosen: Sequence[int], small_world: int) -> dict[str, list[int]]:
    """Return what was chosen, in the order of `NeighbourSelection.chosen`, by kind of link."""
    friends = 2 + small_world
    return {
        SUCCESSOR: list(chosen[:1]),
        PREDECESSOR: list(chosen[1:2]),
        SMALL_WORLD: list(chosen[2:friends]),
        FRIEND: list(chosen[friends:]),
    }
