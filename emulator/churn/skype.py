"""Sessions like those of the Skype supernodes of September 2005 (Guha, Daswani, Jain, IPTPS 2006).

Supernodes are more stable than ordinary peers, so a claim about churn from this model is about supernodes.

In the measurements a session is lognormal and a gap between two sessions of a node is Weibull. But a node is
up only a third of the time, less than these two alone would give, because nodes come late or leave for weeks.
So the model has a third state: after a session a node stays away for a month on average with a small
probability, chosen so that a third of the nodes are up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.churn.lifetimes import Exponential, Lognormal, Mixture, Weibull
from emulator.churn.renewal import DailyCycle, alternate

_HOUR = 3600.0
_DAY = 24 * _HOUR
_WARM_UP = 3 * _DAY

AVAILABILITY = 0.332
SESSION = Lognormal(median=4.8 * _HOUR, sigma=1.54)
GAP = Weibull(shape=0.625, scale=9.48 * _HOUR)
LONG_ABSENCE = Exponential(30 * _DAY)
_AWAY = SESSION.mean * (1 / AVAILABILITY - 1)
_LEAVES_FOR_LONG = (_AWAY - GAP.mean) / (LONG_ABSENCE.mean - GAP.mean)
AWAY = Mixture([(1 - _LEAVES_FOR_LONG, GAP), (_LEAVES_FOR_LONG, LONG_ABSENCE)])
CYCLE = DailyCycle(amplitude=0.42, peak=9 * _HOUR)


def skype_sessions(
    peers: int, duration: float, shortest_gap: float, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return peer, start and end of sessions in `duration` seconds from a midnight on (model time)."""
    return alternate(peers, -_WARM_UP, duration, SESSION, AWAY, random, shortest_gap, CYCLE)


def mean_cycle() -> float:
    """Return the mean seconds of model time from one join of a peer to its next."""
    return SESSION.mean + AWAY.mean
