"""The network of a trial, drawn or read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.contract.random_streams import generator
from emulator.network.king import king_rtt
from emulator.network.links import Network
from emulator.network.matrix_files import count_hosts, load_rtt
from emulator.network.spec import Constant, King, Latency, NetworkSpec


def host_count(latency: Latency) -> int:
    """Count the hosts of the matrix, which a plan's `location` numbers. Reads a matrix file's shape."""
    match latency:
        case King():
            return latency.hosts
        case Constant():
            return 1
        case _:
            return count_hosts(latency)


def place(peers: int, hosts: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw a host for each peer; the numbers of peers at any two hosts differ by one at most."""
    rounds = -(-peers // hosts)
    return np.concatenate([random.permutation(hosts) for _ in range(rounds)])[:peers].astype(np.int32)


def draw_locations(spec: NetworkSpec, peers: int, seed: int) -> NDArray[np.int32]:
    """Draw the row of the latency matrix for each of a trial's peers."""
    return place(peers, host_count(spec.latency), generator(seed, "plan", "locations"))


def build_network(spec: NetworkSpec, locations: Sequence[int], seed: int) -> Network:
    """The network of a trial; `locations` is the plan's column, one row of the matrix for each peer.

    Raises TraceError for a bad matrix file, ValueError for a location that the matrix does not have.
    """
    latency = spec.latency
    match latency:
        case King():
            rtt = king_rtt(latency.hosts, latency.mean_rtt, generator(seed, "network", "king"))
            return network_of(rtt, spec.same_host_rtt, locations, spec)
        case Constant():
            return network_of(np.zeros((1, 1), np.float32), latency.rtt, locations, spec)
        case _:
            return network_of(load_rtt(latency).rtt, spec.same_host_rtt, locations, spec)


def network_of(
    rtt: NDArray[np.float32], same_host_rtt: float, locations: Sequence[int], spec: NetworkSpec
) -> Network:
    """The network of a matrix in seconds, whose diagonal does not count.

    Raises ValueError for a location that the matrix does not have.
    """
    one_way = rtt / np.float32(2)
    np.fill_diagonal(one_way, same_host_rtt / 2)
    if len(locations) and not 0 <= min(locations) <= max(locations) < len(one_way):
        raise ValueError(f"a peer's location is not one of the {len(one_way)} hosts of the matrix")
    return Network([array("f", row.tobytes()) for row in one_way], locations, spec)
