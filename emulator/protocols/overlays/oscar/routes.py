"""Clockwise greedy routing, which finds the last known peer before a key, or at it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from emulator.contract.identifiers import IdentifierSpace
from trellis.v1.overlay import Contact


class ClockwiseRoutes:
    """The known peers in the clockwise order in which they follow the peer that routes."""

    def __init__(self, space: IdentifierSpace) -> None:
        self._mask = space.mask
        self._own = 0
        self._offsets: list[int] = []
        self._contacts: list[Contact] = []

    def rebuild(self, own: int, contacts: Iterable[Contact]) -> None:
        """Route from the identifier `own` over these peers from now on."""
        self._own = own
        found: dict[int, Contact] = {}
        for contact in contacts:
            found[(contact.identifier - own) & self._mask] = contact
        found.pop(0, None)
        self._offsets = sorted(found)
        self._contacts = [found[offset] for offset in self._offsets]

    def last_before(self, key: int) -> Contact | None:
        """Return the last known peer on the way to `key`, the key's owner included; None if there is none."""
        place = bisect_right(self._offsets, (key - self._own) & self._mask)
        return self._contacts[place - 1] if place else None

    def end_of(self, contact: Contact) -> int | None:
        """Return where the keys end that go to this contact: at the next known peer, or at the peer that
        routes.

        Returns None if routes do not lead over a peer of this number with this identifier.
        """
        place = bisect_right(self._offsets, (contact.identifier - self._own) & self._mask)
        if not place or self._contacts[place - 1] != contact:
            return None
        return self._contacts[place].identifier if place < len(self._contacts) else self._own
