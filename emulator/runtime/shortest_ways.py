"""The shortest ways between peers through a network, over any other peers."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.network.peer_network import Network

_KEPT = 1024
"""The places whose ways and delays are kept at a time."""


class ShortestWays:
    """The least delays between peers, computed as they are asked for.

    Measured delays do not obey the triangle inequality, so a message that others pass on may be earlier than
    one that goes straight. Where jitter makes messages early, each may be as early as it can be. Where delays
    change in time, the least of each pair counts.
    """

    def __init__(self, network: Network) -> None:
        self._rows = [np.asarray(row) for row in network.rows]
        for _, rows in network.later:
            self._rows = [np.minimum(row, rows[place]) for place, row in enumerate(self._rows)]
        if network.earliest:
            self._rows = [np.maximum(row - network.earliest, 0.0) for row in self._rows]
        self._places = network.locations
        self._from = lru_cache(_KEPT)(self._ways_from)
        self._to = lru_cache(_KEPT)(self._delays_to)

    @cached_property
    def least_of_all(self) -> float:
        """The least one-way delay of all pairs in seconds."""
        return min(float(row.min()) for row in self._rows)

    def least(self, sender: int, receiver: int, enough: float) -> float:
        """Return the least seconds from peer to peer over any others; any way of at most `enough` seconds
        will do.

        The search for a way over one other place is short, and mostly finds one; the least one is looked for
        where it does not.
        """
        here, there = self._places[sender], self._places[receiver]
        row, column = self._rows[here], self._to(there)
        straight = float(row[there])
        over_others = float(row.min()) + float(column.min())
        if straight <= enough or enough < min(straight, over_others):
            return min(straight, max(over_others, 0.0))
        over_one = float((row + column).min())
        return over_one if over_one <= enough else float(self._from(here)[there])

    def _delays_to(self, place: int) -> NDArray[Any]:
        """Return the delays from all places to this one."""
        return np.fromiter((row[place] for row in self._rows), np.float64, len(self._rows))

    def _ways_from(self, place: int) -> NDArray[Any]:
        """Return the least delays from this place to all (Dijkstra, 1959, for dense graphs)."""
        ways = self._rows[place].astype(np.float64)
        left = np.ones(len(ways), bool)
        for _ in range(len(ways)):
            nearest = int(np.argmin(np.where(left, ways, np.inf)))
            left[nearest] = False
            np.minimum(ways, ways[nearest] + self._rows[nearest], out=ways)
        return ways
