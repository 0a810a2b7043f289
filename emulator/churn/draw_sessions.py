"""Draws the sessions of a trial from the `churn:` part of an experiment."""

from __future__ import annotations

import numpy as np

from emulator.churn.avt import AvailabilityTrace, load_avt, replay
from emulator.churn.lifetimes import Exponential
from emulator.churn.lifetimes import Pareto as ParetoLifetime
from emulator.churn.renewal import alternate
from emulator.churn.sessions import SHORTEST, Sessions, fit_to_trial
from emulator.churn.skype import skype_sessions
from emulator.churn.spec import Crash, FlashCrowd, Model, Pareto, Poisson, Skype, Static, TraceFile
from emulator.files.trace_error import TraceError


def draw_sessions(
    model: Model, peers: int, join: float, trial_end: float, random: np.random.Generator
) -> Sessions:
    """Sessions of peers 0 to `peers` - 1; `join` and `trial_end` in seconds of trial time.

    Except in a static trial, a peer may be away at trial time 0, or all the time. Raises TraceError for a
    trace that is malformed or does not suit the trial.
    """
    numbers = np.arange(peers, dtype=np.int32)
    match model:
        case Static():
            found = numbers, np.zeros(peers), np.full(peers, np.inf)
        case TraceFile():
            trace = load_avt(model.file)
            for _, problem in trace_problems(trace, model, peers, trial_end):
                raise TraceError(model.file, 0, problem)
            found = replay(trace, peers, model.start, model.compress, random)
        case Skype():
            numbers, start, end = skype_sessions(
                peers, trial_end * model.compress, SHORTEST * model.compress, random
            )
            found = numbers, start / model.compress, end / model.compress
        case Poisson():
            up, away = Exponential(model.mean_session), Exponential(model.mean_gap)
            found = alternate(peers, 0.0, trial_end, up, away, random, SHORTEST)
        case Pareto():
            heavy_up = ParetoLifetime(model.mean_session, model.shape)
            heavy_away = ParetoLifetime(model.mean_gap, model.shape)
            found = alternate(peers, 0.0, trial_end, heavy_up, heavy_away, random, SHORTEST)
    return fit_to_trial(*found, join, trial_end, random)


def draw_flash_crowd(
    crowd: FlashCrowd, first: int, trial_end: float, random: np.random.Generator
) -> Sessions:
    """One session for each of the peers `first`, `first` + 1, ...: they join within a moment and stay."""
    start = crowd.at + crowd.within * random.random(crowd.peers)
    numbers = np.arange(first, first + crowd.peers, dtype=np.int32)
    return Sessions(numbers, start, np.full(crowd.peers, trial_end))


def cut_by_crash(sessions: Sessions, crash: Crash, random: np.random.Generator) -> Sessions:
    """The sessions without what comes after the crash for those peers that it hits."""
    up = sessions.peer[(sessions.start < crash.at) & (sessions.end > crash.at)]
    hit = random.choice(up, size=round(crash.share * len(up)), replace=False)
    ends = np.isin(sessions.peer, hit)
    end = np.where(ends, np.minimum(sessions.end, crash.at), sessions.end)
    kept = sessions.start < end
    return Sessions(sessions.peer[kept], sessions.start[kept], end[kept])


def trace_problems(
    trace: AvailabilityTrace, model: TraceFile, peers: int, trial_end: float
) -> list[tuple[str, str]]:
    """Key below `churn.model` and problem, for each way in which the trace does not suit the trial."""
    problems = []
    if peers > trace.nodes:
        problems.append(("file", f"has {trace.nodes} nodes, but the trial needs {peers}: lower `peers`"))
    last = float(trace.end.max())
    if model.start + trial_end * model.compress > last:
        problems.append(("compress", f"the trial would go beyond the end of the trace at {last:g} s"))
    return problems
