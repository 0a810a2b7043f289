"""Changes of interests: peers give up topics for others while they are up."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from emulator.workload.subscriptions import Subscriptions

_TRIES = 100_000
"""The most draws of a topic that the peer never held; then it gets the first one."""


def replace_topics(
    held: Subscriptions,
    share: float,
    bucket: int,
    topics_are_peers: bool,
    window: tuple[float, float],
    random: Random,
) -> Subscriptions:
    """Return `held` with this share of each peer's topics replaced, each at a random time of `window` (s).

    The new topic comes from the old one's bucket (topics 0 to `bucket` - 1 are the first), so that the
    correlation between peers stays. It is one that the peer never held, nor its own number if topics are
    peers. A share that is not a whole number of topics is rounded up or down at random. If a bucket has no
    such topic, the old one is kept.
    """
    end = held.end.copy()
    added: list[tuple[int, int, float, float]] = []
    topics = held.topic.tolist()
    first = np.searchsorted(held.peer, np.arange(held.peer.max(initial=-1) + 2)).tolist()
    for peer, (begin, stop) in enumerate(pairwise(first)):
        taken = set(topics[begin:stop])
        if topics_are_peers:
            taken.add(peer)
        used = Counter(topic // bucket for topic in taken)
        rows = range(begin, stop)
        for row in random.sample(rows, min(len(rows), int(share * len(rows) + random.random()))):
            number = topics[row] // bucket
            if used[number] >= bucket:
                continue
            new = topics[row]
            for _ in range(_TRIES):
                if new not in taken:
                    break
                new = number * bucket + random.randrange(bucket)
            else:
                new = next(
                    topic for topic in range(number * bucket, (number + 1) * bucket) if topic not in taken
                )
            taken.add(new)
            used[number] += 1
            at = random.uniform(*window)
            added.append((peer, new, at, float(held.end[row])))
            end[row] = at
    return _merged(held, end, added)


def _merged(
    held: Subscriptions, end: NDArray[np.float64], added: list[tuple[int, int, float, float]]
) -> Subscriptions:
    table = np.array(added, dtype=np.float64).reshape(-1, 4)
    peer = np.concatenate([held.peer, table[:, 0].astype(np.int32)])
    topic = np.concatenate([held.topic, table[:, 1].astype(np.int32)])
    start = np.concatenate([held.start, table[:, 2]])
    order = np.lexsort((start, topic, peer))
    ends = np.concatenate([end, table[:, 3]])
    return Subscriptions(held.topics, peer[order], topic[order], start[order], ends[order])
