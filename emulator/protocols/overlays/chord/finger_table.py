"""The finger table: finger i is the successor of n + 2^i (ToN 2003, section IV.D).

Fingers are counted from 0 here, as exponents, and from 1 in the papers. A finger whose start does not lie
beyond the successor is the successor, so it is not kept (the papers keep O(log N) fingers for the same
reason).
"""

from __future__ import annotations

from collections.abc import Iterator

from trellis.v1.overlay import Contact


class FingerTable:
    """The fingers of one peer that were looked up, by their exponents."""

    __slots__ = ("_fingers", "_mask", "_own")

    def __init__(self, own: Contact, mask: int) -> None:
        """`own` is the peer whose fingers these are."""
        self._own = own
        self._mask = mask
        self._fingers: dict[int, Contact] = {}

    def __iter__(self) -> Iterator[Contact]:
        """Yield the peers that are fingers, each once."""
        return iter({contact.peer: contact for contact in self._fingers.values()}.values())

    def start(self, exponent: int) -> int:
        """Return the first identifier that the finger may have, n + 2^i."""
        return (self._own.identifier + (1 << exponent)) & self._mask

    def first_beyond(self, successor: Contact) -> int:
        """Return the least exponent whose finger starts beyond the successor, so that it may be another."""
        return ((successor.identifier - self._own.identifier) & self._mask).bit_length()

    def finger(self, exponent: int) -> Contact | None:
        """Return the finger as it was looked up last; None if it never was, or was dropped."""
        return self._fingers.get(exponent)

    def put(self, exponent: int, contact: Contact) -> bool:
        """Set a finger; this peer itself is none. Returns whether it has changed."""
        known = self._fingers.get(exponent)
        if contact.peer == self._own.peer:
            return self._fingers.pop(exponent, None) is not None
        self._fingers[exponent] = contact
        return known is None or known.peer != contact.peer

    def forget_up_to(self, successor: Contact) -> bool:
        """Forget the fingers that are the successor by definition. Returns whether there were others among
        them."""
        least = self.first_beyond(successor)
        gone = [exponent for exponent in self._fingers if exponent < least]
        others = False
        for exponent in gone:
            others = self._fingers.pop(exponent).peer != successor.peer or others
        return others

    def drop(self, peer: int) -> bool:
        """Drop a peer from all fingers. Returns whether it was one."""
        gone = [exponent for exponent, contact in self._fingers.items() if contact.peer == peer]
        for exponent in gone:
            del self._fingers[exponent]
        return bool(gone)
