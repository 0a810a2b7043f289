"""SpiderCast's coverage: a topic is covered K times if K neighbours subscribe to it.

Greedy choice brings topics that are not covered K_g times; random choice those which randomly chosen
neighbours do not cover K_r times. Sets of topics are bit sets.
"""

from __future__ import annotations

from emulator.compact.bit_sets import bits


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
