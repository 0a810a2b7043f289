"""Vitis: gossip clusters and rendezvous routing (Rahimian et al., IPDPS 2011)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from librt.vecs import vec
from mypy_extensions import i32

from emulator.compact.sorted_numbers import are_equal, as_bits
from emulator.contract.protocol import Environment
from emulator.contract.system import System
from emulator.messages.message import Part
from emulator.protocols.overlays.small_world.links import Link
from emulator.protocols.overlays.small_world.ring import SMALL_WORLD
from emulator.protocols.pubsub.vitis.gateways import GatewayElection
from emulator.protocols.pubsub.vitis.parameters import VitisParameters
from emulator.protocols.pubsub.vitis.proposal_columns import ProposalColumns
from emulator.protocols.pubsub.vitis.rendezvous import RendezvousPubSub
from trellis.v1.overlay import Contact
from trellis.v1.pubsub import Proposals


class Vitis(RendezvousPubSub):
    """One peer of Vitis: it floods events in its clusters and relays between them."""

    def __init__(self, environment: Environment, parameters: VitisParameters) -> None:
        super().__init__(environment, parameters, parameters.routing_table - 2 - parameters.friends)
        self._both = parameters.links == "both"
        self._tells_relayed = parameters.notify_relays == "neighbours"
        own = Contact(environment.peer, self._overlay.identifier)
        told = environment.shared(ProposalColumns, self._overlay.heartbeats, self._overlay.profiles)
        self._election = GatewayElection(own, self._overlay.space, parameters.gateway_hops, told)
        self._links_version = -1
        """The version of the overlay's links at the last election."""
        self._gateway_topics = vec[i32]()
        self._relayed = vec[i32]()
        """The relayed topics that this peer told its neighbours."""
        self._proposed = Proposals()

    def gauges(self) -> dict[str, float]:
        return super().gauges() | {"gateway_topics": float(len(self._gateway_topics))}

    def begin_round(self) -> None:
        """Run a round of Algorithm 5, with the lookups of its line 21."""
        self._update_proposals()
        self._relays.refresh(self._gateway_topics)

    def rider(self) -> Part | None:
        if self._election.profile is not self._overlay.profile:
            self._update_proposals()
        return self._proposed

    def _update_proposals(self) -> None:
        """Hold an election if anything that it depends on has changed since the last one."""
        profile = self._overlay.profile
        changed = False
        if profile is not self._election.profile or self._links_version != self._overlay.links_version:
            self._links_version = self._overlay.links_version
            changed = self._election.elect(profile, self._overlay.words(incoming=self._both))
        if self._tells_relayed and not are_equal(self._relayed, self._relays.relayed()):
            self._relayed = self._relays.relayed()
            changed = True
        if changed:
            self._gateway_topics = self._election.gateway_topics()
            self._proposed = self._election.proposals(as_bits(self._relayed))

    def _targets(self, topic: int) -> Iterable[int]:
        """Return the interested neighbours, and the neighbours on the topic's relay paths (section III.C)."""
        targets = self._relays.links(topic)
        if not self._tells_relayed:
            self._overlay.add_interested(topic, targets, incoming=self._both)
            return targets
        bit = 1 << topic
        for link in self._overlay.links() if self._both else self._overlay.table():
            if link.profile.topics & bit or _relays(link, bit):
                targets.add(link.peer)
        return targets


def _relays(link: Link, topics: int) -> bool:
    """Return whether the peer has said that it relays one of the topics, a bit set."""
    said = link.said
    told = None if said is None else said.rider
    return isinstance(told, Proposals) and told.relayed & topics != 0


VITIS: Final = System(
    name="vitis",
    title="Vitis, gossip clusters with rendezvous routing",
    paper="Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011",
    parameters=VitisParameters,
    create=Vitis,
    takes_identifiers=True,
    invariants=SMALL_WORLD.invariants,
)
