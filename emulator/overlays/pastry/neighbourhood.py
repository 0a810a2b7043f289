"""The neighbourhood set (Pastry, section 2.1): the nearest peers by round trip."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator


class Neighbourhood:
    """Up to `size` peers."""

    __slots__ = ("_members", "_size", "_sorted")

    def __init__(self, size: int) -> None:
        self._size = size
        self._sorted: list[tuple[float, int]] = []
        self._members: dict[int, float] = {}

    def __contains__(self, peer: int) -> bool:
        return peer in self._members

    def __iter__(self) -> Iterator[int]:
        """Nearest first."""
        return (peer for _, peer in self._sorted)

    def __len__(self) -> int:
        return len(self._sorted)

    def offer(self, peer: int, round_trip: float) -> int | None:
        """Take the peer in if it is near enough (s); who had to go."""
        if len(self._sorted) == self._size and round_trip >= self._sorted[-1][0]:
            return None
        self.remove(peer)
        insort(self._sorted, (round_trip, peer))
        self._members[peer] = round_trip
        if len(self._sorted) <= self._size:
            return None
        gone = self._sorted.pop()[1]
        del self._members[gone]
        return gone

    def remove(self, peer: int) -> bool:
        """Whether it was in."""
        round_trip = self._members.pop(peer, None)
        if round_trip is None:
            return False
        self._sorted.remove((round_trip, peer))
        return True
