"""Subscriptions drawn from buckets of topics (Vitis, section IV.A; after Wong et al.)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_pattern(
    peers: int, buckets: int, size: int, chosen: int, each: int, random: np.random.Generator
) -> NDArray[np.int32]:
    """Return the topics of each peer, sorted in each row, all distinct in a row.

    A peer has `chosen` of the `buckets`, which have `size` topics, and `each` topics from every one of them.
    """
    numbers = distinct(peers, buckets, chosen, random)
    within = distinct(peers * chosen, size, each, random)
    topics = numbers.reshape(-1, 1) * size + within
    return np.sort(topics.reshape(peers, chosen * each), axis=1).astype(np.int32)


def distinct(rows: int, choices: int, size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return in each row `size` distinct numbers below `choices`, every set equally likely (Floyd's method).

    The order within a row is not random.
    """
    drawn = np.empty((rows, size), dtype=np.int64)
    for column, last in enumerate(range(choices - size, choices)):
        pick = random.integers(0, last, size=rows, endpoint=True)
        taken = (drawn[:, :column] == pick[:, None]).any(axis=1)
        drawn[:, column] = np.where(taken, last, pick)
    return drawn
