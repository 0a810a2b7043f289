"""Nested medians and the partitions between them (Magnet, section 2.2, rules a to d; OSCAR, ICDE 2007)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from trellis.v1.overlay import Contact, Profile

_TRIES: Final = 60
"""The draws of a partition after which a peer concludes that all candidates are used up."""


class Candidate:
    """A peer at which a walk ended, or a successor."""

    __slots__ = ("contact", "incoming", "profile")

    def __init__(self, contact: Contact, incoming: int, profile: Profile | None) -> None:
        self.contact = contact
        self.incoming = incoming
        """The number of long links to the peer, when it was asked."""
        self.profile = profile


class Partitions:
    """The candidates by partition. The first partition is X1, the far half of the ring."""

    def __init__(self) -> None:
        self._of: list[list[Candidate]] = []
        self._medians: list[int] = []
        """The distances to the medians. Each median is the near end of its partition and belongs to it."""

    def __len__(self) -> int:
        return len(self._of)

    def split(self, found: Sequence[tuple[int, Candidate]]) -> int:
        """Cut at the median of a sample and return it; what lies beyond becomes the next partition.

        `found` has the distance (clockwise, from the peer that samples) to each candidate; it is not empty.
        """
        ordered = sorted(found, key=lambda pair: pair[0])
        median = ordered[len(ordered) // 2][0]
        different = {pair[1].contact.peer: pair[1] for pair in ordered if pair[0] >= median}
        self._of.append(list(different.values()))
        self._medians.append(median)
        return median

    def number_of(self, offset: int) -> int:
        """Return the partition of a peer at this distance; -1 if it is nearer than the last median."""
        for number, median in enumerate(self._medians):
            if offset >= median:
                return number
        return -1

    def sizes(self) -> list[int]:
        """Return the number of candidates in each partition."""
        return [len(candidates) for candidates in self._of]

    def draw(self, rng: random.Random) -> Candidate | None:
        """Return a peer in a partition, both chosen uniformly; None if there is none."""
        for _ in range(_TRIES):
            candidate = self.draw_from(rng.randrange(len(self._of)), rng) if self._of else None
            if candidate is not None:
                return candidate
        return None

    def draw_from(self, number: int, rng: random.Random) -> Candidate | None:
        """Draw the less loaded of two peers of the partition.

        It is not drawn again; None if all were drawn.
        """
        partition = self._of[number]
        if not partition:
            return None
        one = _take(partition, rng)
        if partition:
            other = _take(partition, rng)
            spare = other
            if other.incoming < one.incoming:
                one, spare = other, one
            partition.append(spare)
        return one

    def draw_each(self, rng: random.Random) -> list[tuple[int, Candidate]]:
        """Draw two peers, each from a drawn partition; return them with the partitions' numbers."""
        drawn = []
        for _ in range(2):
            for _ in range(_TRIES):
                if not self._of:
                    break
                number = rng.randrange(len(self._of))
                if self._of[number]:
                    drawn.append((number, _take(self._of[number], rng)))
                    break
        return drawn

    def put_back(self, number: int, candidate: Candidate) -> None:
        """Let the candidate be drawn again."""
        self._of[number].append(candidate)


def _take(candidates: list[Candidate], rng: random.Random) -> Candidate:
    place = rng.randrange(len(candidates))
    candidates[place], candidates[-1] = candidates[-1], candidates[place]
    return candidates.pop()
