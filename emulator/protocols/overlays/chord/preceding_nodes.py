"""The known peers in clockwise order, for `closest_preceding_node` (ToN 2003, figure 5)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from trellis.v1.overlay import Contact


class PrecedingNodes:
    """The peers that a search may go to next, ordered by how far they follow the peer that searches."""

    __slots__ = ("_contacts", "_mask", "_offsets", "_own")

    def __init__(self, own: int, mask: int) -> None:
        """`own` is the identifier of the peer that searches."""
        self._own = own
        self._mask = mask
        self._offsets: list[int] = []
        self._contacts: list[Contact] = []

    def rebuild(self, contacts: Iterable[Contact]) -> None:
        """Search among these peers from now on."""
        found: dict[int, Contact] = {}
        for contact in contacts:
            found[(contact.identifier - self._own) & self._mask] = contact
        self._offsets = sorted(found)
        self._contacts = [found[offset] for offset in self._offsets]

    def closest_preceding_node(self, key: int, avoided: Sequence[int]) -> Contact | None:
        """Return the last known peer before the key that is not to be avoided; None if there is none."""
        offset = (key - self._own) & self._mask
        place = bisect_left(self._offsets, offset) if offset else len(self._offsets)
        while place:
            place -= 1
            if self._contacts[place].peer not in avoided:
                return self._contacts[place]
        return None
