"""What faults that stop peers do to the sessions of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
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
            there = (sessions.start < fault.begins) & (sessions.end >= fault.begins)
            found |= there & (sessions.end <= fault.ends) & np.isin(sessions.peer, peers)
    return found
