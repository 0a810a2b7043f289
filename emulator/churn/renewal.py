"""Sessions of peers that are up and away in turn, in equilibrium from the first moment on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.churn.lifetimes import Lifetime

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class DailyCycle:
    """Peers leave slower and come back faster in the day than at night.

    While the wall clock runs evenly, time away runs at the rate 1 + a cos(2 pi (t - peak) / day), and
    time up at 1 - a cos(...), so that the mean lengths stay what they are.
    """

    amplitude: float
    """The amplitude a of the cycle, from 0 to below 1."""
    peak: float
    """The time of the day, in seconds, at which peers come back fastest."""

    def advance(
        self, since: NDArray[np.float64], length: NDArray[np.float64], up: bool
    ) -> NDArray[np.float64]:
        """Return when an interval ends that began at `since` and has `length` on the uneven clock."""
        amplitude = -self.amplitude if up else self.amplitude
        turn = 2 * math.pi / _DAY
        target = since + amplitude / turn * np.sin(turn * (since - self.peak)) + length
        time = target.copy()
        for _ in range(8):  # Newton; the rate is never near 0
            excess = time + amplitude / turn * np.sin(turn * (time - self.peak)) - target
            time -= excess / (1 + amplitude * np.cos(turn * (time - self.peak)))
        return np.maximum(time, since)


def alternate(
    peers: int,
    begin: float,
    until: float,
    up: Lifetime,
    away: Lifetime,
    random: np.random.Generator,
    shortest_gap: float,
    cycle: DailyCycle | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return peer, start and end of all sessions between `begin` and `until`, in no order; in seconds.

    At `begin` the process is in equilibrium: the share of peers that are up is the share of time that a peer
    is up, and the rest of each session (or gap) has the equilibrium distribution. A session that is under way
    at `begin` starts there; the last ones end after `until`.
    """

    def advance(since: NDArray[np.float64], length: NDArray[np.float64], is_up: bool) -> NDArray[np.float64]:
        return since + length if cycle is None else cycle.advance(since, length, is_up)

    is_up = random.random(peers) < up.mean / (up.mean + away.mean)
    part = 1.0 - random.random(peers)
    rest = part * np.where(
        is_up, up.draw_length_biased(peers, random), away.draw_length_biased(peers, random)
    )
    rest = np.minimum(rest, 2 * (until - begin))
    numbers = np.arange(peers, dtype=np.int32)
    time = np.full(peers, begin)
    time[is_up] = advance(time[is_up], rest[is_up], True)
    time[~is_up] = advance(time[~is_up], rest[~is_up], False)
    found = [(numbers[is_up], np.full(int(is_up.sum()), begin), time[is_up])]
    gap = np.where(is_up, np.maximum(away.draw(peers, random), shortest_gap), 0.0)
    while len(numbers):
        start = advance(time, gap, False)
        going = start < until
        numbers, start = numbers[going], start[going]
        end = advance(start, np.minimum(up.draw(len(numbers), random), 2 * (until - begin)), True)
        found.append((numbers, start, end))
        time = end
        gap = np.maximum(away.draw(len(numbers), random), shortest_gap)
    peer, start, end = (np.concatenate(column) for column in zip(*found, strict=True))
    return peer, start, end
