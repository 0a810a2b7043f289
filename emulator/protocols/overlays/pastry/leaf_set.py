"""The leaf set (Pastry, section 2.1): the peers next to this one on the ring."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

from emulator.contract.identifiers import RING
from emulator.contract.protocol import Contact

_MASK: Final = RING.mask
_HALF: Final = RING.size // 2


class LeafSet:
    """Up to `size` / 2 peers on each side, each side being half of the ring."""

    __slots__ = ("_half", "_leftmost", "_members", "_offsets", "_own", "_ring", "left", "right")

    def __init__(self, own: int, size: int, contacts: Iterable[Contact] = ()) -> None:
        """`own` is the identifier of the peer whose leaves these are; `contacts` are considered at once."""
        self._own = own
        self._half = size // 2
        self.left: list[tuple[int, int]] = []
        """The leaves counter-clockwise as (distance, peer), nearest first."""
        self.right: list[tuple[int, int]] = []
        """The leaves clockwise as (distance, peer), nearest first."""
        self._members: dict[int, Contact] = {}
        for contact in self.newcomers(contacts):
            self._members[contact.peer] = contact
            insort(self.side_of(contact), (self._distance(contact), contact.peer))
        self._rebuild()

    def __contains__(self, peer: int) -> bool:
        return peer in self._members

    def __iter__(self) -> Iterator[Contact]:
        """Yield the leaves from the leftmost to the rightmost."""
        return iter([contact for contact in self._ring if contact is not None])

    def __len__(self) -> int:
        return len(self._members)

    @property
    def sides(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The left and the right side."""
        return self.left, self.right

    def is_short(self, side: list[tuple[int, int]]) -> bool:
        """Return whether the side has fewer peers than it may have."""
        return len(side) < self._half

    def side_of(self, contact: Contact) -> list[tuple[int, int]]:
        """Return the side that the peer is or would be on."""
        return self.left if (contact.identifier - self._own) & _MASK > _HALF else self.right

    def contact(self, peer: int) -> Contact:
        """Return the contact of a leaf. Raises KeyError if the peer is no leaf."""
        return self._members[peer]

    def takes(self, contact: Contact) -> bool:
        """Return whether `add` would add this peer, which is not the one whose leaves these are."""
        if contact.peer in self._members:
            return False
        side = self.side_of(contact)
        return len(side) < self._half or self._distance(contact) < side[-1][0]

    def newcomers(self, contacts: Iterable[Contact]) -> list[Contact]:
        """Return the peers among these that would be leaves if all of them were added."""
        fitting: dict[int, Contact] = {}
        sides: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []
        for contact in contacts:
            if contact.peer not in fitting and self.takes(contact):
                fitting[contact.peer] = contact
                sides[self.side_of(contact) is self.right].append((self._distance(contact), contact.peer))
        chosen: list[Contact] = []
        for former, new in zip(self.sides, sides, strict=True):
            if new:
                kept = sorted([*former, *new])[: self._half]
                chosen += [fitting[peer] for _, peer in kept if peer not in self._members]
        return chosen

    def add(self, contact: Contact) -> list[Contact] | None:
        """Add the peer. Returns the leaves that had to go (at most one), or None if the peer has no place."""
        if not self.takes(contact):
            return None
        side = self.side_of(contact)
        insort(side, (self._distance(contact), contact.peer))
        dropped = [self._members.pop(peer) for _, peer in side[self._half :]]
        del side[self._half :]
        self._members[contact.peer] = contact
        self._rebuild()
        return dropped

    def remove(self, peer: int) -> Contact | None:
        """Remove the peer. Returns its contact if it was a leaf."""
        contact = self._members.pop(peer, None)
        if contact is not None:
            self.side_of(contact).remove((self._distance(contact), peer))
            self._rebuild()
        return contact

    def covers(self, key: int) -> bool:
        """Return whether the key lies between the leftmost and the rightmost leaf."""
        return (key - self._leftmost) & _MASK <= self._offsets[-1]

    def closest(self, key: int) -> Contact | None:
        """Return the closest leaf to a covered key, or None if this peer is closer."""
        offset = (key - self._leftmost) & _MASK
        place = bisect_left(self._offsets, offset)
        if place and offset - self._offsets[place - 1] < self._offsets[place] - offset:
            place -= 1
        return self._ring[place]

    def nearest(self) -> list[Contact]:
        """Return the leaves, nearest first."""
        return [self._members[peer] for _, peer in sorted([*self.left, *self.right])]

    def _distance(self, contact: Contact) -> int:
        return RING.distance(contact.identifier, self._own)

    def _rebuild(self) -> None:
        reach = self.left[-1][0] if self.left else 0
        self._leftmost = (self._own - reach) & _MASK
        self._ring: list[Contact | None] = [self._members[peer] for _, peer in reversed(self.left)]
        self._ring.append(None)
        self._ring += [self._members[peer] for _, peer in self.right]
        self._offsets = [reach - distance for distance, _ in reversed(self.left)]
        self._offsets.append(reach)
        self._offsets += [reach + distance for distance, _ in self.right]
