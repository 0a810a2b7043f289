"""The times at which content interests arrive, and the peers that publish events with attributes."""

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
    subscribes: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the subscriber and the start (s of trial time) of each interest, sorted by both.

    Subscribers are the peers that `subscribes` marks; all peers if it is None.

    Times are uniform in `window`: a Poisson process, given its number of arrivals (Li, section 4.1.1). The
    subscriber is a random peer that is up then. With an empty window, interests are held from the first join
    on (start 0) by any peer. Raises ValueError if no peer is up at some interest's time.
    """
    begin, end = window
    if end <= begin:
        among = np.arange(peers) if subscribes is None else np.flatnonzero(subscribes)
        peer = among[random.integers(len(among), size=count)].astype(np.int32)
        return np.sort(peer), np.zeros(count)
    start = np.sort(random.uniform(begin, end, size=count))
    presence = Presence(sessions, peers)
    peer = np.array([presence.draw(at, random, "an interest", subscribes) for at in start], dtype=np.int32)
    order = np.lexsort((start, peer))
    return peer[order], start[order]


def draw_publishers(
    at: NDArray[np.float64],
    subscribers: tuple[NDArray[np.int32], NDArray[np.float64]] | None,
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    publishes: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Return for each time a random peer that is up; one of the `subscribers` (peer, start) if they are
    given.

    It is one of the peers that `publishes` marks, or any if that is None. Raises ValueError if there is none.
    """
    presence = Presence(sessions, peers)
    drawn = np.empty(len(at), dtype=np.int32)
    wanted = "peer" if subscribers is None else "subscriber"
    for event, time in enumerate(at):
        among = publishes
        if subscribers is not None:
            peer, start = subscribers
            among = np.zeros(peers, dtype=np.bool_)
            among[peer[start <= time]] = True
            if publishes is not None:
                among &= publishes
        drawn[event] = presence.draw(time, random, "an event", among, wanted)
    return drawn
