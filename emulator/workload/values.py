"""Puts and gets of a trial: which peer puts or gets which value, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.contract import identifiers
from emulator.workload.presence import Presence
from emulator.workload.value_spec import Values


@dataclass(frozen=True, slots=True)
class DrawnPuts:
    """Puts sorted by time; a put's number is its row. Times are seconds of trial time."""

    at: NDArray[np.float64]
    peer: NDArray[np.int32]
    value: NDArray[np.int32]
    """The number of the value, from 0 on."""
    version: NDArray[np.int32]
    """1 for the first put of a value."""
    bytes: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class DrawnGets:
    """Gets sorted by time; a get's number is its row."""

    at: NDArray[np.float64]
    peer: NDArray[np.int32]
    value: NDArray[np.int32]


def draw_keys(count: int, random: np.random.Generator) -> list[bytes]:
    """Return uniform keys, encoded."""
    return [random.bytes(identifiers.BITS // 8) for _ in range(count)]


def draw_puts(
    values: Values,
    before: tuple[float, float],
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
) -> DrawnPuts:
    """Draw a put of each value in `before`, and updates as a Poisson process in `window`, by peers that are
    up.

    Raises ValueError if no peer is up at the time of one.
    """
    first = np.sort(random.uniform(*before, size=values.count))
    later = _poisson(values.updates, window, random)
    at = np.concatenate([first, later])
    value = np.concatenate([np.arange(values.count), _ranked(values, len(later), random)]).astype(np.int32)
    version = np.empty(len(at), dtype=np.int32)
    versions = np.zeros(values.count, dtype=np.int32)
    for put, number in enumerate(value):
        versions[number] += 1
        version[put] = versions[number]
    return DrawnPuts(
        at, _peers(at, "a put", peers, sessions, random), value, version, _sizes(values, len(at), random)
    )


def draw_gets(
    values: Values,
    window: tuple[float, float],
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None = None,
) -> DrawnGets:
    """Draw a Poisson process in `window`, each get at a random peer that is up then, of those that `among`
    marks.

    Raises ValueError if none is.
    """
    at = _poisson(values.gets, window, random)
    peer = _peers(at, "a get", peers, sessions, random, among)
    return DrawnGets(at, peer, _ranked(values, len(at), random))


def _poisson(rate: float, window: tuple[float, float], random: np.random.Generator) -> NDArray[np.float64]:
    begin, end = window
    return np.sort(random.uniform(begin, end, size=random.poisson(rate * (end - begin))))


def _ranked(values: Values, number: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw values by rank; the value of number 0 has the first rank, as keys are random anyway."""
    weight = np.power(1.0 + np.arange(values.count), -values.skew)
    return random.choice(values.count, size=number, p=weight / weight.sum()).astype(np.int32)


def _sizes(values: Values, number: int, random: np.random.Generator) -> NDArray[np.int32]:
    low, high = np.log1p(values.bytes.least), np.log1p(values.bytes.most)
    drawn = np.rint(np.expm1(random.uniform(low, high, size=number)))
    return np.clip(drawn, values.bytes.least, values.bytes.most).astype(np.int32)


def _peers(
    at: NDArray[np.float64],
    what: str,
    peers: int,
    sessions: Sessions,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    presence = Presence(sessions, peers)
    return np.array([presence.draw(time, random, what, among) for time in at], dtype=np.int32)
