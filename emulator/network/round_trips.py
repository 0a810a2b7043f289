"""Round-trip times of an emulated network as a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.network.build_network import build_network
from emulator.network.spec import NetworkSpec


def rtt_between(spec: NetworkSpec, locations: NDArray[np.int32], seed: int) -> NDArray[np.float64]:
    """Return the RTTs (s) between peers at these rows of the matrix, in their order."""
    network = build_network(spec, locations.tolist(), seed)
    one_way = np.array(network.rows, np.float64)[np.ix_(network.locations, network.locations)]
    rtt: NDArray[np.float64] = one_way + one_way.T
    np.fill_diagonal(rtt, 0.0)
    return rtt
