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

from emulator.kernels import best, near
from emulator.protocols.gossip.profile_handles import RING_BITS, ProfileHandles, place_of
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.ratings import Ratings

RING_UNITS: Final[i64] = 1 << RING_BITS
"""The whole ring in the units of the places of `ProfileHandles`."""
SUCCESSOR: Final = "successor"
PREDECESSOR: Final = "predecessor"
SMALL_WORLD: Final = "small-world"
FRIEND: Final = "friend"


_REMEMBERED: Final = 256
"""The slots for the utilities that a peer remembers; a selection has some 90 candidates."""
_RATINGS: Final = Ratings()
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
        self._here = place_of(identifier)
        self._small_world_links = small_world_links
        self._friends = size - 2 - small_world_links
        self._draw = draw
        self._random = rng
        self._reaches = self._random_reaches()
        self._known = vec[i64]()
        """The utilities of candidates of former selections, as the kernel remembers them."""
        self._rated_for: i64 = -1
        """The handle for which these were rated."""
        self._sweeps = -1
        """The number of times that handles had been freed."""
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
        orders = self._random_orders(int(candidates.count)) if self._draw == "anew" else None
        chosen = self._near(candidates, self._reaches if self._draw == "distance" else _NO_LINKS)
        if len(chosen) > 1:
            if self._draw == "anew":
                self._reaches = self._random_reaches()
                chosen = self._near(candidates, self._reaches)
            elif self._draw == "candidates":
                chosen += self._drawn_from(candidates, chosen)
            self.small_world = len(chosen) - 2
            if self._friends:
                chosen += self._best(own, candidates, kept, chosen, orders)
        self.chosen = chosen

    def _near(self, candidates: Sightings, reaches: vec[float]) -> list[int]:
        """Choose the successor, the predecessor and a small-world link for each reach (lines 5 to 8)."""
        here, places = int(self._here), self._profiles.places
        return near(candidates.handles, int(candidates.count), places, here, reaches)

    def _best(
        self, own: i64, candidates: Sightings, kept: i64, taken: list[int], orders: vec[i64] | None
    ) -> list[int]:
        """Choose the friends among the candidates that are not taken (lines 11 to 15)."""
        count, most = int(candidates.count), self._friends
        if own != self._rated_for or self._sweeps != self._profiles.sweeps:
            self._rated_for, self._sweeps = own, self._profiles.sweeps
            self._known = vec[i64]([i64(0)] * _REMEMBERED)
        _RATINGS.rate(int(own), candidates, self._profiles, self._known)
        rated = _RATINGS.utilities
        if orders is not None:
            return best(
                rated, vec[i64]([i64(place) for place in range(count)]), count, orders, 0, 0, taken, most
            )
        here, places = int(self._here), self._profiles.places
        return best(rated, candidates.handles, count, places, here, int(kept), taken, most)

    def _random_orders(self, count: int) -> vec[i64]:
        """Draw the order among candidates that are equal in all else."""
        draw = self._random.getrandbits
        return vec[i64]([i64(draw(32)) for _ in range(count)])

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
