"""Trellis' own models of latency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from emulator.contract.random_streams import generator
from emulator.files.input_facts import Facts
from emulator.files.quantities import Duration
from emulator.network.model import LatencyModel, Problems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class King(LatencyModel):
    """A generated matrix with the statistics of the King measurements (Gummadi et al., 2002)."""

    kind: Literal["king"] = "king"
    hosts: int = Field(1740, ge=2, le=20_000, description="places of the matrix that is generated")
    mean_rtt: Duration = Field(0.180, gt=0, le=3600, description="mean RTT of all pairs of places")

    def host_count(self) -> int:
        """Return the number of places that the experiment asks for."""
        return self.hosts

    def matrix(self, seed: int) -> NDArray[np.float32]:
        """Return a matrix that is drawn anew for each seed."""
        from emulator.network.king_like import king_rtt

        return king_rtt(self.hosts, self.mean_rtt, generator(seed, "network", "king"))

    def facts(self, seed: int) -> Facts:
        """Return nothing: the parameters say all."""
        return Facts()


class Constant(LatencyModel):
    """The same RTT between every pair."""

    kind: Literal["constant"]
    rtt: Duration = Field(0.100, ge=0, le=3600, description="RTT of every pair of peers")

    def host_count(self) -> int:
        """Return 1: all peers stand at one place."""
        return 1

    def matrix(self, seed: int) -> NDArray[np.float64]:
        """Return a matrix of that place alone."""
        import numpy as np

        return np.zeros((1, 1))

    def rtt_at_one_place(self, asked: float) -> float:
        """Return the RTT of all pairs (s)."""
        return self.rtt

    def facts(self, seed: int) -> Facts:
        """Return nothing: the parameter says all."""
        return Facts()


class MatrixFile(LatencyModel):
    """Latencies from a file: p2psim's matrix (RTT in microseconds) or topology (one-way ms) format,
    PlanetLab's (RTT in ms), a line for each pair (RTT in ms), or a graph in GML or GraphML (one-way ms)."""

    kind: Literal["p2psim-matrix", "p2psim-topology", "planetlab", "pairs", "graph"]
    file: Path = Field(description="the matrix or the graph of RTTs")
    unit: Literal["us", "ms", "s"] | None = Field(
        None, description="of the values; left out: us in p2psim-matrix, ms in the others"
    )
    zeros: Literal["fill", "same_host_rtt", "refuse"] | None = Field(
        None,
        description="what an RTT of 0 between two hosts is: no measurement, which is filled in as gaps are "
        "(left out: this), hosts at one place, or an error",
    )
    gaps: Literal["fill", "refuse"] | None = Field(
        None,
        description="pairs without a measurement get the shortest path over one other host (left out: this), "
        "or are an error",
    )
    asymmetry: Literal["refuse", "mean", "one-way"] | None = Field(
        None,
        description="two directions that differ are an error (left out: this), get their mean, or are "
        "one-way delays, from the host of the line to that of the column",
    )
    regions: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="what names the region of a place: in a graph an attribute of its nodes, such as "
        "country_code, in pairs `name`, the host's; left out: the places are no regions",
    )

    def host_count(self) -> int:
        """Return the number of hosts in the file. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import count_hosts

        return count_hosts(self)

    def matrix(self, seed: int) -> NDArray[np.float32]:
        """Return the matrix of the file. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import load_rtt

        return load_rtt(self).rtt

    def losses(self) -> NDArray[np.float64] | None:
        """Return what the edges of a graph's paths lose. Raises TraceError for a bad file."""
        from emulator.network.matrix_files import load_rtt

        return load_rtt(self).lost if self.kind == "graph" else None

    @property
    def region_names(self) -> list[str]:
        """The region of each place, if the experiment says what names it. Raises TraceError for a bad file.

        Several places may be in one region.
        """
        from emulator.network.graph_text import attribute_of_nodes
        from emulator.network.pairs_text import names_in_pairs

        if self.regions is None or self.kind not in ("graph", "pairs"):
            return []
        if self.kind == "pairs":
            return names_in_pairs(self.file)
        return [name for _, name in attribute_of_nodes(self.file, self.regions, "regions")]

    def region_counts(self, peers: int) -> list[int]:
        """Return for each place the fewest of so many peers, spread evenly, that stand there in any draw."""
        names = self.region_names
        return [peers // len(names)] * len(names) if names else []

    def problems(self, peers: int) -> Problems:
        """Return what is wrong with what names the regions."""
        if self.regions is None or self.kind == "graph" or (self.kind, self.regions) == ("pairs", "name"):
            return []
        if self.kind == "pairs":
            return [("regions", "must be `name` in pairs, whose hosts have names and nothing else")]
        return [("regions", f"is for graphs and pairs: a file of kind {self.kind} has no names")]

    def facts(self, seed: int) -> Facts:
        """Return what the file has, and what was filled in, averaged and left out. Raises TraceError."""
        from emulator.network.matrix_files import load_rtt

        return load_rtt(self).facts

    @property
    def zeros_are_one_place(self) -> bool:
        """This is true if the experiment says so."""
        return self.zeros == "same_host_rtt"

    @property
    def has_directions(self) -> bool:
        """This is true if the file has one-way delays of each direction."""
        return self.asymmetry == "one-way"

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not given, so that the experiments of earlier versions stay the same."""
        return {name: value for name, value in serialize(self).items() if value is not None}
