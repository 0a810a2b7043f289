"""HIERARCHICAL-TOPICS (Magnet, section 4.4): preferential attachment over a tree of topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 256
"""The number of draws that see the same popularities: one in a hundred at first, far fewer soon."""
_MOST_DRAWS = 200
"""The most draws for each subscription, after the first million."""


def most_that_can_be(peers: int, height: int, per_peer: float, initial: float) -> int:
    """Return how many subscriptions there can be: all topics, for the peers that have one at first.

    Peers without a topic at first get none later, because a later one comes to a peer that has another.
    """
    topics = 1 << height
    at_first = max(topics, round(initial * per_peer * peers))
    return min(at_first, peers) * topics


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
    proportional to exp(-`homophily` * x). Raises ValueError if there cannot be so many, or if they are too
    improbable to be found.
    """
    topics = 1 << height
    target = round(per_peer * peers)
    if target > (most := most_that_can_be(peers, height, per_peer, initial)):
        raise ValueError(f"{target:,} subscriptions, of {most:,} that there can be")
    held = _Held(topics, target)
    held.add(random.integers(peers, size=topics), np.arange(topics))
    rank = random.permutation(topics)
    cumulative = np.cumsum(np.power(np.arange(1.0, topics + 1), 1 / (1 - alpha)))
    begun = min(target, round(initial * per_peer * peers))
    while held.count < begun:
        some = held.next_draws(begun, "raise workload.subscriptions.alpha, or lower initial")
        drawn = np.searchsorted(cumulative, random.random(some) * cumulative[-1], side="right")
        held.add(random.integers(peers, size=some), rank[drawn])
    levels = np.cumsum(np.exp(-homophily * np.arange(1, height + 1)))
    while held.count < target:
        held.next_draws(target, "lower workload.subscriptions.homophily or per_peer, or raise initial")
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
        self._left = 1_000_000 + _MOST_DRAWS * target

    def next_draws(self, wanted: int, mend: str) -> int:
        """Return how many draws come next, until there are `wanted` subscriptions.

        Raises ValueError, with the key to change, once there were too many draws.
        """
        some = min(_AT_ONCE, wanted - self.count)
        self._left -= some
        if self._left < 0:
            missing = wanted - self.count
            raise ValueError(
                f"{missing:,} of {wanted:,} subscriptions are too improbable to be found: {mend}"
            )
        return some

    def add(self, peers: NDArray[np.int64], topics: NDArray[np.int64]) -> None:
        """Make the subscriptions among these that are new."""
        taken = self._taken
        for pair in (peers * self._topics + topics).tolist():
            if pair not in taken and self.count < len(self.peer):
                taken.add(pair)
                self.peer[self.count], self.topic[self.count] = divmod(pair, self._topics)
                self.count += 1
