"""The best arrangement of two cliques: one clique, or two between which members are exchanged.

The search maximises nearness: the sum, over all pairs of servers in one clique, of how much nearer the two
are than the diameter allows. A pair that is farther apart adds nothing, because such a pair is together only
where a smaller clique would be below the minimum. So no merge lowers the sum, every exchange raises it, and
exchanges come to an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.protocols.overlays.cliques.view import Rtts, pair

_WIDER: Final = 1.1
"""A clique is too wide if it exceeds this many times the diameter, because measurements vary."""
UNKNOWN: Final = 10.0
"""The seconds that are assumed between two peers if no measurement is known."""
_LEAST: Final = 0.02
"""The least gain of nearness that makes a step worth it, as a share of the diameter for each member of the
two cliques: measurements vary, and each change makes work for what builds on cliques."""


class Bounds:
    """The limits of a clique: its number of members, and the seconds between any two of them."""

    def __init__(self, size: int, diameter: float) -> None:
        self.size = size
        self.diameter = diameter


def widest(members: Sequence[int], rtts: Rtts) -> float:
    """Return the greatest RTT between any two members in seconds, `UNKNOWN` where it is not known."""
    return max(
        (rtts.get(pair(a, b), UNKNOWN) for i, a in enumerate(members) for b in members[:i]), default=0.0
    )


def rearrange(
    one: list[int], two: list[int], rtts: Rtts, bounds: Bounds, however_far: bool = False
) -> list[list[int]] | None:
    """Return the members of what two cliques should become, or None if they should stay as they are.

    They merge if the result keeps the bounds (with `however_far`, if there is room). Otherwise members move
    or are swapped, the best step first, while nearness grows.
    """
    together = [*one, *two]
    if len(together) <= bounds.size and (however_far or widest(together, rtts) <= bounds.diameter):
        return [together]
    exchange = _Exchange(one, two, rtts, bounds)
    return exchange.cliques if exchange.run() else None


def have_grown(members: Sequence[int], before: Rtts, now: Rtts, bounds: Bounds) -> bool:
    """Return whether two members that were near enough before are too far from each other now."""
    wide = bounds.diameter * _WIDER
    pairs = [pair(a, b) for place, a in enumerate(members) for b in members[:place]]
    return any(before.get(both, UNKNOWN) <= wide < now.get(both, 0.0) for both in pairs)


def split(members: Sequence[int], rtts: Rtts, bounds: Bounds, minimum: int) -> list[list[int]] | None:
    """Return the parts of a clique that has grown too wide; None if it has not, or a part would be too small.

    The parts are those of HAC (figure 5) over the members: the two nearest merge while they fit the diameter.
    """
    if not bounds.diameter * _WIDER < widest(members, rtts) < UNKNOWN:
        return None
    parts = [[member] for member in members]
    while True:
        pairs = [(widest([*a, *b], rtts), i, j) for i, a in enumerate(parts) for j, b in enumerate(parts[:i])]
        apart, one, two = min(pairs)
        if apart > bounds.diameter:
            return parts if min(map(len, parts)) >= minimum else None
        parts[two] += parts.pop(one)


class _Exchange:
    """A search for better arrangements that starts from the present one."""

    def __init__(self, one: list[int], two: list[int], rtts: Rtts, bounds: Bounds) -> None:
        self.cliques = [list(one), list(two)]
        self._rtts = rtts
        self._bounds = bounds

    def run(self) -> bool:
        """Make steps while nearness grows. Returns whether anything changed."""
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
        """Return the members that change sides in the step that adds most nearness."""
        one, two = self.cliques
        size = self._bounds.size
        gain = {peer: self._nearness(peer, two) - self._nearness(peer, one) for peer in one}
        gain |= {peer: self._nearness(peer, one) - self._nearness(peer, two) for peer in two}
        steps = [([a], [b], gain[a] + gain[b] - 2 * self._near(a, b)) for a in one for b in two]
        if len(one) > 1 and len(two) < size:
            steps += [([a], [], gain[a]) for a in one]
        if len(two) > 1 and len(one) < size:
            steps += [([], [b], gain[b]) for b in two]
        least = _LEAST * self._bounds.diameter * (len(one) + len(two))
        for left, right, grows in sorted(steps, key=lambda step: -step[2]):
            if grows < least:
                break
            if self._fits(left, right):
                return left, right
        return None

    def _near(self, a: int, b: int) -> float:
        return max(0.0, self._bounds.diameter - self._rtts.get(pair(a, b), UNKNOWN))

    def _nearness(self, peer: int, members: list[int]) -> float:
        return sum(self._near(peer, other) for other in members if other != peer)

    def _fits(self, left: list[int], right: list[int]) -> bool:
        """Return whether members that come are not too far from those that stay."""
        one, two = self.cliques
        for coming, going, members in ((right, left, one), (left, right, two)):
            for peer in coming:
                for other in members:
                    apart = self._rtts.get(pair(peer, other), UNKNOWN)
                    if other not in going and apart > self._bounds.diameter:
                        return False
        return True
