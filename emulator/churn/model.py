"""Draws the sessions of a trial from the `churn:` part of an experiment."""

from __future__ import annotations

import numpy as np

from emulator.churn.sessions import Sessions, fit_to_trial
from emulator.churn.spec import FlashCrowd, Model, Static


def draw_sessions(
    model: Model, peers: int, join: float, trial_end: float, random: np.random.Generator
) -> Sessions:
    """Sessions of peers 0 to `peers` - 1. Raises TraceError for a trace that does not fit."""
    match model:
        case Static():
            numbers = np.arange(peers, dtype=np.int32)
            start, end = np.full(peers, -1.0), np.full(peers, np.inf)
        case _:
            raise NotImplementedError(model.kind)
    return fit_to_trial(numbers, start, end, join, trial_end, random)


def draw_flash_crowd(
    crowd: FlashCrowd, first: int, trial_end: float, random: np.random.Generator
) -> Sessions:
    """One session for each of the peers `first`, `first` + 1, ...: they join within a moment and stay."""
    start = crowd.at + crowd.within * random.random(crowd.peers)
    numbers = np.arange(first, first + crowd.peers, dtype=np.int32)
    return Sessions(numbers, start, np.full(crowd.peers, trial_end))
