"""Draws the sessions of a trial from the `churn:` part of an experiment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.churn.model import ChurnModel
from emulator.churn.sessions import Sessions, fit_to_trial
from emulator.churn.spec import Crash, FlashCrowd
from emulator.contract.mistakes import code_of
from emulator.files.trace_error import TraceError


def draw_sessions(
    model: ChurnModel, peers: int, join: float, trial_end: float, random: np.random.Generator
) -> Sessions:
    """Return sessions of peers 0 to `peers` - 1; `join` and `trial_end` are in seconds of trial time.

    Except in a static trial, a peer may be away at trial time 0, or all the time. Raises TraceError for a
    trace that is malformed or does not suit the trial, and ValueError if a package drew what no plan can
    have.
    """
    with code_of(model, "drew no peers, starts and ends of sessions", ValueError, TraceError):
        peer, start, end = model.draw(peers, trial_end, random)
        if np.isnan(start).any() or np.isnan(end).any():
            raise ValueError("churn.model: a session has a start or an end that is no number")
        sessions = fit_to_trial(peer, start, end, join, trial_end, random)
    these = f"sessions of kind {getattr(model, 'kind', '?')}"
    if len(sessions.peer) and not 0 <= sessions.peer.min() <= sessions.peer.max() < peers:
        raise ValueError(f"churn.model: {these} have a peer that is not from 0 to {peers - 1}")
    same = sessions.peer[1:] == sessions.peer[:-1]
    if np.any(same & (sessions.start[1:] < sessions.end[:-1])):
        raise ValueError(f"churn.model: {these} overlap at one peer")
    return sessions


def draw_flash_crowd(
    crowd: FlashCrowd, first: int, trial_end: float, random: np.random.Generator
) -> Sessions:
    """Return one session for each peer from `first` on: they join within a moment and stay."""
    start = crowd.at + crowd.within * random.random(crowd.peers)
    numbers = np.arange(first, first + crowd.peers, dtype=np.int32)
    return Sessions(numbers, start, np.full(crowd.peers, trial_end))


def cut_by_crash(
    sessions: Sessions,
    crash: Crash,
    random: np.random.Generator,
    among: NDArray[np.bool_] | None = None,
) -> Sessions:
    """Return the sessions without what comes after the crash for those peers that it hits: a share of those
    that are up, and that `among` marks."""
    up = sessions.peer[(sessions.start < crash.at) & (sessions.end > crash.at)]
    if among is not None:
        up = up[among[up]]
    hit = random.choice(up, size=round(crash.share * len(up)), replace=False)
    ends = np.isin(sessions.peer, hit)
    end = np.where(ends, np.minimum(sessions.end, crash.at), sessions.end)
    kept = sessions.start < end
    return Sessions(sessions.peer[kept], sessions.start[kept], end[kept])
