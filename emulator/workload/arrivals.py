"""When content interests arrive, and who publishes events with attributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.workload.presence import Presence


def draw_arrivals(
    count: int,
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The subscriber and the start (s of trial time) of each interest, sorted by both.

    Times are uniform in `window`: a Poisson process, given its number of arrivals (Li, section 4.1.1). The
    subscriber is a random peer that is up then. With an empty window they are held from the first join on
    (start 0) by any peer. Raises ValueError if nobody is up at some interest's time.
    """
    begin, end = window
    if end <= begin:
        peer = random.integers(peers, size=count).astype(np.int32)
        return np.sort(peer), np.zeros(count)
    start = np.sort(random.uniform(begin, end, size=count))
    presence = Presence(sessions, peers)
    peer = np.array([presence.draw(at, random, "an interest") for at in start], dtype=np.int32)
    order = np.lexsort((start, peer))
    return peer[order], start[order]


def draw_publishers(
    at: NDArray[np.float64],
    subscribers: tuple[NDArray[np.int32], NDArray[np.float64]] | None,
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
) -> NDArray[np.int32]:
    """A random peer that is up at each time; one of the `subscribers` (peer, start) if they are given.

    Raises ValueError if there is none.
    """
    presence = Presence(sessions, peers)
    drawn = np.empty(len(at), dtype=np.int32)
    for event, time in enumerate(at):
        among = None
        if subscribers is not None:
            peer, start = subscribers
            among = np.zeros(peers, dtype=np.bool_)
            among[peer[start <= time]] = True
        drawn[event] = presence.draw(time, random, "an event", among)
    return drawn
