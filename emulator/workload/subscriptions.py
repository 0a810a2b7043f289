"""Subscriptions of a trial: who asks for which topic, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Rows sorted by peer, topic and start; times in seconds of trial time."""

    topics: int
    """Topics are 0 to `topics` - 1, subscribed to or not."""
    peer: NDArray[np.int32]
    topic: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


def held_throughout(
    topics: int, peer: NDArray[np.int32], topic: NDArray[np.int32], trial_end: float
) -> Subscriptions:
    """Subscriptions that are kept from the first join to the trial's end."""
    order = np.lexsort((topic, peer))
    start, end = np.zeros(len(peer)), np.full(len(peer), trial_end)
    return Subscriptions(topics, peer[order].astype(np.int32), topic[order].astype(np.int32), start, end)
