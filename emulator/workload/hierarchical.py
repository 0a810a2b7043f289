"""HIERARCHICAL-TOPICS (Magnet, section 4.4): preferential attachment over a tree of topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 256
"""The number of draws that see the same popularities: one in a hundred at first, far fewer soon."""


def draw_hierarchical(
    peers: int,
    height: int,
    per_peer: float,
    initial: float,
    alpha: float,
    homophily: float,
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the peer and the topic of each subscription. The 2 ** `height` topics are the leaves of a binary
    tree.

    At first there are `initial` * `per_peer` topics a peer: one random peer for each topic, then random peers
    for topics of which the one of rank r is drawn with a probability proportional to r ** (1 / (1 - alpha)),
    so that popularities follow a power law of exponent `alpha`. If there are more topics than `initial` asks
    for, each has its one peer all the same, and these draws are left out.

    Then, until a peer has `per_peer` topics on average: a topic is drawn by its popularity, and one of its
    subscribers, which subscribes to a topic whose nearest common ancestor is x levels up, with a probability
    proportional to exp(-`homophily` * x).
    """
    topics = 1 << height
    target = min(round(per_peer * peers), peers * topics)
    held = _Held(topics, target)
    held.add(random.integers(peers, size=topics), np.arange(topics))
    rank = random.permutation(topics)
    cumulative = np.cumsum(np.power(np.arange(1.0, topics + 1), 1 / (1 - alpha)))
    begun = min(target, round(initial * per_peer * peers))
    while held.count < begun:
        some = min(_AT_ONCE, begun - held.count)
        drawn = np.searchsorted(cumulative, random.random(some) * cumulative[-1], side="right")
        held.add(random.integers(peers, size=some), rank[drawn])
    levels = np.cumsum(np.exp(-homophily * np.arange(1, height + 1)))
    while held.count < target:
        # A uniformly drawn subscription is a topic drawn by popularity together with one of its subscribers.
        which = random.integers(held.count, size=_AT_ONCE)
        up = np.searchsorted(levels, random.random(_AT_ONCE) * levels[-1], side="right")
        sibling = ((held.topic[which] >> up) ^ 1) << up
        held.add(held.peer[which], sibling + (random.random(_AT_ONCE) * (1 << up)).astype(np.int64))
    return held.peer.astype(np.int32), held.topic.astype(np.int32)


class _Held:
    """Subscriptions, each once, in the order in which they were made."""

    def __init__(self, topics: int, target: int) -> None:
        """Keep no more than `target` subscriptions."""
        self.count = 0
        self.peer = np.zeros(target, dtype=np.int64)
        self.topic = np.zeros(target, dtype=np.int64)
        self._topics = topics
        self._taken: set[int] = set()

    def add(self, peers: NDArray[np.int64], topics: NDArray[np.int64]) -> None:
        """Make the subscriptions among these that are new."""
        taken = self._taken
        for pair in (peers * self._topics + topics).tolist():
            if pair not in taken and self.count < len(self.peer):
                taken.add(pair)
                self.peer[self.count], self.topic[self.count] = divmod(pair, self._topics)
                self.count += 1
