"""Kademlia peers in lockstep, and one peer by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fake_environment import FakeEnvironment
from lookup_world import STEP, LookupWorld

from emulator.contract.identifiers import BITS, Xor
from emulator.contract.protocol import Contact, Environment, LookupService, Message
from emulator.protocols.overlays.kademlia import Kademlia, KademliaParameters
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup
from emulator.protocols.overlays.lookups import Lookups


def parameters(**fields: Any) -> KademliaParameters:
    """Return parameters of small buckets, without repetitions of requests."""
    return KademliaParameters.model_validate({"k": 4, "retries": 0, "refresh": "100 s"} | fields)


class KademliaWorld(LookupWorld):
    """Peers with lookups over Kademlia."""

    def __init__(
        self, identifiers: Sequence[int], bits: int = BITS, started: int | None = None, **fields: Any
    ) -> None:
        """Peer n has the n-th identifier; the first `started` start, all unless it is given."""
        self.space = Xor(bits)
        self.settings = parameters(**fields)
        self.peers: dict[int, Kademlia] = {}
        self._identifiers = identifiers
        super().__init__(identifiers, self._make, len(identifiers) if started is None else started)

    def _make(self, environment: Environment) -> LookupService:
        kademlia = Kademlia(
            environment.channel("overlay"),
            self.settings,
            space=self.space,
            identifier=self._identifiers[environment.peer],
        )
        self.peers[environment.peer] = kademlia
        return Lookups(environment, kademlia)

    def closest(self, key: int) -> int:
        """Return the peer that a key belongs to."""
        return min(self.up, key=lambda peer: self.identifiers[peer] ^ key)

    def found(self, peer: int, key: int) -> list[int]:
        """Return the peers that a lookup finds, the closest first."""
        ended: list[NodeLookup] = []
        self.peers[peer].lookups.begin(NodeLookup(key, ended.append))
        self.run(8 * STEP)
        (lookup,) = ended
        return [candidate.contact.peer for candidate in lookup.closest(self.settings.k)]


class Peer:
    """Peer 0 with identifier 0 of 6 bits, and contacts whose numbers are their identifiers."""

    def __init__(self, contacts: Iterable[int] = (), **fields: Any) -> None:
        self.environment = FakeEnvironment(0)
        self.kademlia = Kademlia(self.environment, parameters(**fields), space=Xor(6), identifier=0)
        self.known = self.kademlia.known
        for contact in contacts:
            self.known.hear(contact, contact)
        self.kademlia._join.ready = True

    def buckets(self) -> dict[str, list[int]]:
        """Return the contacts of each bucket that has any, by the bits with which its identifiers begin."""
        return {
            f"{bucket.low:06b}"[: bucket.depth]: [*bucket.contacts]
            for bucket in self.known.table.buckets
            if bucket.contacts
        }

    def ask(self, message: Message, sender: int) -> Message:
        """Return the answer to a request."""
        self.environment.hand_over(sender, message, request=1)
        return self.environment.outbox[-1].message

    def answer(self, peer: int, message: Message) -> None:
        """Answer the last request that was sent to a peer."""
        sent = [each for each in self.environment.outbox if each.request > 0 and each.peer == peer][-1]
        self.environment.hand_over(peer, message, request=-sent.request)

    def asked(self, kind: type[Message]) -> list[int]:
        """Return the peers that were sent a message of this class."""
        return [sent.peer for sent in self.environment.outbox if type(sent.message) is kind]


def contacts(*peers: int) -> list[Contact]:
    """Return contacts whose identifiers are their numbers."""
    return [Contact(peer, peer) for peer in peers]
