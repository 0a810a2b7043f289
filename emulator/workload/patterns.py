"""Subscriptions drawn from buckets of topics (Vitis, section IV.A; after Wong et al.)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.workload.spec import BucketPattern

_BUCKETS_A_PEER = {"random": 1, "low": 5, "high": 2}


def bucket_size(pattern: BucketPattern) -> int:
    """Topics in a bucket: all of them if the pattern is `random`."""
    return pattern.topics if pattern.kind == "random" else pattern.topics // pattern.buckets


def topics_in_bucket(pattern: BucketPattern) -> int:
    """Topics that a peer has from each of its buckets."""
    return pattern.per_peer // _BUCKETS_A_PEER[pattern.kind]


def pattern_problems(pattern: BucketPattern) -> list[tuple[str, str]]:
    """Key below `workload.subscriptions` and problem, for each combination that cannot be drawn."""
    buckets = _BUCKETS_A_PEER[pattern.kind]
    if buckets > 1 and pattern.buckets < buckets:
        return [
            (
                "buckets",
                f"{pattern.buckets}, but with {pattern.kind} correlation a peer has {buckets} buckets",
            )
        ]
    if buckets > 1 and pattern.topics % pattern.buckets:
        return [("buckets", f"{pattern.topics} topics do not divide into {pattern.buckets} equal buckets")]
    if pattern.per_peer % buckets:
        return [("per_peer", f"{pattern.per_peer} topics do not divide into a peer's {buckets} buckets")]
    each, size = topics_in_bucket(pattern), bucket_size(pattern)
    if each > size:
        problem = f"{each} topics from each of a peer's {buckets} bucket(s), but a bucket has only {size}"
        return [("per_peer", problem)]
    return []


def draw_pattern(pattern: BucketPattern, peers: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Topics of each peer, peers x per_peer, sorted in each row, all distinct in a row."""
    buckets, size = _BUCKETS_A_PEER[pattern.kind], bucket_size(pattern)
    each = topics_in_bucket(pattern)
    chosen = distinct(peers, pattern.topics // size, buckets, random)
    within = distinct(peers * buckets, size, each, random)
    topics = chosen.reshape(-1, 1) * size + within
    return np.sort(topics.reshape(peers, pattern.per_peer), axis=1).astype(np.int32)


def distinct(rows: int, choices: int, size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """In each row `size` distinct numbers below `choices`, every set equally likely (Floyd's method).

    The order within a row is not random.
    """
    drawn = np.empty((rows, size), dtype=np.int64)
    for column, last in enumerate(range(choices - size, choices)):
        pick = random.integers(0, last, size=rows, endpoint=True)
        taken = (drawn[:, :column] == pick[:, None]).any(axis=1)
        drawn[:, column] = np.where(taken, last, pick)
    return drawn
