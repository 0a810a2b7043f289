"""Ranges of places in packed columns, one for each peer of a host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

_FIRST_ROOM: Final[i64] = 16
NO_PLACE: Final[i64] = -1


class PeerRanges(ABC):
    """The ranges of columns that a subclass has, by the rows of peers.

    A range begins anywhere and is used up to a count. One that is full moves to a range with twice the room,
    and others get the one that it leaves.
    """

    def __init__(self) -> None:
        self._begins = vec[i64]()
        self._rooms = vec[i64]()
        self._counts = vec[i64]()
        self._left: dict[int, list[int]] = {}
        """The begins of ranges that rows have outgrown, by the room in them."""
        self.peers = vec[i64]()
        """The peer at each place, the column that every subclass has."""

    @abstractmethod
    def lengthen(self) -> None:
        """Add a place to each column but `peers`."""

    @abstractmethod
    def copy(self, place: i64, to: i64) -> None:
        """Copy what all columns but `peers` have at a place to another place."""

    def count(self, row: i64) -> i64:
        """Return the number of places that the row uses."""
        return self._counts[row]

    def begin(self, row: i64) -> i64:
        """Return the row's first place."""
        return self._begins[row]

    def end(self, row: i64) -> i64:
        """Return the place after the row's last one."""
        return self._begins[row] + self._counts[row]

    def find(self, row: i64, peer: i64) -> i64:
        """Return the row's place of a peer, or `NO_PLACE`."""
        peers = self.peers
        place = self._begins[row]
        end = place + self._counts[row]
        while place < end:
            if peers[place] == peer:
                return place
            place += 1
        return NO_PLACE

    def leave(self, row: i64) -> None:
        """Use no place of the row any more. A row that is new gets a range when it needs one."""
        while len(self._counts) <= row:
            self._begins = append(self._begins, i64(0))
            self._rooms = append(self._rooms, i64(0))
            self._counts = append(self._counts, i64(0))
        self._counts[row] = 0

    def take_out(self, row: i64, place: i64) -> None:
        """Use a place no more; those after it move forward."""
        end = self.end(row) - 1
        while place < end:
            self.peers[place] = self.peers[place + 1]
            self.copy(place + 1, place)
            place += 1
        self._counts[row] -= 1

    def next_place(self, row: i64, peer: i64) -> i64:
        """Return the place after the row's last one, which is the peer's from now on."""
        if self._counts[row] == self._rooms[row]:
            self._widen(row)
        place = self.end(row)
        self.peers[place] = peer
        self._counts[row] += 1
        return place

    def _widen(self, row: i64) -> None:
        """Move a row to a range with twice the room."""
        former, room, count = self._begins[row], self._rooms[row], self._counts[row]
        wide = max(2 * room, _FIRST_ROOM)
        begins = self._left.get(int(wide))
        if begins:
            begin = i64(begins.pop())
        else:
            begin = len(self.peers)
            for _ in range(wide):
                self.peers = append(self.peers, i64(0))
                self.lengthen()
        place: i64
        for place in range(count):
            self.peers[begin + place] = self.peers[former + place]
            self.copy(former + place, begin + place)
        if room:
            self._left.setdefault(int(room), []).append(int(former))
        self._begins[row] = begin
        self._rooms[row] = wide
