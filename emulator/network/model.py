"""The network between peers: one-way delay, jitter and loss."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from random import Random

from emulator.network.spec import NetworkSpec

_HALF_NORMAL_DEVIATION = math.sqrt(1 - 2 / math.pi)


class Network:
    """One-way delays between peers that stand at the places of a latency matrix.

    `rows[location][location]` is a one-way delay in seconds as a plain float, for hot loops;
    `locations[peer]` is a peer's row. Several peers may stand at one place; the diagonal holds the
    delay between them. Memory grows with the places, not with the peers; whoever sends for some peers
    alone needs their rows alone.
    """

    __slots__ = ("_sigma", "jitter", "locations", "loss", "rows", "unreachable_after")

    def __init__(
        self,
        rows: Sequence[array[float]] | Mapping[int, array[float]],
        locations: Sequence[int],
        spec: NetworkSpec,
    ) -> None:
        self.rows = rows
        self.locations = list(locations)
        self.jitter = spec.jitter
        self.loss = spec.loss
        self.unreachable_after = spec.unreachable_after
        self._sigma = spec.jitter / _HALF_NORMAL_DEVIATION

    def one_way(self, sender: int, receiver: int) -> float:
        """The seconds from peer to peer: half of the pair's RTT, without jitter."""
        return self.rows[self.locations[sender]][self.locations[receiver]]

    def delay(self, sender: int, receiver: int, random: Random) -> float | None:
        """The seconds that this message takes, or None if it is lost.

        Jitter only adds: a half-normal variable whose standard deviation is `jitter` (and whose mean is
        1.32 times that), because queues make packets late and never early.
        """
        if self.loss and random.random() < self.loss:
            return None
        base = self.one_way(sender, receiver)
        return base + abs(random.gauss(0.0, self._sigma)) if self._sigma else base
