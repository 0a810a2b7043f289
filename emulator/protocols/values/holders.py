"""The peers that are to hold copies of a value: those whose identifiers are the closest to its key.

Over Chord these are the successors of the key (DHash: Dabek, Kaashoek, Karger, Morris, Stoica, SOSP 2001,
section 3), over Pastry the k numerically closest peers (PAST: Rowstron, Druschel, SOSP 2001, section 2).
"""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Contact, Overlay

_NEIGHBOURS: Final = 64
"""The most neighbours of a peer that are looked at."""


class Holders:
    """The holders of values, as one peer knows them."""

    def __init__(self, overlay: Overlay, replicas: int) -> None:
        self._overlay = overlay
        self._peer = overlay.environment.peer
        self._replicas = replicas

    def of(self, key: int) -> list[Contact]:
        """Return the peers that are to hold the value, this one perhaps among them; the root is the first."""
        return self._closest(key)[: self._replicas]

    def includes_me(self, key: int) -> bool:
        """Return whether this peer is to hold the value."""
        return any(contact.peer == self._peer for contact in self.of(key))

    def others(self, key: int) -> list[int]:
        """Return the holders but for this peer, the closest to the key first."""
        return [contact.peer for contact in self.of(key) if contact.peer != self._peer]

    def next_in_line(self, key: int) -> list[int]:
        """Return the peer that becomes a holder if one of them leaves, in a list; an empty one if none is
        known."""
        return [contact.peer for contact in self._closest(key)[self._replicas : self._replicas + 1]]

    def _closest(self, key: int) -> list[Contact]:
        distance = self._overlay.space.distance
        me = Contact(self._peer, self._overlay.identifier)
        known = [me, *self._overlay.neighbour_set(_NEIGHBOURS)]
        known.sort(key=lambda contact: distance(contact.identifier, key))
        return known
