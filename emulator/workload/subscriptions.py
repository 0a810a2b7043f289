"""Subscriptions of a trial: which peer asks for which topic, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.files.input_facts import NOTHING, Facts


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Subscriptions as rows sorted by peer, topic and start; times in seconds of trial time."""

    topics: int
    """The number of topics, which are 0 to `topics` - 1, subscribed to or not."""
    peer: NDArray[np.int32]
    topic: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    facts: Facts = NOTHING
    """The facts about a file that they were read from."""


def held_throughout(
    topics: int,
    peer: NDArray[np.int32],
    topic: NDArray[np.int32],
    trial_end: float,
    facts: Facts = NOTHING,
) -> Subscriptions:
    """Return subscriptions that are kept from the first join to the trial's end."""
    order = np.lexsort((topic, peer))
    start, end = np.zeros(len(peer)), np.full(len(peer), trial_end)
    return Subscriptions(
        topics, peer[order].astype(np.int32), topic[order].astype(np.int32), start, end, facts
    )


def each_holds(topics: int, held: NDArray[np.int32], trial_end: float) -> Subscriptions:
    """Return the same, from a table with a row for each peer that lists its topics, as many for each peer."""
    peers, count = held.shape
    return held_throughout(
        topics, np.repeat(np.arange(peers, dtype=np.int32), count), held.ravel(), trial_end
    )


def begun_after_joins(
    held: Subscriptions, join: float, within: float, sessions: Sessions, random: np.random.Generator
) -> Subscriptions:
    """Return `held` with what is held from the first join on begun after the joins, when the overlay stands.

    A peer that is up in the join phase (which ends at `join` s of trial time) subscribes to all its topics at
    one random time in the `within` seconds after it; any other peer subscribes when it joins.
    """
    begin = join + within * random.random(1 + max(held.peer.max(initial=-1), sessions.peer.max(initial=-1)))
    early = np.zeros(len(begin), dtype=np.bool_)
    early[sessions.peer[sessions.start <= join]] = True
    moved = (held.start == 0) & early[held.peer]
    start = np.where(moved, np.minimum(begin[held.peer], held.end), held.start)
    return Subscriptions(held.topics, held.peer, held.topic, start, held.end)
