"""HIERARCHICAL-TOPICS (Magnet, section 4.4): preferential attachment over a tree of topics."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 65_536


def draw_hierarchical(
    peers: int,
    height: int,
    per_peer: float,
    initial: float,
    alpha: float,
    homophily: float,
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(peer, topic) of each subscription. The 2 ** `height` topics are the leaves of a binary tree.

    At first there are `initial` * `per_peer` topics a peer: one random peer for each topic, then random peers
    for topics of which the one of rank r is drawn with a probability proportional to r ** (1 / (1 - alpha)),
    so that popularities follow a power law of exponent `alpha`. Then, until a peer has `per_peer` topics on
    average: a topic is drawn by its popularity and one of its subscribers, which subscribes to a topic whose
    nearest common ancestor is x levels up, with a probability proportional to exp(-`homophily` * x).
    """
    topics = 1 << height
    target = min(round(per_peer * peers), peers * topics)
    taken: set[int] = set()
    subscriptions: list[tuple[int, int]] = []

    def add(peer: int, topic: int) -> None:
        if peer * topics + topic not in taken:
            taken.add(peer * topics + topic)
            subscriptions.append((peer, topic))

    rank = random.permutation(topics)
    for topic, peer in enumerate(random.integers(peers, size=topics).tolist()):
        if len(subscriptions) < target:
            add(peer, topic)
    cumulative = np.cumsum(np.power(np.arange(1.0, topics + 1), 1 / (1 - alpha))).tolist()
    begun = min(target, round(initial * per_peer * peers))
    for where, peer in zip(_uniform(random), _uniform(random), strict=True):
        if len(subscriptions) >= begun:
            break
        add(int(peer * peers), int(rank[bisect_right(cumulative, where * cumulative[-1])]))
    levels = np.cumsum(np.exp(-homophily * np.arange(1, height + 1))).tolist()
    for which, level, leaf in zip(_uniform(random), _uniform(random), _uniform(random), strict=True):
        if len(subscriptions) >= target:
            break
        # A uniform subscription is a topic by popularity with one of its subscribers.
        peer, topic = subscriptions[int(which * len(subscriptions))]
        up = bisect_right(levels, level * levels[-1])
        sibling = (topic >> up ^ 1) << up
        add(peer, sibling + int(leaf * (1 << up)))
    held = np.array(subscriptions, dtype=np.int32).reshape(-1, 2)
    return held[:, 0], held[:, 1]


def _uniform(random: np.random.Generator) -> Iterator[float]:
    while True:
        yield from random.random(_AT_ONCE).tolist()
