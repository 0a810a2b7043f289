"""Vitis's Algorithm 4: which of the known peers become neighbours.

Successor and predecessor on the ring, small-world links, and for the rest the peers with the
highest utility.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Container, Sequence
from typing import Final

from emulator.gossip.sightings import Sighting
from emulator.identifiers import Ring
from emulator.overlays.ratings import RING_UNITS, Ratings
from trellis.v1.overlay import Profile

SUCCESSOR: Final = "successor"
PREDECESSOR: Final = "predecessor"
SMALL_WORLD: Final = "small-world"
FRIEND: Final = "friend"


class _Candidate:
    """A peer that may become a neighbour, and what it is chosen by."""

    __slots__ = ("clockwise", "is_kept", "order", "sighting", "taken", "utility")

    def __init__(self, sighting: Sighting, clockwise: int, utility: float, is_kept: bool, order: int) -> None:
        self.sighting = sighting
        self.clockwise = clockwise
        """The distance from the peer that selects, in units of `RING_UNITS`."""
        self.utility = utility
        self.is_kept = is_kept
        """Whether it is a neighbour now and is preferred for that among equally useful ones."""
        self.order = order
        """Among those that are equal in all else, the least comes first."""
        self.taken = False

    def outranks(self, other: _Candidate) -> bool:
        """Whether it is rather a friend than the other."""
        if self.utility != other.utility:
            return self.utility > other.utility
        if self.is_kept != other.is_kept:
            return self.is_kept
        return self.order < other.order


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
        """`identifier` of the peer that selects; `draw` is one of the three ways."""
        self._small_world_links = small_world_links
        self._friends = size - 2 - small_world_links
        self._draw = draw
        self._random = rng
        self._places = self._random_places()
        self._ratings = Ratings(space, identifier)

    def select(
        self, own: Profile, buffer: Collection[Sighting], current: Container[int]
    ) -> dict[str, list[Sighting]]:
        """The neighbours by kind. `current` are the peers that are neighbours now."""
        chosen: dict[str, list[Sighting]] = {SUCCESSOR: [], PREDECESSOR: [], SMALL_WORLD: [], FRIEND: []}
        candidates = self._candidates(own, buffer, current)
        if not candidates:
            return chosen
        successor = predecessor = candidates[0]
        for candidate in candidates:
            if candidate.clockwise < successor.clockwise:
                successor = candidate
            if candidate.clockwise > predecessor.clockwise:
                predecessor = candidate
        chosen[SUCCESSOR].append(_take(successor))
        if predecessor is not successor:
            chosen[PREDECESSOR].append(_take(predecessor))
            gap = (successor.clockwise + RING_UNITS - predecessor.clockwise) // 2
            chosen[SMALL_WORLD] = self._select_small_world(candidates, max(1, min(gap, RING_UNITS // 4)))
            chosen[FRIEND] = self._select_friends(candidates)
        return chosen

    def _candidates(
        self, own: Profile, buffer: Collection[Sighting], current: Container[int]
    ) -> list[_Candidate]:
        ratings = self._ratings
        anew = self._draw == "anew"
        candidates: list[_Candidate] = []
        for sighting in buffer:
            profile = sighting.profile
            row = ratings.row(own, profile)
            if anew:
                kept, order = False, self._random.getrandbits(32)
            else:
                # The order differs from peer to peer, or all would have the same few as friends.
                kept, order = profile.peer in current, ratings.order(row)
            candidates.append(_Candidate(sighting, ratings.clockwise(row), ratings.utility(row), kept, order))
        return candidates

    def _select_friends(self, candidates: Sequence[_Candidate]) -> list[Sighting]:
        """The peers of the highest utility (lines 11 to 15), the best first."""
        best: list[_Candidate] = []
        for candidate in candidates:
            if candidate.taken:
                continue
            place = len(best)
            if place == self._friends:
                if place == 0 or not candidate.outranks(best[place - 1]):
                    continue
                best.pop()
                place -= 1
            while place > 0 and candidate.outranks(best[place - 1]):
                place -= 1
            best.insert(place, candidate)
        return [friend.sighting for friend in best]

    def _select_small_world(self, candidates: Sequence[_Candidate], gap: int) -> list[Sighting]:
        """The small-world links (line 8); `gap` is 1/n of the ring."""
        if self._draw == "candidates":
            return self._drawn_from_candidates(candidates)
        if self._draw == "anew":
            self._places = self._random_places()
        selected: list[Sighting] = []
        # Floats, because compiled code rounds quotients of large whole numbers otherwise.
        spread = math.log(RING_UNITS // 2 / float(gap))
        for reach, is_clockwise in self._places:
            drawn = int(gap * math.exp(spread * reach))
            nearest = _nearest(candidates, drawn if is_clockwise else RING_UNITS - drawn)
            if nearest is None:
                break
            selected.append(_take(nearest))
        return selected

    def _random_places(self) -> list[tuple[float, bool]]:
        """Draw for each link its reach (0: a ring neighbour, 1: half round the ring) and its side."""
        draw = self._random.random
        return [(draw(), draw() < 0.5) for _ in range(self._small_world_links)]

    def _drawn_from_candidates(self, candidates: Sequence[_Candidate]) -> list[Sighting]:
        selected: list[Sighting] = []
        rest = [candidate for candidate in candidates if not candidate.taken]
        rest.sort(key=lambda candidate: candidate.clockwise)
        for _ in range(min(self._small_world_links, len(rest))):
            weights = [1 / float(max(1, min(c.clockwise, RING_UNITS - c.clockwise))) for c in rest]
            (index,) = self._random.choices(range(len(rest)), weights)
            selected.append(_take(rest.pop(index)))
        return selected


def _take(candidate: _Candidate) -> Sighting:
    candidate.taken = True
    return candidate.sighting


def _nearest(candidates: Sequence[_Candidate], target: int) -> _Candidate | None:
    """The candidate that is left and nearest to a point clockwise from here."""
    best: _Candidate | None = None
    distance = RING_UNITS
    for candidate in candidates:
        if not candidate.taken:
            away = abs(candidate.clockwise - target)
            if away < distance:
                best, distance = candidate, away
    return best
