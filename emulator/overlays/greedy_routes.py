"""Greedy routing on the ring: which neighbour is closest to a key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from emulator.identifiers import MASK


class GreedyRoutes:
    """The ring cut into regions: what is closest to a neighbour goes to it."""

    def __init__(self, identifier: int) -> None:
        """`identifier` of the peer that routes."""
        self._identifier = identifier
        self.version = 0
        """Changes whenever `next_hop` may answer otherwise than before."""
        self.rebuild(())

    def rebuild(self, neighbours: Iterable[tuple[int, int]]) -> None:
        """Route over these neighbours, (identifier, peer) each, from now on."""
        ring: list[tuple[int, int | None]] = [(self._identifier, None), *neighbours]
        ring.sort(key=lambda entry: entry[0])
        regions = sorted(
            ((before + ((identifier - before) & MASK) // 2 + 1) & MASK, index)
            for index, (identifier, before) in enumerate(
                (identifier, ring[index - 1][0]) for index, (identifier, _) in enumerate(ring)
            )
        )
        self._starts = [start for start, _ in regions]
        self._peers = [ring[index][1] for _, index in regions]
        self.version += 1

    def next_hop(self, key: int) -> int | None:
        """The closest neighbour, or None if no neighbour is closer than the peer itself."""
        # Index -1, before the first border, is the region that goes over the end of the ring.
        return self._peers[bisect_right(self._starts, key) - 1]
