"""The bootstrap service: it knows which peers are up and names a few random ones, as a tracker does."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

CONTACTS = 3
"""The number of peers that the service names at a time."""


class Tracker:
    """The peers that are up, and random choices of them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._up: list[int] = []
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._up)

    def __iter__(self) -> Iterator[int]:
        return iter(self._up)

    def add(self, peer: int) -> None:
        """Add a peer that came up. A second call is harmless."""
        if peer not in self._place:
            self._place[peer] = len(self._up)
            self._up.append(peer)

    def remove(self, peer: int) -> None:
        """Remove a peer that went down. A second call is harmless."""
        place = self._place.pop(peer, None)
        if place is not None:
            last = self._up.pop()
            if last != peer:
                self._up[place] = last
                self._place[last] = place

    def contacts(self, peer: int) -> list[int]:
        """Return a few random peers that are up, without the one that asks."""
        drawn = self._random.sample(self._up, min(CONTACTS + 1, len(self._up)))
        return [other for other in drawn if other != peer][:CONTACTS]
