"""The neighbours on the ring: the successors, nearest first, and the predecessor."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.contract.identifiers import IdentifierSpace
from trellis.v1.overlay import Contact


class RingNeighbours:
    """The neighbours that one peer knows. A peer that is alone is its own successor and has none here."""

    def __init__(self, space: IdentifierSpace, peer: int, count: int) -> None:
        """`count` is the number of successors that are kept."""
        self.mask = space.mask
        self._size = space.size
        self._peer = peer
        self._count = count
        self.own = 0
        """The identifier of the peer whose neighbours these are."""
        self.predecessor: Contact | None = None
        self.successors: list[Contact] = []

    def clear(self, own: int) -> None:
        """Stand alone at the identifier `own`."""
        self.own = own
        self.predecessor = None
        self.successors = []

    def offset(self, identifier: int) -> int:
        """Return the distance clockwise from this peer to the identifier."""
        return (identifier - self.own) & self.mask

    def gap(self) -> int:
        """Return the distance to the successor, which is once round the ring for a peer that is alone."""
        return self.offset(self.successors[0].identifier) if self.successors else self._size

    def learn(self, contacts: Iterable[Contact]) -> bool:
        """Take those contacts as successors that are near enough.

        Returns whether the first one has changed.
        """
        before = self.successors[0] if self.successors else None
        found: dict[int, Contact] = {contact.peer: contact for contact in self.successors}
        for contact in contacts:
            if contact.peer != self._peer and contact.identifier != self.own:
                found.setdefault(contact.peer, contact)
        ordered = sorted(found.values(), key=lambda contact: (self.offset(contact.identifier), contact.peer))
        self.successors = ordered[: self._count]
        return bool(self.successors) and self.successors[0] != before

    def follow(self, successor: Contact, onward: Iterable[Contact]) -> None:
        """Replace the successors by `successor`, the first one, and those that it tells of."""
        self.successors = [successor]
        self.learn(onward)

    def precede(self, contact: Contact) -> None:
        """Take the contact as the predecessor if it is nearer than the present one."""
        known = self.predecessor
        if known is None or known.peer == contact.peer or self._nearer(contact, known):
            self.predecessor = contact
        if not self.successors:
            self.successors = [contact]

    def drop(self, peer: int) -> bool:
        """Drop this peer. Returns whether it was known."""
        return self._forget(lambda contact: contact.peer == peer)

    def leave(self, contact: Contact) -> bool:
        """Drop this peer at the place that it leaves, but not at another one.

        Returns whether it was known.
        """
        return self._forget(lambda known: known == contact)

    def within(self, reach: int) -> list[Contact] | None:
        """Return all peers that follow within `reach`, nearest first; None if not all may be known."""
        near = [contact for contact in self.successors if self.offset(contact.identifier) < reach]
        if len(near) == len(self.successors) == self._count:
            return None
        return near

    def _forget(self, gone: Callable[[Contact], bool]) -> bool:
        """Drop the neighbours for which `gone` is true. Returns whether there were any."""
        was_before = self.predecessor is not None and gone(self.predecessor)
        if was_before:
            self.predecessor = None
        known = len(self.successors)
        self.successors = [contact for contact in self.successors if not gone(contact)]
        return was_before or len(self.successors) < known

    def _nearer(self, contact: Contact, known: Contact) -> bool:
        return self.offset(contact.identifier) > self.offset(known.identifier)
