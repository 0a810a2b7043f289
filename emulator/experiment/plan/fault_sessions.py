"""What faults that stop peers do to the sessions of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import SHORTEST, Sessions
from emulator.experiment.plan.undrawable import Undrawable
from emulator.faults.outages import Outages
from emulator.faults.spec import FaultSpec


def ends_in_pause(
    sessions: Sessions, faults: Sequence[FaultSpec], hit: Sequence[NDArray[np.int32]]
) -> NDArray[np.bool_]:
    """Return whether each session ends while its peer is paused, so that the peer can tell nobody of it.

    `hit` has the peers that each fault hits. A session that begins in a pause is not paused.
    """
    found = np.zeros(len(sessions.peer), bool)
    for fault, peers in zip(faults, hit, strict=True):
        if fault.pause is not None:
            found |= _ends_in(fault, peers, sessions)
    return found


def _ends_in(pause: FaultSpec, peers: NDArray[np.int32], sessions: Sessions) -> NDArray[np.bool_]:
    there = (sessions.start < pause.begins) & (sessions.end >= pause.begins)
    return there & (sessions.end <= pause.ends) & np.isin(sessions.peer, peers)


def until_pauses(
    sessions: Sessions, faults: Sequence[FaultSpec], hit: Sequence[NDArray[np.int32]]
) -> Sessions:
    """Return the sessions in which a peer can be asked for something: one that ends in a pause is over when
    the pause begins, because the peer never comes to what it is asked for then."""
    for fault, peers in zip(faults, hit, strict=True):
        if fault.pause is not None and (over := _ends_in(fault, peers, sessions)).any():
            sessions = Sessions(sessions.peer, sessions.start, np.where(over, fault.begins, sessions.end))
    return sessions


JOINS = -1
"""The number that stands for no fault: a session begins with a join."""


def crash(
    sessions: Sessions,
    graceful: NDArray[np.bool_],
    faults: Sequence[FaultSpec],
    hit: Sequence[NDArray[np.int32]],
) -> tuple[Sessions, NDArray[np.bool_], NDArray[np.int32]]:
    """Return the sessions as crashes leave them, whether each is to end gracefully, and for each the fault
    after which its peer goes on with the state that it had, or `JOINS`.

    A session of a peer that is hit ends at the crash, and what is left of it, or of later ones, begins when
    the peer comes back. Raises Undrawable for a crash that hits no peer which is up.
    """
    problems = []
    kept = np.full(len(sessions.peer), JOINS, np.int32)
    # A crash is judged by the sessions that earlier ones leave, whatever place the file gives it.
    for index in sorted(range(len(faults)), key=lambda index: faults[index].begins):
        fault, peers = faults[index], hit[index]
        if fault.crash is None:
            continue
        at, back = fault.begins, fault.ends
        hits = np.isin(sessions.peer, peers)
        cut = hits & (sessions.start < at) & (sessions.end > at)
        if not cut.any():
            problems.append((f"faults.{index}.crash", _nobody(fault, peers)))
        before = ~hits | (sessions.start < at)
        after = hits & (sessions.end - np.maximum(sessions.start, back) >= SHORTEST)
        end = np.where(cut, at, sessions.end)
        start = np.maximum(sessions.start, back)
        peer = np.concatenate([sessions.peer[before], sessions.peer[after]])
        start = np.concatenate([sessions.start[before], start[after]])
        end = np.concatenate([end[before], sessions.end[after]])
        graceful = np.concatenate([(graceful & ~cut)[before], graceful[after]])
        goes_on = np.where(cut, index if fault.keeps_state else JOINS, kept)
        kept = np.concatenate([kept[before], goes_on[after]])
        order = np.lexsort((start, peer))
        sessions, graceful = Sessions(peer[order], start[order], end[order]), graceful[order]
        kept = kept[order]
    if problems:
        raise Undrawable(problems)
    return sessions, graceful, kept


def check_pauses(sessions: Sessions, faults: Sequence[FaultSpec], hit: Sequence[NDArray[np.int32]]) -> None:
    """Raise Undrawable for a pause that hits no peer which is up. `sessions` are those that the plan has."""
    problems = []
    for index, (fault, peers) in enumerate(zip(faults, hit, strict=True)):
        up = (sessions.start < fault.begins) & (sessions.end > fault.begins) & np.isin(sessions.peer, peers)
        if fault.pause is not None and not up.any():
            problems.append((f"faults.{index}.pause", _nobody(fault, peers)))
    if problems:
        raise Undrawable(problems)


def _nobody(fault: FaultSpec, peers: NDArray[np.int32]) -> str:
    return f"none of its {len(peers)} peers is up at {fault.begins:g} s. Move the fault, or name other peers"


def await_bootstrap(
    sessions: Sessions, graceful: NDArray[np.bool_], kept: NDArray[np.int32], outages: Outages
) -> tuple[Sessions, NDArray[np.bool_], NDArray[np.int32]]:
    """Return what `crash` returns, if peers that are to join while the bootstrap service is away join when it
    answers. A session that is over by then is left out."""
    kept, start, left = kept.copy(), sessions.start.copy(), np.ones(len(kept), bool)
    for place, at in enumerate(sessions.start.tolist()):
        if kept[place] != JOINS and not left[place - 1]:
            kept[place] = JOINS  # the peer had not joined by then
        if kept[place] == JOINS:
            start[place] = at + outages.wait(at)
        left[place] = sessions.end[place] - start[place] >= SHORTEST
    return Sessions(sessions.peer[left], start[left], sessions.end[left]), graceful[left], kept[left]
