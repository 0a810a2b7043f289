"""The state of a peer: the other peers that it knows, and the next hop of a message (Pastry, 2.1 and 2.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Final

from emulator.contract.identifiers import RING
from emulator.contract.protocol import Contact, Environment
from emulator.protocols.overlays.pastry.leaf_set import LeafSet
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import RoundTrips
from emulator.protocols.overlays.pastry.routing_table import RoutingTable

_FAILURES: Final = 256
"""The most dead peers that are remembered."""


class RoutingState:
    """Leaf set and routing table, and what is known of the peers in them, which are the members."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        identifier: int,
        *,
        leaf_changed: Callable[[Contact, bool], None],
        routes_changed: Callable[[], None],
    ) -> None:
        """`identifier` is this peer's own.

        `leaf_changed` is told each peer that becomes a leaf (true) or ceases to be one (false);
        `routes_changed` is called at each change of the leaf set, the table or the suspects.
        """
        self._environment = environment
        self._failure_memory = parameters.failure_memory
        self._leaf_changed = leaf_changed
        self._routes_changed = routes_changed
        self.peer = environment.peer
        self.identifier = identifier
        self.me = Contact(environment.peer, identifier)
        """This peer, as others are to know it."""
        self.leaf_set = LeafSet(identifier, parameters.leaf_set)
        self.table = RoutingTable(identifier, parameters.digit_bits)
        self.round_trips = RoundTrips(parameters)
        self.ready = False
        """Whether this peer has joined, so that it may be the root of keys."""
        self.members: dict[int, Contact] = {}
        """The peers of the leaf set and the table, by number."""
        self.suspected: set[int] = set()
        """The members that are being probed because they were silent."""
        self._heard: dict[int, float] = {}
        self._failed: dict[int, tuple[float, Contact | None]] = {}

    def hear(self, peer: int) -> None:
        """Note that something came from the peer, so it is alive."""
        if peer in self._heard:
            self._heard[peer] = self._environment.now
        elif self._failed:
            self._failed.pop(peer, None)

    def meet(self, peer: int, identifier: int) -> Contact:
        """Return the contact that the peer gave of itself. An earlier identifier of it is dropped."""
        self.hear(peer)
        known = self.members.get(peer)
        if known is not None:
            if known.identifier == identifier:
                return known
            self._forget(peer)
        return Contact(peer, identifier)

    def heard(self, peer: int) -> float:
        """Return the time at which a member was last heard from (s of trial time)."""
        return self._heard.get(peer, -math.inf)

    def has_failed(self, peer: int) -> bool:
        """Return whether the peer was found dead lately and was not heard from since."""
        failure = self._failed.get(peer)
        if failure is None:
            return False
        if self._environment.now - failure[0] < self._failure_memory:
            return True
        del self._failed[peer]
        return False

    def failed(self) -> list[Contact]:
        """Return the peers that were found dead lately, as far as their identifiers are known."""
        recent = [contact for peer, (_, contact) in list(self._failed.items()) if self.has_failed(peer)]
        return [contact for contact in recent if contact is not None]

    def believable(self, contacts: Iterable[Contact]) -> list[Contact]:
        """Return the contacts without this peer, who claims its identifier, and who was found dead lately."""
        peer, own = self.peer, self.identifier
        others = [each for each in contacts if each.peer != peer and each.identifier != own]
        return [each for each in others if not self.has_failed(each.peer)]

    def add_leaf(self, contact: Contact) -> None:
        """Add a peer that was just heard from, if it has a place among the leaves."""
        dropped = self.leaf_set.add(contact)
        if dropped is None:
            return
        self._remember(contact)
        for gone in dropped:
            self._drop(gone.peer)
            self._leaf_changed(gone, False)
        self._leaf_changed(contact, True)

    def offer_slot(self, contact: Contact) -> None:
        """Add a peer that was just heard from, if its slot is empty or held by one farther away.

        One that claims this peer's own identifier has no slot.
        """
        if contact.peer in self.table or contact.identifier == self.identifier:
            return
        holder = self.table.lookup(contact.identifier)
        mean = self.round_trips.mean
        if holder is None or mean(contact.peer) < mean(holder.peer):
            self.table.put(contact)
            self._remember(contact)
            if holder is not None:
                self._drop(holder.peer)

    def suspect(self, peer: int) -> None:
        """Route around a member that was silent when it should have spoken."""
        if peer not in self.suspected:
            self.suspected.add(peer)
            self._routes_changed()

    def trust(self, peer: int) -> None:
        """Trust a member again that answered a probe."""
        if peer in self.suspected:
            self.suspected.remove(peer)
            self._routes_changed()

    def remove(self, peer: int, told: Contact | None = None) -> None:
        """Remove a peer that is dead or has left.

        `told` is its contact as others gave it, if it is no member.
        """
        former = self._failed.pop(peer, None)
        contact = self.members.get(peer, told)
        if contact is None and former is not None:
            contact = former[1]
        self._failed[peer] = self._environment.now, contact
        if len(self._failed) > _FAILURES:
            del self._failed[next(iter(self._failed))]
        self._forget(peer)

    def next_hop(self, key: int, without: Collection[int] = ()) -> Contact | None:
        """Return the next hop for a key, None if this peer is the closest (Pastry, section 2.2, table 1).

        Peers in `without` are taken for dead. Suspects are passed over where the routing table decides, but
        not where the leaf set does, because a suspicion must not decide which peer is closest to a key.
        """
        leaves = self.leaf_set
        if leaves.covers(key):
            hop = leaves.closest(key)
            if hop is None or hop.peer not in without:
                return hop
            return self._closest([leaf for leaf in leaves if leaf.peer not in without], key)
        hop = self.table.lookup(key)
        if hop is not None and hop.peer not in without and hop.peer not in self.suspected:
            return hop
        shared = self.table.shared(key)
        known = [
            member
            for peer, member in self.members.items()
            if peer not in without and self.table.shared(self.identifier ^ member.identifier ^ key) >= shared
        ]
        hop = self._closest([member for member in known if member.peer not in self.suspected], key)
        return self._closest(known, key) if hop is None else hop

    def is_root(self, peer: int, key: int, without: Collection[int]) -> bool:
        """Return whether this peer takes the other for the closest to the key, apart from those in
        `without`."""
        if not self.leaf_set.covers(key):
            return False
        root = self.next_hop(key, without)
        return root is not None and root.peer == peer

    def _closest(self, contacts: Iterable[Contact], key: int) -> Contact | None:
        """Return the contact that is closer to the key than this peer and all others, if any."""
        best, distance = None, RING.distance(self.identifier, key)
        for contact in contacts:
            other = RING.distance(contact.identifier, key)
            if other < distance:
                best, distance = contact, other
        return best

    def _remember(self, contact: Contact) -> None:
        """Count the peer as a member, because it got a place."""
        self.members[contact.peer] = contact
        self._heard[contact.peer] = self._environment.now
        self._routes_changed()

    def _drop(self, peer: int) -> None:
        """Note that the peer lost one of its places, and forget it if that was the last."""
        if peer not in self.leaf_set and peer not in self.table:
            self._forget(peer)

    def _forget(self, peer: int) -> None:
        """Forget a peer that is no longer a member."""
        self.members.pop(peer, None)
        self._heard.pop(peer, None)
        self.suspected.discard(peer)
        entry = self.table.remove(peer)
        leaf = self.leaf_set.remove(peer)
        if entry is not None or leaf is not None:
            self._routes_changed()
        if leaf is not None:
            self._leaf_changed(leaf, False)
