"""Kademlia: Maymounkov, Mazieres: Kademlia: A peer-to-peer information system based on the XOR metric,
IPTPS 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.identifiers import BITS, Xor
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Contact, Environment, Message, Overlay
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.kademlia.carrying import Carrying
from emulator.protocols.overlays.kademlia.join import Join
from emulator.protocols.overlays.kademlia.known_contacts import KnownContacts
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup, NodeLookups
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters
from emulator.protocols.overlays.kademlia.refresh import Refresh

TIMED_OUT: Final = "hop_timeout"
"""The observation of a peer that a message of an application, or a lookup for one, found silent."""
REQUESTS: Final = "lookup_requests"
"""The observation of how many requests a lookup for an application sent."""
TOOK: Final = "lookup_took"
"""The observation of how long such a lookup took, until its rule let it end (ms)."""
DEPTH: Final = "lookup_depth"
"""The observation of how many steps the peers that such a lookup found were away, in the mean."""
FOUND: Final = "lookup_found"
"""The observation of a peer that such a lookup found; its value is the peer's place among them, from 0."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Kademlia(Overlay):
    """One peer of the overlay."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        *,
        space: Xor | None = None,
        identifier: int = -1,
    ) -> None:
        """`space` is as wide as hashes, and the identifier the peer's hash, unless they are given."""
        super().__init__(
            environment,
            space or Xor(BITS),
            environment.identifier if identifier < 0 else identifier,
        )
        self._k = parameters.k
        self._tell_found = parameters.tell_found
        self.started_at = 0.0
        """The time at which this peer started to join (s of trial time)."""
        self._beside: list[Contact] = []
        """The closest contacts that applications were told of, the closest first."""
        me = Contact(environment.peer, self.identifier)
        self.known = KnownContacts(environment, parameters, me, self.space, self._changed)
        self.lookups = NodeLookups(environment, parameters, self.known, self._silent)
        self._join = Join(environment, parameters, self.known, self.lookups, self._joined, self._grown)
        self._refresh = Refresh(environment, parameters, self.known, self.lookups)
        self._carrying = Carrying(
            environment,
            parameters,
            self.known,
            self.lookups,
            ready=self._is_ready,
            forward=self._forward,
            deliver=self._deliver,
            silent=self._silent,
            found=self._found,
        )

    @property
    def ready(self) -> bool:
        return self._join.ready

    def start(self, contacts: Sequence[int]) -> None:
        self.move_to(self.identifier)
        self.started_at = self.environment.now
        self._refresh.start()
        self._join.start(contacts)

    def stop(self, graceful: bool) -> None:
        """Leave without a word: the paper has no message for it."""

    def on_unreachable(self, peer: int) -> None:
        self.known.fail(peer)

    def gauges(self) -> dict[str, float]:
        table = self.known.table
        return {"contacts": float(len(table)), "buckets": float(len(table.buckets))}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        beside = {contact.peer for contact in self._beside}
        contacts = [known.contact.peer for known in self.known.table]
        return {
            "closest": [contact.peer for contact in self._beside],
            "contact": [peer for peer in contacts if peer not in beside],
        }

    def route(self, key: int, message: Message) -> None:
        self._carrying.route(key, message)

    def next_hop(self, key: int) -> Contact | None:
        return self.known.next_hop(key, [])

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        return self.known.closest(self.identifier, count)

    def sample(self, count: int) -> Sequence[int]:
        peers = [known.contact.peer for known in self.known.table if not known.failures]
        return self.environment.random.sample(peers, min(count, len(peers)))

    def _is_ready(self) -> bool:
        return self._join.ready

    def _joined(self) -> None:
        self._carrying.release()
        self._refresh.refresh(self.started_at)

    def _grown(self) -> None:
        self._refresh.refresh(self.environment.now)

    def _silent(self, peer: int) -> None:
        self.environment.record(TIMED_OUT, 1.0, peer)

    def _found(self, lookup: NodeLookup) -> None:
        """Tell of a lookup for an application; join again if nobody answered it."""
        found = lookup.closest(self._k)
        if not lookup.answers:
            self._join.again()
            return
        record = self.environment.record
        record(REQUESTS, float(lookup.requests))
        record(TOOK, (self.environment.now - lookup.began) * 1e3, unit="ms")
        record(DEPTH, sum(candidate.depth for candidate in found) / len(found))
        if self._tell_found:
            for place, candidate in enumerate(found):
                record(FOUND, float(place), candidate.contact.peer)

    def _changed(self, contact: Contact) -> None:
        """Tell applications of those that came and went among the k closest contacts."""
        self.routes_version += 1
        former = self._beside
        if len(former) == self._k:
            farthest = former[-1].identifier ^ self.identifier
            if contact.identifier ^ self.identifier > farthest:
                return
        self._beside = list(self.neighbour_set(self._k))
        now = {each.peer for each in self._beside}
        before = {each.peer for each in former}
        for each in former:
            if each.peer not in now:
                self.tell_change(each, False)
        for each in self._beside:
            if each.peer not in before:
                self.tell_change(each, True)

    def _forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        return self.application_of(message).forward(key, message, next_hop, hops)

    def _deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        self.application_of(message).deliver(key, message, origin, hops)


_SUBTREES: Final = Invariant(
    "subtrees_are_known",
    "Each peer that has been up for 10 s knows somebody in each of its subtrees in which such a peer is "
    "(section 2).",
    "emulator.protocols.overlays.kademlia.subtree_invariant:broken",
)
KADEMLIA: Final = OverlayKind(
    "kademlia",
    "Kademlia",
    "Maymounkov, Mazieres: Kademlia: A peer-to-peer information system based on the XOR metric, IPTPS 2002",
    KademliaParameters,
    Kademlia,
    invariants=(_SUBTREES,),
)
