"""The sessions of a trial, which say when each peer is up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHORTEST = 0.001
"""The least seconds of a session; shorter ones are left out."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Intervals in seconds of trial time, sorted by peer and start; those of a peer never overlap."""

    peer: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    def number(self) -> NDArray[np.int32]:
        """Return the number of each session among those of its peer: 0, 1, ..."""
        first = np.searchsorted(self.peer, self.peer, side="left")
        return (np.arange(len(self.peer)) - first).astype(np.int32)


def fit_to_trial(
    peer: NDArray[np.int32],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    join: float,
    trial_end: float,
    random: np.random.Generator,
) -> Sessions:
    """Clip sessions to the trial, and let peers that are up at trial time 0 join over the join phase.

    Such a peer joins at a uniformly random time of the join phase, or of its first session if that ends
    earlier. Sessions of less than a millisecond are left out.
    """
    order = np.lexsort((start, peer))
    peer, start, end = peer[order], start[order].copy(), np.minimum(end[order], trial_end)
    early = (start <= 0) & (end > 0)
    start[early] = random.random(int(early.sum())) * np.minimum(join, end[early])
    kept = (start >= 0) & (end - start >= SHORTEST)
    return Sessions(peer[kept], start[kept], end[kept])


def joined(one: Sessions, other: Sessions) -> Sessions:
    """Return the sessions of both, where all peers of the other have higher numbers."""
    return Sessions(
        np.concatenate([one.peer, other.peer]),
        np.concatenate([one.start, other.start]),
        np.concatenate([one.end, other.end]),
    )


def either(marked: NDArray[np.bool_], one: Sessions, other: Sessions) -> Sessions:
    """Return the sessions of the peers that are marked from `one`, and those of all others from `other`."""
    parts = [(one, marked[one.peer]), (other, ~marked[other.peer])]
    peer, start, end = (
        np.concatenate([getattr(sessions, name)[kept] for sessions, kept in parts])
        for name in ("peer", "start", "end")
    )
    order = np.lexsort((start, peer))
    return Sessions(peer[order], start[order], end[order])
