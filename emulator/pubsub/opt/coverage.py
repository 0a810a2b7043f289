"""SpiderCast's coverage: which known peer is the next neighbour.

A topic is covered K times if K neighbours subscribe to it. Greedy choice takes the peer that brings most of
the topics which are not covered K_g times; random choice takes any peer that brings a topic which randomly
chosen neighbours do not cover K_r times. Sets of topics are bit sets.
"""

from __future__ import annotations

import random
from collections.abc import Collection

from emulator.bit_sets import bits
from trellis.v1.overlay import Profile


class Coverage:
    """How often neighbours cover a peer's topics."""

    def __init__(self, topics: int, wanted: int) -> None:
        """Each of `topics` is to be covered `wanted` times."""
        self._topics = topics
        self._wanted = wanted
        self._count = dict.fromkeys(bits(topics), 0)
        self.lacking = topics if wanted else 0
        """The topics that are covered less often than wanted."""

    def add(self, topics: int) -> None:
        """A neighbour with these topics came."""
        for topic in bits(topics & self._topics):
            self._count[topic] += 1
            if self._count[topic] == self._wanted:
                self.lacking ^= 1 << topic

    def remove(self, topics: int) -> None:
        """A neighbour with these topics, counted before, went."""
        for topic in bits(topics & self._topics):
            if self._count[topic] == self._wanted:
                self.lacking |= 1 << topic
            self._count[topic] -= 1


def choose_greedily(candidates: Collection[Profile], lacking: int, draw: random.Random) -> Profile | None:
    """The candidate with the most of the lacking topics; among equals a random one."""
    best: list[Profile] = []
    most = 1
    for profile in candidates:
        brought = (profile.topics & lacking).bit_count()
        if brought > most:
            best, most = [profile], brought
        elif brought == most:
            best.append(profile)
    return draw.choice(best) if best else None


def choose_randomly(candidates: Collection[Profile], lacking: int, draw: random.Random) -> Profile | None:
    """Any candidate with one of the lacking topics."""
    useful = [profile for profile in candidates if profile.topics & lacking]
    return draw.choice(useful) if useful else None
