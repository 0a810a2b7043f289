"""The base classes of the network's models: latency, jitter and loss.

Packages outside of this repository add models by entry points of the groups `trellis.latency`,
`trellis.jitter` and `trellis.loss`, each a subclass of a base class here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from emulator.files.input_facts import Facts

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it
    from numpy.typing import NDArray

_MOST_DESCRIBED = 2000
"""The most hosts of a matrix that is made to be described."""
Problems = list[tuple[str, str]]
"""The problems of a model's parameters: the key below the model's own, and what is wrong with it."""


class LatencyModel(BaseModel):
    """The parameters of one model of latency, and how its matrix is made.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter. A field of type
    `Path` names a file, which is found relative to the experiment file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def host_count(self) -> int:
        """Return the number of places where peers can stand. It reads at most the shape of a file.

        Raises TraceError for a bad file.
        """

    @abstractmethod
    def matrix(self, seed: int) -> NDArray[np.floating[Any]]:
        """Return RTTs between these places in seconds, symmetric; the diagonal does not count.

        Thousands of measured places are 32-bit numbers, which are off by up to 6e-8 of a delay. Few places
        whose delays a file names are 64-bit ones, so that arrivals are exact to the nanosecond.

        Draws come from `generator(seed, "network", ...)`. Raises TraceError for a bad file.
        """

    def rtt_at_one_place(self, asked: float) -> float | NDArray[np.float64]:
        """Return the RTT (s) between two peers at one place, or that of each place; `asked` is the
        experiment's value."""
        return asked

    def draw_places(self, peers: int, random: np.random.Generator) -> NDArray[np.int32] | None:
        """Draw the place of each peer, a row of the matrix; None to have them spread evenly."""
        return None

    @property
    def region_names(self) -> Sequence[str]:
        """The names of the places if they are regions, else none."""
        return ()

    def region_counts(self, peers: int) -> Sequence[int]:
        """Return how many of so many peers are in each of these regions."""
        return ()

    def losses(self) -> NDArray[np.float64] | None:
        """Return the share of messages that vanish from place to place (rows of the matrix), on the diagonal
        between the peers of one place; None if nothing vanishes.

        Raises TraceError for a bad file.
        """
        return None

    def problems(self, peers: int) -> Problems:
        """Return what is wrong with parameters each of which is possible by itself."""
        return []

    def problems_of_files(self) -> Problems:
        """Return what is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []

    def facts(self, seed: int) -> Facts:
        """Return what is told of the latencies: by default their statistics, unless there are many hosts.

        Raises TraceError for a bad file.
        """
        import numpy as np

        from emulator.network.statistics import describe_rtt

        if self.host_count() > _MOST_DESCRIBED:
            return Facts()
        rtt = self.matrix(seed)
        off = rtt[~np.eye(len(rtt), dtype=bool)]
        if not np.isfinite(off).all() or (off < 0).any():
            raise ValueError("an RTT is below 0, or no number")
        return describe_rtt(rtt)

    @property
    def zeros_are_one_place(self) -> bool:
        """This is true if hosts with an RTT of 0 are at one place, so that the experiment says their RTT."""
        return False

    @property
    def has_directions(self) -> bool:
        """This is true if the matrix has twice the one-way delay of each direction, symmetric or not."""
        return False


class Jitter(ABC):
    """The jitter of one trial: the time that messages take in addition to their pair's delay."""

    earliest: float = 0.0
    """The most seconds by which a message may be earlier than the delay of its pair."""

    @abstractmethod
    def draw(self, sender: int, receiver: int, random: Random) -> float:
        """Return the seconds that this message takes in addition; not below `-earliest`.

        What makes a one-way delay negative makes it 0.
        """


class Loss(ABC):
    """The loss of one trial, which decides which messages vanish."""

    @abstractmethod
    def hits(self, sender: int, receiver: int, random: Random) -> bool:
        """Return whether this message vanishes.

        The method is called once for each message, in the order of sending.
        """


class JitterModel(BaseModel):
    """The parameters of one model of jitter. A subclass has a field `kind` of type `Literal["name"]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def begin(self) -> Jitter:
        """Return the jitter of one trial, which may keep what it needs for each pair of peers."""

    def carried(self) -> JitterModel:
        """Return a model that makes the same jitter and names no file, for a host that does not have the
        file. Raises TraceError for a bad file."""
        return self

    def problems(self) -> Problems:
        """Return what is wrong with parameters each of which is possible by itself."""
        return []

    def problems_of_files(self) -> Problems:
        """Return what is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []

    @property
    def is_ever_early(self) -> bool:
        """This is true if a message may be earlier than the delay of its pair, which netem cannot do."""
        return False


class LossModel(BaseModel):
    """The parameters of one model of loss. A subclass has a field `kind` of type `Literal["name"]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def begin(self, seed: int) -> Loss:
        """Return the loss of one trial, which may keep what it needs for each pair of peers.

        It draws from the generator that `Loss.hits` is given, or from streams of its own of the trial's
        `seed`.
        """

    def problems(self) -> Problems:
        """Return what is wrong with parameters each of which is possible by itself."""
        return []
