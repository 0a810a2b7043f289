"""SpiderCast's coverage: a topic is covered K times if K neighbours subscribe to it.

Greedy choice brings topics that are not covered K_g times; random choice brings topics that randomly chosen
neighbours do not cover K_r times. Sets of topics are bit sets.
"""

from __future__ import annotations

from emulator.compact.bit_sets import bits


class Coverage:
    """The number of neighbours that cover each of a peer's topics."""

    def __init__(self, topics: int, wanted: int) -> None:
        """Each of `topics` is to be covered `wanted` times."""
        self._topics = topics
        self._wanted = wanted
        self._count = dict.fromkeys(bits(topics), 0)
        self.lacking = topics if wanted else 0
        """The topics that are covered less often than wanted."""

    def add(self, topics: int) -> None:
        """Add a neighbour with these topics."""
        for topic in bits(topics & self._topics):
            self._count[topic] += 1
            if self._count[topic] == self._wanted:
                self.lacking ^= 1 << topic

    def remove(self, topics: int) -> None:
        """Remove a neighbour with these topics, which was added before."""
        for topic in bits(topics & self._topics):
            if self._count[topic] == self._wanted:
                self.lacking |= 1 << topic
            self._count[topic] -= 1
