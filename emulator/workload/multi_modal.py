"""MULTI-MODAL interests (Magnet, section 4.2; after Wong, Katz, McCanne, INFOCOM 2000)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.workload.patterns import distinct

_MOST_SWEEPS = 100_000
_MOST_DRAWS = 2000
"""The most draws for each subscription, after the first million."""


def draw_multi_modal(
    peers: int,
    topics: int,
    categories: int,
    chosen: int,
    alpha: float,
    per_peer: float,
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the peer and the topic of each subscription, sorted by both.

    A peer has `chosen` of the categories, which are equal parts of the topics. In each sweep every peer draws
    a topic: one of its categories uniformly, and in it the topic of rank r with a probability proportional to
    r ** -alpha. A topic that the peer has already adds nothing. The sweeps end with the first that brings the
    mean to `per_peer` different topics, in which only so many peers draw as are needed. Raises ValueError if
    the categories do not have that many topics, or the last ones are too unpopular to be found.
    """
    size = topics // categories
    if per_peer > chosen * size:
        raise ValueError(f"{per_peer:g} topics a peer, but its {chosen} categories have {chosen * size}")
    own = distinct(peers, categories, chosen, random)
    weight = np.power(np.arange(1, size + 1, dtype=np.float64), -alpha)
    cumulative = np.cumsum(weight) / weight.sum()
    held = np.zeros((peers, topics), dtype=np.bool_)
    missing = wanted = round(per_peer * peers)
    sweeps = min(_MOST_SWEEPS, (1_000_000 + _MOST_DRAWS * wanted) // peers)
    for _ in range(sweeps):
        order = random.permutation(peers)
        category = own[order, random.integers(chosen, size=peers)]
        rank = np.minimum(np.searchsorted(cumulative, random.random(peers), side="right"), size - 1)
        topic = category * size + rank
        new = ~held[order, topic]
        last = np.flatnonzero(np.cumsum(new) <= missing)
        kept = last[new[last]]
        held[order[kept], topic[kept]] = True
        missing -= len(kept)
        if missing == 0:
            break
    else:
        mend = "lower workload.subscriptions.alpha or per_peer"
        raise ValueError(f"{missing:,} of {wanted:,} subscriptions are too improbable to be found: {mend}")
    peer, topic = np.nonzero(held)
    return peer.astype(np.int32), topic.astype(np.int32)
