"""What a peer knows of others, and where it would send a message next (Pastry, 2.1 and 2.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from emulator import identifiers
from emulator.overlays.pastry.leaf_set import LeafSet
from emulator.overlays.pastry.neighbourhood import Neighbourhood
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.round_trip import RoundTrips
from emulator.overlays.pastry.routing_table import RoutingTable
from emulator.protocol import Environment

_FAILURES = 256
"""Dead peers that are remembered."""


class RoutingState:
    """Leaf set, routing table and neighbourhood set, and what is known of the peers in them."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        leaf_changed: Callable[[int, bool], None],
    ) -> None:
        """`leaf_changed` is told each peer that becomes a leaf (true) or is one no more (false)."""
        self._environment = environment
        self._failure_memory = parameters.failure_memory
        self._leaf_changed = leaf_changed
        self.peer = environment.self_contact.peer
        self.identifier = identifiers.of_peer(self.peer)
        self.leaf_set = LeafSet(self.identifier, parameters.leaf_set)
        self.table = RoutingTable(self.identifier, parameters.digit_bits)
        self.neighbourhood = Neighbourhood(parameters.neighbourhood)
        self.round_trips = RoundTrips(parameters)
        self.ready = False
        """Has joined: may be the root of keys."""
        self.suspected: set[int] = set()
        """Peers that are being probed because they were silent."""
        self.version = 0
        """Changes with every change of the leaf set, the table or the suspects."""
        self._heard: dict[int, float] = {}
        self._failed: dict[int, float] = {}

    def __contains__(self, peer: int) -> bool:
        return peer in self._heard

    def members(self) -> list[int]:
        """All peers of the three sets."""
        return list(self._heard)

    def hear(self, peer: int) -> None:
        """Something came from the peer, so it lives."""
        if peer in self._heard:
            self._heard[peer] = self._environment.now
        elif self._failed:
            self._failed.pop(peer, None)

    def heard(self, peer: int) -> float:
        """When a peer of the three sets was last heard from (s of trial time)."""
        return self._heard.get(peer, -math.inf)

    def has_failed(self, peer: int) -> bool:
        """Was found dead lately and not heard from since."""
        since = self._failed.get(peer)
        if since is None:
            return False
        if self._environment.now - since < self._failure_memory:
            return True
        del self._failed[peer]
        return False

    def failed(self) -> list[int]:
        """Peers that were found dead lately."""
        return [peer for peer in list(self._failed) if self.has_failed(peer)]

    def unknown(self, peers: Iterable[int]) -> list[int]:
        """Those that may be alive, without this one."""
        return [peer for peer in peers if peer != self.peer and not self.has_failed(peer)]

    def add_leaf(self, peer: int) -> None:
        """Take in a peer that was just heard from, if it has a place among the leaves."""
        dropped = self.leaf_set.add(peer)
        if dropped is None:
            return
        self._heard[peer] = self._environment.now
        self.version += 1
        for gone in dropped:
            self._drop(gone)
            self._leaf_changed(gone, False)
        self._leaf_changed(peer, True)

    def offer_slot(self, peer: int) -> None:
        """Take in a peer that was just heard from, if its slot is empty or held by one farther away."""
        if peer in self.table:
            return
        holder = self.table.lookup(identifiers.of_peer(peer))
        mean = self.round_trips.mean
        if holder is None or mean(peer) < mean(holder):
            self.table.put(peer)
            self._heard[peer] = self._environment.now
            self.version += 1
            if holder is not None:
                self._drop(holder)

    def offer_neighbour(self, peer: int) -> None:
        """Take in a peer that was just heard from, if it is one of the nearest."""
        dropped = self.neighbourhood.offer(peer, self.round_trips.mean(peer))
        if peer in self.neighbourhood:
            self._heard[peer] = self._environment.now
        if dropped is not None:
            self._drop(dropped)

    def remove(self, peer: int) -> None:
        """The peer is dead or has left."""
        self._failed[peer] = self._environment.now
        if len(self._failed) > _FAILURES:
            del self._failed[next(iter(self._failed))]
        self._heard.pop(peer, None)
        self.suspected.discard(peer)
        self.neighbourhood.remove(peer)
        in_table = self.table.remove(peer)
        was_leaf = self.leaf_set.remove(peer)
        if in_table or was_leaf:
            self.version += 1
        if was_leaf:
            self._leaf_changed(peer, False)

    def forget_all(self) -> None:
        """Be as at the start, but for what was measured."""
        for peer in self.members():
            self.remove(peer)
        self._failed.clear()

    def next_hop(self, key: int, without: Collection[int] = ()) -> int | None:
        """The next hop for a key, None if this peer is the closest (Pastry, section 2.2, table 1).

        Peers in `without` are taken for dead. Suspects are passed over where the routing table
        decides, not where the leaf set does: who is closest to a key may not depend on a suspicion.
        """
        leaves = self.leaf_set
        if leaves.covers(key):
            hop = leaves.closest(key)
            if hop not in without:
                return hop
            return self._closest([peer for peer in leaves if peer not in without], key)
        hop = self.table.lookup(key)
        if hop is not None and hop not in without and hop not in self.suspected:
            return hop
        shared = self.table.shared(key)
        known = {
            peer
            for peer in (*self._heard,)
            if peer not in without and self._shared(identifiers.of_peer(peer), key) >= shared
        }
        hop = self._closest(known - self.suspected, key)
        return self._closest(known, key) if hop is None else hop

    def is_root(self, peer: int, key: int) -> bool:
        """As far as this peer knows, the other is the closest to the key."""
        return self.leaf_set.covers(key) and self.leaf_set.closest(key) == peer

    def _closest(self, peers: Collection[int], key: int) -> int | None:
        """The one that is closer to the key than this peer and all others, if any."""
        best, distance = None, identifiers.distance(self.identifier, key)
        for peer in peers:
            other = identifiers.distance(identifiers.of_peer(peer), key)
            if other < distance:
                best, distance = peer, other
        return best

    def _shared(self, a: int, b: int) -> int:
        return self.table.shared(self.identifier ^ a ^ b)

    def _drop(self, peer: int) -> None:
        """The peer lost one of its places; forget when it was heard if it was the last."""
        if peer not in self.leaf_set and peer not in self.table and peer not in self.neighbourhood:
            self._heard.pop(peer, None)
