"""Vitis's Algorithm 4, which selects neighbours among the known peers.

A peer selects its successor and predecessor on the ring, small-world links, and for the rest the peers with
the highest utility.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.contract.identifiers import BITS
from emulator.kernels import best, near
from emulator.protocols.gossip.profile_handles import RING_BITS, ProfileHandles
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.ratings import Ratings

RING_UNITS: Final[i64] = 1 << RING_BITS
"""The whole ring in the units of the places of `ProfileHandles`."""
SUCCESSOR: Final = "successor"
PREDECESSOR: Final = "predecessor"
SMALL_WORLD: Final = "small-world"
FRIEND: Final = "friend"


class _Ratings:
    """The values by which friends are chosen, for each candidate by its place.

    One serves all selections of a process, because each is over before the next begins.
    """

    def __init__(self) -> None:
        self.utilities = vec[float]()
        self.orders = vec[i64]()
        """The order among candidates that are equal in all else: the least number comes first."""

    def reserve(self, count: i64) -> None:
        """Make room for so many candidates."""
        while len(self.orders) < count:
            self.utilities = append(self.utilities, 0.0)
            self.orders = append(self.orders, i64(0))


_RATED: Final = _Ratings()
_NO_LINKS: Final = vec[float]()


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
        self._reaches = self._random_reaches()
        self._ratings = Ratings(profiles)
        self.chosen: list[int] = []
        """The places of the candidates that the last selection chose: the successor, the predecessor, the
        small-world links and the friends."""
        self.small_world = 0
        """The number of small-world links among them."""

    def select(self, own: i64, candidates: Sightings, kept: i64) -> None:
        """Choose among the candidates, of which the first `kept` are neighbours now.

        `own` is the handle of this peer's profile.
        """
        self.chosen = []
        self.small_world = 0
        anew = self._draw == "anew"
        if self._friends or anew:
            self._rate(own, candidates, anew)
        chosen = self._near(candidates, self._reaches if self._draw == "distance" else _NO_LINKS)
        if len(chosen) > 1:
            if anew:
                self._reaches = self._random_reaches()
                chosen = self._near(candidates, self._reaches)
            elif self._draw == "candidates":
                chosen += self._drawn_from(candidates, chosen)
            self.small_world = len(chosen) - 2
            if self._friends:
                rated, count, first = _RATED, int(candidates.count), 0 if anew else int(kept)
                chosen += best(rated.utilities, rated.orders, count, first, chosen, self._friends)
        self.chosen = chosen

    def _near(self, candidates: Sightings, reaches: vec[float]) -> list[int]:
        """Choose the successor, the predecessor and a small-world link for each reach (lines 5 to 8)."""
        here, places = int(self._here), self._profiles.places
        return near(candidates.handles, int(candidates.count), places, here, reaches)

    def _rate(self, own: i64, candidates: Sightings, anew: bool) -> None:
        """Rate the candidates as friends."""
        rated, ratings, here = _RATED, self._ratings, self._here
        rated.reserve(candidates.count)
        ratings.begin(own)
        utilities, orders = rated.utilities, rated.orders
        handles, places = candidates.handles, self._profiles.places
        place: i64
        for place in range(candidates.count):
            handle = handles[place]
            utilities[place] = ratings.utility(handle)
            # The order differs from peer to peer; otherwise all peers would choose the same few as friends.
            orders[place] = i64(self._random.getrandbits(32)) if anew else places[handle] ^ here

    def _random_reaches(self) -> vec[float]:
        """Draw for each link its reach (0: a ring neighbour, 1: half round the ring) and its side, which is
        the sign."""
        draw = self._random.random
        reaches = vec[float]()
        for _ in range(self._small_world_links):
            reach = draw()
            reaches = append(reaches, reach if draw() < 0.5 else -reach)
        return reaches

    def _drawn_from(self, candidates: Sightings, chosen: list[int]) -> list[int]:
        """Draw small-world links among the candidates that are not chosen yet."""
        handles, places, here = candidates.handles, self._profiles.places, self._here
        away = {
            place: int((places[handles[i64(place)]] - here) & (RING_UNITS - 1))
            for place in range(int(candidates.count))
            if place not in chosen
        }
        rest = sorted(away, key=lambda place: away[place])
        drawn: list[int] = []
        for _ in range(min(self._small_world_links, len(rest))):
            weights = [1 / float(max(1, min(away[place], int(RING_UNITS) - away[place]))) for place in rest]
            (index,) = self._random.choices(range(len(rest)), weights)
            drawn.append(rest.pop(index))
        return drawn


def by_kind(chosen: Sequence[int], small_world: int) -> dict[str, list[int]]:
    """Return what was chosen, in the order of `NeighbourSelection.chosen`, by kind of link."""
    friends = 2 + small_world
    return {
        SUCCESSOR: list(chosen[:1]),
        PREDECESSOR: list(chosen[1:2]),
        SMALL_WORLD: list(chosen[2:friends]),
        FRIEND: list(chosen[friends:]),
    }
