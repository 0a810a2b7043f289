"""The network between peers: one-way delay, jitter and loss."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from emulator.network.files import count_hosts, load_rtt
from emulator.network.king import king_rtt
from emulator.network.spec import Constant, King, Latency, NetworkSpec
from emulator.streams import generator

_HALF_NORMAL_DEVIATION = math.sqrt(1 - 2 / math.pi)


class Network:
    """One-way delays between peers that stand at the hosts of a latency matrix.

    `rows[location][location]` is a one-way delay in seconds as a plain float, for hot loops;
    `locations[peer]` is a peer's row. Several peers may stand at one host; the diagonal holds the
    delay between them. Memory grows with the hosts, not with the peers.
    """

    __slots__ = ("_sigma", "jitter", "locations", "loss", "rows", "unreachable_after")

    def __init__(
        self, rtt: NDArray[np.float32], same_host_rtt: float, locations: Sequence[int], spec: NetworkSpec
    ) -> None:
        one_way = rtt / np.float32(2)
        np.fill_diagonal(one_way, same_host_rtt / 2)
        self.rows: list[array[float]] = [array("f", row.tobytes()) for row in one_way]
        self.locations = list(locations)
        if self.locations and not 0 <= min(self.locations) <= max(self.locations) < len(self.rows):
            raise ValueError(f"a peer's location is not one of the {len(self.rows)} hosts of the matrix")
        self.jitter = spec.jitter
        self.loss = spec.loss
        self.unreachable_after = spec.unreachable_after
        self._sigma = spec.jitter / _HALF_NORMAL_DEVIATION

    def one_way(self, sender: int, receiver: int) -> float:
        """Seconds from peer to peer, half of the pair's RTT, without jitter."""
        return self.rows[self.locations[sender]][self.locations[receiver]]

    def delay(self, sender: int, receiver: int, random: Random) -> float | None:
        """Seconds that this message takes, or None if it is lost.

        Jitter only adds: a half-normal variable whose standard deviation is `jitter` (and whose mean is
        1.32 times that), because queues make packets late and never early.
        """
        if self.loss and random.random() < self.loss:
            return None
        base = self.one_way(sender, receiver)
        return base + abs(random.gauss(0.0, self._sigma)) if self._sigma else base


def host_count(latency: Latency) -> int:
    """Hosts of the matrix: the values that a plan's `location` may take. Reads a matrix file's shape."""
    match latency:
        case King():
            return latency.hosts
        case Constant():
            return 1
        case _:
            return count_hosts(latency)


def place(peers: int, hosts: int, random: np.random.Generator) -> NDArray[np.int32]:
    """A host for each peer: distinct ones while they last, and never two more peers at one than another."""
    rounds = -(-peers // hosts)
    return np.concatenate([random.permutation(hosts) for _ in range(rounds)])[:peers].astype(np.int32)


def build_network(spec: NetworkSpec, locations: Sequence[int], seed: int) -> Network:
    """The network of a trial; `locations` is the plan's column, one row of the matrix for each peer.

    Raises TraceError for a bad matrix file, ValueError for a location that the matrix does not have.
    """
    latency = spec.latency
    match latency:
        case King():
            rtt = king_rtt(latency.hosts, latency.mean_rtt, generator(seed, "network", "king"))
            return Network(rtt, spec.same_host_rtt, locations, spec)
        case Constant():
            return Network(np.zeros((1, 1), np.float32), latency.rtt, locations, spec)
        case _:
            return Network(load_rtt(latency).rtt, spec.same_host_rtt, locations, spec)
