"""The base of all models of churn, which draw when peers come and go.

Packages outside of this repository add models by entry points of the group `trellis.churn`, each a subclass
of `ChurnModel`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from emulator.files.input_facts import Facts

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it
    from numpy.typing import NDArray

    Intervals = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]

MOST_SESSIONS = 5_000_000
"""The most sessions that a plan may have."""

Problems = list[tuple[str, str]]
"""The problems of a model's parameters: the key below `churn.model`, and what is wrong with it."""


class ChurnModel(BaseModel):
    """The parameters of one model, and how its sessions are drawn.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter. A field of type
    `Path` names a file, which is found relative to the experiment file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return peer, start and end of the sessions of peers 0 to `peers` - 1, in any order (s of trial
        time).

        A session that begins at 0 or before belongs to a peer that is up when the trial begins, so it joins
        in the join phase. Sessions may end after `trial_end`, and those of a peer never overlap. Raises
        TraceError for a file that cannot be used.
        """

    def problems(self, peers: int, trial_end: float) -> Problems:
        """Return what is wrong with the parameters, without reading a file."""
        return []

    def problems_of_files(self, peers: int, trial_end: float) -> Problems:
        """Return what is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []

    def facts(self, peers: int, trial_end: float) -> Facts:
        """Return what is told of the files that the parameters name. Raises TraceError as
        `problems_of_files` does."""
        return Facts()


def too_many_sessions(key: str, expected: float) -> Problems:
    """Return the problem of `key` if the expected sessions are more than a plan may have."""
    if expected <= MOST_SESSIONS:
        return []
    return [(key, f"about {expected:.2g} sessions, more than the {MOST_SESSIONS:,} that a plan may have")]
