"""The routing table (Pastry, section 2.1): in row n, peers that share n digits with this one."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.contract.identifiers import BITS
from emulator.contract.protocol import Contact


class RoutingTable:
    """A slot for each row and each other digit that can follow the shared ones."""

    __slots__ = ("_bits", "_own", "_places", "_rows")

    def __init__(self, own: int, digit_bits: int) -> None:
        """`own` is this peer's identifier; `digit_bits` is the papers' b and divides 128."""
        self._own = own
        self._bits = digit_bits
        self._rows: list[list[Contact | None]] = []
        self._places: dict[int, tuple[int, int]] = {}

    def __contains__(self, peer: int) -> bool:
        return peer in self._places

    def __iter__(self) -> Iterator[Contact]:
        """Yield the entries in the order in which they came."""
        entries = [self._rows[row][digit] for row, digit in self._places.values()]
        return iter([entry for entry in entries if entry is not None])

    def __len__(self) -> int:
        """Return the number of filled slots."""
        return len(self._places)

    @property
    def rows(self) -> int:
        """The number of rows up to the last one that has ever been used."""
        return len(self._rows)

    def shared(self, identifier: int) -> int:
        """Return the number of leading digits that the identifier shares with this peer's."""
        return (BITS - (self._own ^ identifier).bit_length()) // self._bits

    def place(self, identifier: int) -> tuple[int, int]:
        """Return (row, digit) of the slot that another identifier belongs in."""
        row = (BITS - (self._own ^ identifier).bit_length()) // self._bits
        return row, (identifier >> (BITS - (row + 1) * self._bits)) & ((1 << self._bits) - 1)

    def lookup(self, identifier: int) -> Contact | None:
        """Return the entry in the slot of the identifier, which is not this peer's own."""
        row, digit = self.place(identifier)
        return self._rows[row][digit] if row < len(self._rows) else None

    def row(self, row: int) -> list[Contact]:
        """Return the entries of a row."""
        if row >= len(self._rows):
            return []
        return [entry for entry in self._rows[row] if entry is not None]

    def put(self, contact: Contact) -> Contact | None:
        """Put the peer, which is in no slot, into its slot. Returns the entry that was there before."""
        row, digit = self.place(contact.identifier)
        while row >= len(self._rows):
            self._rows.append([None] * (1 << self._bits))
        former = self._rows[row][digit]
        if former is not None:
            del self._places[former.peer]
        self._rows[row][digit] = contact
        self._places[contact.peer] = (row, digit)
        return former

    def remove(self, peer: int) -> Contact | None:
        """Empty the peer's slot. Returns the entry if there was one."""
        place = self._places.pop(peer, None)
        if place is None:
            return None
        row, digit = place
        entry, self._rows[row][digit] = self._rows[row][digit], None
        return entry
