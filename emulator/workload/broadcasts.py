"""The messages of a trial that every peer is to get: who sends which when, and how large it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.workload.broadcast_spec import Broadcasts
from emulator.workload.presence import Presence


@dataclass(frozen=True, slots=True)
class DrawnBroadcasts:
    """Messages sorted by time; a message's number is its row. Times are seconds of trial time."""

    at: NDArray[np.float64]
    sender: NDArray[np.int32]
    bytes: NDArray[np.int32]


def draw_broadcasts(
    asked: Broadcasts,
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None = None,
) -> DrawnBroadcasts:
    """Draw messages in `window`, each from a random sender that is up then, of the peers that `among` marks.

    Raises ValueError if no such peer is up at the time of a message, or if fewer than the asked number of
    senders are up in the whole window.
    """
    at = _times(asked, window, random)
    presence = Presence(sessions, peers)
    if asked.senders is not None:
        among = _senders(asked.senders, window, peers, sessions, random, among)
    sender = [presence.draw(time, random, "a message", among, "peer that may send") for time in at]
    low, high = np.log(asked.bytes.least), np.log(asked.bytes.most)
    sizes = np.rint(np.exp(random.uniform(low, high, size=len(at))))
    sizes = np.clip(sizes, asked.bytes.least, asked.bytes.most)
    return DrawnBroadcasts(at, np.array(sender, dtype=np.int32), sizes.astype(np.int32))


def _times(
    asked: Broadcasts, window: tuple[float, float], random: np.random.Generator
) -> NDArray[np.float64]:
    begin, end = window
    if asked.spacing == "even":
        count = round(asked.rate * (end - begin))
        return np.array([begin + (number + 0.5) / asked.rate for number in range(count)], dtype=np.float64)
    return np.sort(random.uniform(begin, end, size=random.poisson(asked.rate * (end - begin))))


def _senders(
    count: int,
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    """Return the peers that send: as many as asked of those that are up in the whole window."""
    begin, end = window
    stays = np.zeros(peers, dtype=np.bool_)
    stays[sessions.peer[(sessions.start <= begin) & (sessions.end >= end)]] = True
    candidates = np.flatnonzero(stays if among is None else stays & among)
    if len(candidates) < count:
        up = f"{len(candidates):,} peers that may send are" if len(candidates) else "no peer that may send is"
        up = "1 peer that may send is" if len(candidates) == 1 else up
        mend = f"Lower it to {len(candidates):,}, or leave" if len(candidates) else "Leave"
        raise ValueError(
            f"workload.broadcast.senders: is {count:,}, but {up} up in the whole measure phase. "
            f"{mend} it out so that any peer that is up may send"
        )
    chosen = np.zeros(peers, dtype=np.bool_)
    chosen[random.choice(candidates, size=count, replace=False)] = True
    return chosen
