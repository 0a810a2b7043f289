"""Trellis' own models of latency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from emulator.contract.random_streams import generator
from emulator.files.quantities import Duration
from emulator.network.model import LatencyModel, Problems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class King(LatencyModel):
    """A generated matrix with the statistics of the King measurements (Gummadi et al., 2002)."""

    kind: Literal["king"] = "king"
    hosts: int = Field(1740, ge=2, le=20_000)
    mean_rtt: Duration = Field(0.180, gt=0, le=3600)

    def host_count(self) -> int:
        """Return the number of places that the experiment asks for."""
        return self.hosts

    def matrix(self, seed: int) -> NDArray[np.float32]:
        """Return a matrix that is drawn anew for each seed."""
        from emulator.network.king import king_rtt

        return king_rtt(self.hosts, self.mean_rtt, generator(seed, "network", "king"))


class Constant(LatencyModel):
    """The same RTT between every pair."""

    kind: Literal["constant"]
    rtt: Duration = Field(0.100, ge=0, le=3600)

    def host_count(self) -> int:
        """Return 1: all peers stand at one place."""
        return 1

    def matrix(self, seed: int) -> NDArray[np.float32]:
        """Return a matrix of that place alone."""
        import numpy as np

        return np.zeros((1, 1), np.float32)

    def rtt_at_one_place(self, asked: float) -> float:
        """Return the RTT of all pairs (s)."""
        return self.rtt


class MatrixFile(LatencyModel):
    """Measured latencies: p2psim's matrix (RTT in microseconds) or topology (one-way ms) format,
    or PlanetLab's (RTT in ms)."""

    kind: Literal["p2psim-matrix", "p2psim-topology", "planetlab"]
    file: Path

    def host_count(self) -> int:
        """Return the number of hosts in the file. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import count_hosts

        return count_hosts(self)

    def matrix(self, seed: int) -> NDArray[np.float32]:
        """Return the matrix of the file. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import load_rtt

        return load_rtt(self).rtt

    def problems_of_files(self) -> Problems:
        """Return no problems. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import load_rtt

        load_rtt(self)
        return []
