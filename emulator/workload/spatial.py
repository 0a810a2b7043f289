"""SPATIAL interests (Magnet, section 4.3; after Wong, Katz, McCanne, INFOCOM 2000)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS = 500


def draw_spatial(
    peers: int, per_peer: float, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the peer and the topic of each subscription: who is interested in whom, on the unit square.

    Peers stand anywhere on it with the same probability; topic t is what peer t publishes. The radius is the
    one that gives `per_peer` topics on average, including a peer's own.
    """
    place = random.random((peers, 2))
    pairs = min(round((per_peer - 1) * peers / 2), peers * (peers - 1) // 2)
    reach = min(2.0, 2.0 * np.sqrt(per_peer / (np.pi * peers)))
    near = _within(place, reach)
    while len(near[2]) < pairs:  # at a reach of 2, all are near
        reach *= 2
        near = _within(place, reach)
    kept = np.argsort(near[2], kind="stable")[:pairs]
    one, other = near[0][kept], near[1][kept]
    own = np.arange(peers)
    peer, topic = np.concatenate([own, one, other]), np.concatenate([own, other, one])
    return peer.astype(np.int32), topic.astype(np.int32)


def _within(
    place: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs, each once, that are at most `reach` apart, and their distances."""
    ones, others, distances = [], [], []
    for first in range(0, len(place), _ROWS):
        some = place[first : first + _ROWS]
        apart = np.hypot(*(some[:, None, axis] - place[None, :, axis] for axis in (0, 1)))
        one, other = np.nonzero(apart <= reach)
        later = other > one + first
        ones.append(one[later] + first)
        others.append(other[later])
        distances.append(apart[one[later], other[later]])
    return np.concatenate(ones), np.concatenate(others), np.concatenate(distances)
