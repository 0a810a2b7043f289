"""Loss by where peers are: by the classes of their links, and between places of the latency matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

Pair = tuple[int, int]
"""Two rows of the latency matrix; the pair of one row stands for the peers there among themselves."""


class PlacedLoss:
    """The loss of one trial. What a message meets on its way is independent of each other."""

    def __init__(
        self, links: Sequence[float], locations: Sequence[int], between: Mapping[Pair, float]
    ) -> None:
        """`links[peer]` is the share that vanishes on the peer's own link, on the way up and on the way down.

        `between` has the share that vanishes between two places, in either direction; none if it lacks the
        pair.
        """
        self._arrives = [1.0 - share for share in links]
        self._locations = locations
        self._between = {
            pair: 1.0 - share
            for (one, other), share in between.items()
            for pair in ((one, other), (other, one))
        }

    def hits(self, sender: int, receiver: int, random: Random) -> bool:
        """Return whether this message vanishes."""
        places = self._locations[sender], self._locations[receiver]
        arrives = self._arrives[sender] * self._arrives[receiver] * self._between.get(places, 1.0)
        return arrives < 1.0 and random.random() >= arrives


def placed_loss(
    links: Sequence[float], locations: Sequence[int], between: Mapping[Pair, float]
) -> PlacedLoss | None:
    """Return the loss of these links and places, None if nothing vanishes there."""
    return PlacedLoss(links, locations, between) if any(links) or any(between.values()) else None
