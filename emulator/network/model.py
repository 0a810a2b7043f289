"""The bases of what an experiment can ask of the network: models of latency, jitter and loss.

Packages outside of this repository add models by entry points of the groups `trellis.latency`,
`trellis.jitter` and `trellis.loss`, each a subclass of the base here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it
    from numpy.typing import NDArray

Problems = list[tuple[str, str]]
"""Key below the model's own, and what is wrong with it."""


class LatencyModel(BaseModel):
    """The parameters of one model of latency, and how its matrix is made.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter. A field of type
    `Path` names a file, which is found relative to the experiment file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def host_count(self) -> int:
        """The number of places where peers can stand. Reads a file's shape at most.

        Raises TraceError for a bad file.
        """

    @abstractmethod
    def matrix(self, seed: int) -> NDArray[np.float32]:
        """RTTs between these places in seconds, symmetric; the diagonal does not count.

        Draws come from `generator(seed, "network", ...)`. Raises TraceError for a bad file.
        """

    def rtt_at_one_place(self, asked: float) -> float:
        """The RTT (s) between two peers at one place; `asked` is what the experiment says."""
        return asked

    def problems_of_files(self) -> Problems:
        """What is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []


class Jitter(ABC):
    """What a message takes beside the delay of its way, in one trial."""

    @abstractmethod
    def draw(self, sender: int, receiver: int, random: Random) -> float:
        """The seconds that this message takes longer; never negative."""


class Loss(ABC):
    """Which messages vanish, in one trial."""

    @abstractmethod
    def hits(self, sender: int, receiver: int, random: Random) -> bool:
        """Whether this message vanishes. Called once for each message, in the order of sending."""


class JitterModel(BaseModel):
    """The parameters of one model of jitter. A subclass has a field `kind` of type `Literal["name"]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def begin(self) -> Jitter:
        """The jitter of one trial, which may keep what it needs for each pair of peers."""


class LossModel(BaseModel):
    """The parameters of one model of loss. A subclass has a field `kind` of type `Literal["name"]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def begin(self) -> Loss:
        """The losses of one trial, which may keep what it needs for each pair of peers."""
