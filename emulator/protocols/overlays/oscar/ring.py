"""The neighbours on the ring: the successors, nearest first, and the predecessor."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.contract.identifiers import IdentifierSpace
from trellis.v1.overlay import Contact


class RingNeighbours:
    """What one peer knows of them. A peer alone is its own successor and has none here."""

    def __init__(self, space: IdentifierSpace, peer: int, count: int) -> None:
        """`count` is how many successors are kept."""
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
        """The way from this peer clockwise to there."""
        return (identifier - self.own) & self.mask

    def gap(self) -> int:
        """The way to the successor: once round for who is alone."""
        return self.offset(self.successors[0].identifier) if self.successors else self._size

    def learn(self, contacts: Iterable[Contact]) -> bool:
        """Take those among the successors who are near enough; whether the first one is another now."""
        before = self.successors[0] if self.successors else None
        found: dict[int, Contact] = {contact.peer: contact for contact in self.successors}
        for contact in contacts:
            if contact.peer != self._peer and contact.identifier != self.own:
                found.setdefault(contact.peer, contact)
        ordered = sorted(found.values(), key=lambda contact: (self.offset(contact.identifier), contact.peer))
        self.successors = ordered[: self._count]
        return bool(self.successors) and self.successors[0] != before

    def follow(self, successor: Contact, onward: Iterable[Contact]) -> None:
        """Know the successors that `successor`, the first one, tells of, and no others."""
        self.successors = [successor]
        self.learn(onward)

    def precede(self, contact: Contact) -> None:
        """Take the contact for the predecessor if it is nearer than the one there is."""
        known = self.predecessor
        if known is None or known.peer == contact.peer or self._nearer(contact, known):
            self.predecessor = contact
        if not self.successors:
            self.successors = [contact]

    def drop(self, peer: int) -> bool:
        """Do without this peer; whether it was known."""
        return self._forget(lambda contact: contact.peer == peer)

    def leave(self, contact: Contact) -> bool:
        """Do without this peer at the place that it leaves, and not at another one; whether it was known."""
        return self._forget(lambda known: known == contact)

    def within(self, reach: int) -> list[Contact] | None:
        """All peers that follow within `reach`, nearest first; None if more may be there than are known."""
        near = [contact for contact in self.successors if self.offset(contact.identifier) < reach]
        if len(near) == len(self.successors) == self._count:
            return None
        return near

    def _forget(self, gone: Callable[[Contact], bool]) -> bool:
        """Do without the neighbours of which `gone` is true; whether there were any."""
        was_before = self.predecessor is not None and gone(self.predecessor)
        if was_before:
            self.predecessor = None
        known = len(self.successors)
        self.successors = [contact for contact in self.successors if not gone(contact)]
        return was_before or len(self.successors) < known

    def _nearer(self, contact: Contact, known: Contact) -> bool:
        return self.offset(contact.identifier) > self.offset(known.identifier)
