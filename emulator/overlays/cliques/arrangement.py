"""What two cliques should become: one, or two between which members are exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.overlays.cliques.view import Rtts, pair

UNKNOWN: Final = 10.0
"""Seconds between two peers of which it is not known."""


class Bounds:
    """What a clique has to keep to: members, and seconds between any two of them."""

    def __init__(self, size: int, minimum: int, diameter: float) -> None:
        self.size = size
        self.minimum = minimum
        self.diameter = diameter


def widest(members: Sequence[int], rtts: Rtts) -> float:
    """The greatest RTT between any two; `UNKNOWN` where one is not known."""
    unknown = UNKNOWN
    return max((rtts.get(pair(a, b), unknown) for i, a in enumerate(members) for b in members[:i]), default=0.0)


def rearrange(one: list[int], two: list[int], rtts: Rtts, bounds: Bounds) -> list[list[int]] | None:
    """The members of what the two should become, or None if they are well as they are.

    They merge if that fits, or if one is below the minimum and the other has room. Else members move or are
    swapped, the best step first, while the mean RTT inside falls.
    """
    together = [*one, *two]
    if len(together) <= bounds.size:
        too_small = min(len(one), len(two)) < bounds.minimum
        if too_small or widest(together, rtts) <= bounds.diameter:
            return [together]
    exchange = _Exchange(one, two, rtts, bounds)
    if not exchange.run():
        return None
    return exchange.cliques


class _Exchange:
    """A search from the arrangement as it is."""

    def __init__(self, one: list[int], two: list[int], rtts: Rtts, bounds: Bounds) -> None:
        self.cliques = [list(one), list(two)]
        self._rtts = rtts
        self._bounds = bounds

    def run(self) -> bool:
        """Whether anything changed."""
        changed = False
        while True:
            step = self._best_step()
            if step is None:
                return changed
            changed = True
            for side, leaving in enumerate(step):
                for peer in leaving:
                    self.cliques[side].remove(peer)
                    self.cliques[1 - side].append(peer)

    def _best_step(self) -> tuple[list[int], list[int]] | None:
        """The members that change sides, where the mean falls most."""
        one, two = self.cliques
        sums = [self._inside(one), self._inside(two)]
        links = {peer: (self._links(peer, one), self._links(peer, two)) for peer in (*one, *two)}
        best, chosen = self._mean(sums[0] + sums[1], len(one), len(two)) * (1 - 1e-6), None
        steps = [([a], [b]) for a in one for b in two]
        steps += [([a], []) for a in one if len(one) > self._bounds.minimum and len(two) < self._bounds.size]
        steps += [([], [b]) for b in two if len(two) > self._bounds.minimum and len(one) < self._bounds.size]
        for left, right in steps:
            total = sums[0] + sums[1]
            for a in left:
                total += links[a][1] - links[a][0]
            for b in right:
                total += links[b][0] - links[b][1]
            if left and right:
                total -= 2 * self._rtts.get(pair(left[0], right[0]), UNKNOWN)
            shift = len(right) - len(left)
            mean = self._mean(total, len(one) + shift, len(two) - shift)
            if mean < best and self._fits(left, right):
                best, chosen = mean, (left, right)
        return chosen

    def _mean(self, total: float, one: int, two: int) -> float:
        pairs = one * (one - 1) / 2 + two * (two - 1) / 2
        return total / pairs if pairs else 0.0

    def _inside(self, members: list[int]) -> float:
        return sum(self._links(peer, members) for peer in members) / 2

    def _links(self, peer: int, members: list[int]) -> float:
        unknown = UNKNOWN
        return sum(self._rtts.get(pair(peer, other), unknown) for other in members if other != peer)

    def _fits(self, left: list[int], right: list[int]) -> bool:
        """Whether those that come are not too far from those that stay."""
        one, two = self.cliques
        for coming, going, members in ((right, left, one), (left, right, two)):
            for peer in coming:
                for other in members:
                    rtt = self._rtts.get(pair(peer, other), UNKNOWN)
                    if other not in going and rtt > self._bounds.diameter:
                        return False
        return True
