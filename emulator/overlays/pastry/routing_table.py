"""The routing table (Pastry, section 2.1): in row n, peers that share n digits with this one."""

from __future__ import annotations

from collections.abc import Iterator

from emulator import identifiers
from emulator.identifiers import BITS


class RoutingTable:
    """A slot for each row and each other digit that can follow the shared ones."""

    __slots__ = ("_bits", "_own", "_places", "_rows")

    def __init__(self, own: int, digit_bits: int) -> None:
        """`own` is this peer's identifier; `digit_bits` is the papers' b and divides 128."""
        self._own = own
        self._bits = digit_bits
        self._rows: list[list[int | None]] = []
        self._places: dict[int, tuple[int, int]] = {}

    def __contains__(self, peer: int) -> bool:
        return peer in self._places

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        """Filled slots."""
        return len(self._places)

    @property
    def rows(self) -> int:
        """Rows up to the last one that has ever been used."""
        return len(self._rows)

    def shared(self, identifier: int) -> int:
        """Digits that the identifier has in common with this peer's, from the first on."""
        return (BITS - (self._own ^ identifier).bit_length()) // self._bits

    def place(self, identifier: int) -> tuple[int, int]:
        """(row, digit) of the slot that another identifier belongs in."""
        row = (BITS - (self._own ^ identifier).bit_length()) // self._bits
        return row, (identifier >> (BITS - (row + 1) * self._bits)) & ((1 << self._bits) - 1)

    def lookup(self, identifier: int) -> int | None:
        """Who is in the slot of the identifier, which is not this peer's own."""
        row, digit = self.place(identifier)
        return self._rows[row][digit] if row < len(self._rows) else None

    def row(self, row: int) -> list[int]:
        """The peers of a row."""
        if row >= len(self._rows):
            return []
        return [peer for peer in self._rows[row] if peer is not None]

    def put(self, peer: int) -> int | None:
        """Set the peer in its slot; who was there before."""
        row, digit = self.place(identifiers.of_peer(peer))
        while row >= len(self._rows):
            self._rows.append([None] * (1 << self._bits))
        former = self._rows[row][digit]
        if former is not None:
            del self._places[former]
        self._rows[row][digit] = peer
        self._places[peer] = (row, digit)
        return former

    def remove(self, peer: int) -> bool:
        """Whether it was in."""
        place = self._places.pop(peer, None)
        if place is None:
            return False
        self._rows[place[0]][place[1]] = None
        return True
