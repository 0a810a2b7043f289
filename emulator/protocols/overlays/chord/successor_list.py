"""The successor list: the first r peers that follow this one on the circle (ToN 2003, section IV.E.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trellis.v1.overlay import Contact


class SuccessorList:
    """Up to r peers in clockwise order, without the peer that they belong to.

    In a ring of fewer than r + 1 peers the list has all others, and a peer that is alone has none.
    """

    __slots__ = ("_entries", "_length", "_mask", "_own", "_peer")

    def __init__(self, own: Contact, mask: int, length: int) -> None:
        """`own` is the peer whose successors these are; `length` is the papers' r."""
        self._peer = own.peer
        self._own = own.identifier
        self._mask = mask
        self._length = length
        self._entries: list[Contact] = []

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def first(self) -> Contact | None:
        """The successor, None if there is none."""
        return self._entries[0] if self._entries else None

    def has(self, peer: int) -> bool:
        """Return whether a peer is a successor."""
        return any(contact.peer == peer for contact in self._entries)

    def first_without(self, avoided: Sequence[int]) -> Contact | None:
        """Return the first successor that is not to be avoided."""
        for contact in self._entries:
            if contact.peer not in avoided:
                return contact
        return None

    def after(self, contact: Contact) -> list[Contact]:
        """Return the successors from this one on; only itself if it is none of them."""
        for place, known in enumerate(self._entries):
            if known.peer == contact.peer:
                return self._entries[place:]
        return [contact]

    def adopt(self, successor: Contact, onward: Iterable[Contact]) -> bool:
        """Take over the list of a successor, with the successor before it, cut to r (Zave 2017).

        The other peer's list ends here where it goes past this peer, as it does in a small ring. Returns
        whether this list has changed.
        """
        return self.take([successor, *onward])

    def take(self, contacts: Iterable[Contact]) -> bool:
        """Replace the list by these peers, as far as they are in clockwise order. Returns whether it
        changed."""
        entries: list[Contact] = []
        farthest = 0
        for contact in contacts:
            offset = (contact.identifier - self._own) & self._mask
            if offset <= farthest or contact.peer == self._peer or len(entries) == self._length:
                break
            entries.append(contact)
            farthest = offset
        if [contact.peer for contact in entries] == [contact.peer for contact in self._entries]:
            return False
        self._entries = entries
        return True

    def append(self, contact: Contact) -> bool:
        """Add a peer behind the last one, if there is room and it follows that one. Returns whether it
        did."""
        return self.take([*self._entries, contact])

    def drop(self, peer: int) -> bool:
        """Drop a peer; those behind it move up. Returns whether it was a successor."""
        entries = [contact for contact in self._entries if contact.peer != peer]
        dropped = len(entries) < len(self._entries)
        self._entries = entries
        return dropped
