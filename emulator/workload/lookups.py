"""Lookups of a trial: which peer looks up which key, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.contract import identifiers
from emulator.workload.presence import Presence
from emulator.workload.spec import Lookups

_KEY_BYTES = identifiers.BITS // 8


@dataclass(frozen=True, slots=True)
class DrawnLookups:
    """Lookups sorted by time; a lookup's number is its row. Times are seconds of trial time."""

    at: NDArray[np.float64]
    peer: NDArray[np.int32]
    key: list[bytes]
    """The encoded identifiers."""


def draw_lookups(
    lookups: Lookups,
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None = None,
) -> DrawnLookups:
    """Draw a Poisson process in `window`, each lookup at a random peer that is up then, of those that `among`
    marks.

    Keys are uniform or skewed, or the hashed identifiers of random peers that are up then, including the one
    that asks: in overlays that give their peers other identifiers these are keys like any other. Raises
    ValueError if no peer is up at some lookup's time.
    """
    begin, end = window
    at = np.sort(random.uniform(begin, end, size=random.poisson(lookups.rate * (end - begin))))
    presence = Presence(sessions, peers)
    peer = np.array([presence.draw(time, random, "a lookup", among) for time in at], dtype=np.int32)
    if lookups.keys == "peers":
        keys = [identifiers.hash_of_peer(presence.draw(time, random, "a lookup")) for time in at]
        return DrawnLookups(at, peer, [identifiers.encode(key) for key in keys])
    uniform = [random.bytes(_KEY_BYTES) for _ in at]
    if lookups.keys == "skewed":
        skewed = [identifiers.skewed(identifiers.decode(key)) for key in uniform]
        return DrawnLookups(at, peer, [identifiers.encode(key) for key in skewed])
    return DrawnLookups(at, peer, uniform)
