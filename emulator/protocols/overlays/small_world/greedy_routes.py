"""Greedy routing on the ring, which finds the neighbour that is closest to a key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter, itemgetter

from emulator.contract.identifiers import Ring
from trellis.v1.overlay import Contact


class GreedyRoutes:
    """The ring cut into regions: a key goes to the neighbour in whose region it lies."""

    def __init__(self, space: Ring, own: Contact) -> None:
        """`own` is the peer that routes."""
        self._space = space
        self._own = own
        self._starts: list[int] = []
        self._closest: list[Contact] = []
        self.rebuild(())

    def rebuild(self, neighbours: Iterable[Contact]) -> None:
        """Route over these neighbours from now on."""
        mask = self._space.mask
        ring = sorted([self._own, *neighbours], key=attrgetter("identifier"))
        regions: list[tuple[int, Contact]] = []
        before = ring[-1].identifier
        for contact in ring:
            gap = (contact.identifier - before) & mask
            # A key half-way between two belongs to the first; a peer that is alone has the whole ring.
            regions.append(((before + gap // 2 + 1) & mask, contact))
            before = contact.identifier
        regions.sort(key=itemgetter(0))
        self._starts = [start for start, _ in regions]
        self._closest = [contact for _, contact in regions]

    def next_hop(self, key: int) -> Contact | None:
        """Return the closest neighbour, or None if no neighbour is closer than the peer itself."""
        # Index -1, before the first border, is the region that reaches over the end of the ring.
        closest = self._closest[bisect_right(self._starts, key) - 1]
        return None if closest is self._own else closest
