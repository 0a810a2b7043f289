"""Loss by where peers are: by the classes of their links, and between places of the latency matrix."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from random import Random


class PlacedLoss:
    """The loss of one trial. What a message meets on its way is independent of each other."""

    def __init__(
        self,
        links: Sequence[float],
        locations: Sequence[int],
        lost: Sequence[array[float]] | Mapping[int, array[float]],
    ) -> None:
        """`links[peer]` is the share that vanishes on the peer's own link, on the way up and on the way down.

        `lost[place][place]` is the share that vanishes between two rows of the latency matrix; none if it is
        empty. The diagonal holds that between the peers of one place.
        """
        self._arrives = [1.0 - share for share in links]
        self._locations = locations
        self._lost = lost

    def hits(self, sender: int, receiver: int, random: Random) -> bool:
        """Return whether this message vanishes."""
        arrives = self._arrives[sender] * self._arrives[receiver]
        if self._lost:
            arrives *= 1.0 - self._lost[self._locations[sender]][self._locations[receiver]]
        return arrives < 1.0 and random.random() >= arrives


def placed_loss(
    links: Sequence[float],
    locations: Sequence[int],
    lost: Sequence[array[float]] | Mapping[int, array[float]],
) -> PlacedLoss | None:
    """Return the loss of these links and places, None if nothing vanishes there."""
    return PlacedLoss(links, locations, lost) if any(links) or lost else None
