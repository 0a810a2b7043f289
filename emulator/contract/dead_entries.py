"""A look for entries of views whose peers have long been down."""

from __future__ import annotations

import math
from collections.abc import Iterable

from emulator.contract.invariants import Broken, PeersUp


class DeadEntries:
    """The peers that keep somebody who has been down for longer than their views may keep them."""

    def __init__(self, up: PeersUp) -> None:
        self._up = up
        self._down: dict[int, float] = {}
        self._keep: list[int] = []
        self._oldest = 0.0

    def look_at(self, peer: int, view: Iterable[int], longest: float) -> None:
        """Look at the view of a peer, which may hold others that have been down for `longest` seconds.

        Peers that were never up do not count.
        """
        for other in view:
            if other not in self._down:
                gone = self._up.down_for(other)
                self._down[other] = 0.0 if math.isinf(gone) else gone
            if self._down[other] > longest:
                self._oldest = max(self._oldest, self._down[other])
                if not self._keep or self._keep[-1] != peer:
                    self._keep.append(peer)

    def broken(self) -> Broken | None:
        """Return the first peers that keep somebody for too long, None if nobody does."""
        if not self._keep:
            return None
        text = f"{len(self._keep)} views hold a peer that has been down for up to {self._oldest:.0f} s"
        return Broken(self._keep[:5], text)
