"""The leaf set (Pastry, section 2.1): the peers next to this one on the ring."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from emulator import identifiers
from emulator.identifiers import HALF, MASK, SPACE


class LeafSet:
    """Up to `size` / 2 peers on each side, each side being half of the ring."""

    __slots__ = ("_half", "_leftmost", "_members", "_offsets", "_own", "_ring", "left", "right")

    def __init__(self, own: int, size: int, peers: Iterable[int] = ()) -> None:
        """`own` is the identifier of the peer whose leaves these are; `peers` are considered at once."""
        self._own = own
        self._half = size // 2
        self.left: list[tuple[int, int]] = []
        """(distance, peer) counter-clockwise, nearest first."""
        self.right: list[tuple[int, int]] = []
        """(distance, peer) clockwise, nearest first."""
        self._members: set[int] = set()
        for peer in self.newcomers(peers):
            self._members.add(peer)
            insort(self.side_of(peer), (self._distance(peer), peer))
        self._rebuild()

    def __contains__(self, peer: int) -> bool:
        return peer in self._members

    def __iter__(self) -> Iterator[int]:
        """From the leftmost to the rightmost."""
        return (peer for peer in self._ring if peer is not None)

    def __len__(self) -> int:
        return len(self._members)

    @property
    def sides(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Left and right."""
        return self.left, self.right

    def is_short(self, side: list[tuple[int, int]]) -> bool:
        """Fewer peers than it may have."""
        return len(side) < self._half

    def side_of(self, peer: int) -> list[tuple[int, int]]:
        """Where the peer is or would be."""
        return self.left if (identifiers.of_peer(peer) - self._own) & MASK > HALF else self.right

    def takes(self, peer: int) -> bool:
        """Whether `add` would add this peer (which is not this one itself)."""
        if peer in self._members:
            return False
        side = self.side_of(peer)
        return len(side) < self._half or self._distance(peer) < side[-1][0]

    def newcomers(self, peers: Iterable[int]) -> list[int]:
        """Those of the peers that would be leaves if all of them were added."""
        chosen: list[int] = []
        sides: list[list[tuple[int, int]]] = [[], []]
        for peer in dict.fromkeys(peers):
            if self.takes(peer):
                sides[self.side_of(peer) is self.right].append((self._distance(peer), peer))
        for former, new in zip(self.sides, sides, strict=True):
            if new:
                kept = sorted([*former, *new])[: self._half]
                chosen += [peer for _, peer in kept if peer not in self._members]
        return chosen

    def add(self, peer: int) -> list[int] | None:
        """Take the peer in; the peers that had to go (at most one), or None if it has no place."""
        if not self.takes(peer):
            return None
        side = self.side_of(peer)
        insort(side, (self._distance(peer), peer))
        dropped = [gone for _, gone in side[self._half :]]
        del side[self._half :]
        self._members.add(peer)
        self._members.difference_update(dropped)
        self._rebuild()
        return dropped

    def remove(self, peer: int) -> bool:
        """Whether it was in."""
        if peer not in self._members:
            return False
        self.side_of(peer).remove((self._distance(peer), peer))
        self._members.remove(peer)
        self._rebuild()
        return True

    def covers(self, key: int) -> bool:
        """The key lies between the leftmost and the rightmost leaf."""
        return (key - self._leftmost) & MASK <= self._offsets[-1]

    def closest(self, key: int) -> int | None:
        """Of this peer (None) and the leaves, the closest to a key that is covered."""
        offset = (key - self._leftmost) & MASK
        place = bisect_left(self._offsets, offset)
        if place and offset - self._offsets[place - 1] < self._offsets[place] - offset:
            place -= 1
        return self._ring[place]

    def nearest(self) -> list[int]:
        """The leaves, nearest first."""
        return [peer for _, peer in sorted([*self.left, *self.right])]

    def _distance(self, peer: int) -> int:
        clockwise = (identifiers.of_peer(peer) - self._own) & MASK
        return SPACE - clockwise if clockwise > HALF else clockwise

    def _rebuild(self) -> None:
        reach = self.left[-1][0] if self.left else 0
        self._leftmost = (self._own - reach) & MASK
        self._ring: list[int | None] = [peer for _, peer in reversed(self.left)]
        self._ring.append(None)
        self._ring += [peer for _, peer in self.right]
        self._offsets = [reach - distance for distance, _ in reversed(self.left)]
        self._offsets.append(reach)
        self._offsets += [reach + distance for distance, _ in self.right]
