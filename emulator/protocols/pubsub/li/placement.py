"""Placement of tree nodes: the k peers nearest to a key hold one, the nearest answers (section 3.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.contract.protocol import Contact, Overlay
from emulator.protocols.pubsub.li.node import Name
from emulator.protocols.pubsub.li.space import Schema

_ALL: Final = 64
"""More neighbours than an overlay keeps, to ask for all: those on the less crowded side are needed too."""


class Placement:
    """The peers near to each tree node, as far as one peer knows them."""

    def __init__(self, overlay: Overlay, schema: Schema, peer: int, replicas: int) -> None:
        self._overlay = overlay
        self._schema = schema
        self._peer = peer
        self._count = replicas + 1
        self.neighbours: list[Contact] = []
        """The peers that may hold nodes together with this one: up to k on each side, clockwise."""
        self._holders: dict[Name, list[int]] = {}
        self._changed = True

    def neighbour_changed(self) -> None:
        """Note that the overlay has told of a neighbour that came or went."""
        self._changed = True

    def look_around(self) -> None:
        """Ask the overlay who the neighbours are now."""
        if not self._changed:
            return
        self._changed = False
        space, own = self._overlay.space, self._overlay.identifier
        around = sorted(self._overlay.neighbour_set(_ALL), key=lambda c: (c.identifier - own) & space.mask)
        count = self._count
        chosen = around if len(around) <= 2 * count else around[:count] + around[-count:]
        if chosen != self.neighbours:
            self.neighbours = chosen
            self._holders.clear()

    def is_home(self, name: Name) -> bool:
        """Return whether no peer that this one knows is nearer to the node's key."""
        return self._overlay.next_hop(self._schema.key(*name)) is None

    def me(self) -> Contact:
        """Return this peer's contact, as others are to know it."""
        return Contact(self._peer, self._overlay.identifier)

    def beside(self) -> list[Contact]:
        """Return the nearest neighbour on each side, once if it is the same peer."""
        return self.neighbours[:1] + self.neighbours[1:][-1:]

    def holders(self, name: Name) -> list[int]:
        """Return the k peers nearest to a node's key, of this peer and its neighbours, nearest first."""
        holders = self._holders.get(name)
        if holders is None:
            holders = self._holders[name] = self.nearest(name, [*self.neighbours, self.me()])
        return holders

    def partners(self, name: Name) -> list[int]:
        """Return the peers that compare a node here with this one.

        They are the others that hold the node, or the nearest one if this peer is no longer to hold it.
        """
        holders = self.holders(name)
        if self._peer in holders:
            return [peer for peer in holders if peer != self._peer]
        return holders[:1]

    def is_partner(self, peer: int, name: Name) -> bool:
        """Return whether the peer is among the partners for a node."""
        holders = self.holders(name)
        return peer in holders and (peer == holders[0] or self._peer in holders)

    def knows(self, contact: Contact) -> bool:
        """Return whether the contact is one of this peer's neighbours."""
        return any(
            neighbour.peer == contact.peer and neighbour.identifier == contact.identifier
            for neighbour in self.neighbours
        )

    def nearest(self, name: Name, contacts: Iterable[Contact]) -> list[int]:
        """Return the k of these peers that are nearest to a node's key, the nearest first."""
        distance, key = self._overlay.space.distance, self._schema.key(*name)
        order = sorted([(distance(contact.identifier, key), contact.peer) for contact in contacts])
        return [peer for _, peer in order[: self._count]]
