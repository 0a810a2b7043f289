"""A peer's memory of how other peers rate: where they are on the ring, and how alike their interests are."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.identifiers import Ring
from emulator.protocols.gossip.profiles import utility
from trellis.v1.overlay import Profile

_ROWS: Final = 128
_BITS: Final = 62
"""The highest bits of a distance, which are kept: far fewer tell peers apart."""


class Ratings:
    """A store of values computed from this peer's profile and those of others, when they are asked for.

    Most peers that an exchange tells of were in the last exchange too. A row is found by the peer's number;
    peers that share a row replace each other, and what is not remembered is computed again.
    """

    def __init__(self, space: Ring, identifier: int) -> None:
        """`identifier` is that of the peer that remembers."""
        self._shift = space.bits - _BITS
        self._place = i64(identifier >> self._shift)
        self._own: Profile | None = None
        self._rated: list[Profile | None] = [None] * _ROWS
        self._utilities = vec[float]([0.0] * _ROWS)
        self._clockwise = vec[i64]([i64(0)] * _ROWS)
        self._orders = vec[i64]([i64(0)] * _ROWS)

    def row(self, own: Profile, other: Profile) -> i64:
        """Find or compute the ratings of another peer. They stay in the returned row until the next call."""
        if own is not self._own:
            self._own = own
            self._rated = [None] * _ROWS
        place = other.peer % _ROWS
        row = i64(place)
        rated = self._rated[place]
        if rated is not other:
            if rated is None or (
                rated.peer != other.peer or rated.version != other.version or rated.session != other.session
            ):
                self._utilities[row] = utility(own, other)
                theirs = i64(other.identifier >> self._shift)
                self._clockwise[row] = (theirs - self._place) & (RING_UNITS - 1)
                self._orders[row] = theirs ^ self._place
            self._rated[place] = other
        return row

    def utility(self, row: i64) -> float:
        """Return the utility by Equation 1 of Vitis."""
        return self._utilities[row]

    def clockwise(self, row: i64) -> i64:
        """Return the distance from this peer clockwise to the other one, in units of 2^-62 of the ring."""
        return self._clockwise[row]

    def order(self, row: i64) -> i64:
        """Return a number that orders peers, in a different order at each peer."""
        return self._orders[row]


RING_UNITS: Final[i64] = 1 << _BITS
"""The whole ring in the units of `Ratings.clockwise`."""
