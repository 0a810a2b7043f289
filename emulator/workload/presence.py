"""The peers that are up at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions


class NobodyUp(ValueError):
    """No peer that something is asked of is up at its time. `told` says so, without what to do about it."""

    def __init__(self, key: str, told: str, advice: str) -> None:
        super().__init__(f"{key}: {told}. {advice}")
        self.told = told


class Presence:
    """The peers of a trial, which are up or down by their sessions."""

    def __init__(self, sessions: Sessions, peers: int) -> None:
        self._sessions = sessions
        self._peers = peers

    def up(self, time: float) -> NDArray[np.bool_]:
        """Return for each peer whether it is in a session at this trial time."""
        sessions = self._sessions
        up = np.zeros(self._peers, dtype=np.bool_)
        up[sessions.peer[(sessions.start <= time) & (time < sessions.end)]] = True
        return up

    def draw(
        self,
        time: float,
        random: np.random.Generator,
        what: str,
        among: NDArray[np.bool_] | None = None,
        wanted: str = "peer",
    ) -> int:
        """Return a random peer that is up and that `among` marks.

        Raises NobodyUp, naming `what` and who is `wanted`, if there is none.
        """
        up = self.up(time)
        candidates = np.flatnonzero(up if among is None else up & among)
        if not len(candidates):
            told = f"{what} at {time:.3f} s of trial time: no {wanted} is up then"
            advice = "change churn.model (a trace: start or compress), or lengthen phases.join and settle"
            raise NobodyUp("churn.model", told, f"Let more peers be up: {advice}")
        return int(candidates[random.integers(len(candidates))])
