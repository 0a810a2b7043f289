"""Virtual nodes: each peer is several nodes of the ring, so that keys are spread more evenly over peers.

A lookup begins at that node of its peer from which the way to the key is the shortest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from emulator.contract.protocol import Application, Contact, Environment, Lookup, LookupService, Message
from emulator.contract.system import System
from emulator.protocols.overlays.chord.node_environment import NodeHub
from emulator.protocols.overlays.chord.overlay import CHORD, Chord
from emulator.protocols.overlays.chord.parameters import ChordLookupParameters
from emulator.protocols.overlays.lookups import Lookups
from trellis.v1.overlay import LookupRequest


class VirtualNodes(LookupService):
    """One peer with several nodes."""

    def __init__(self, environment: Environment, parameters: ChordLookupParameters) -> None:
        super().__init__(environment)
        self._hub = NodeHub(environment, parameters.virtual_nodes)
        self.nodes = [Chord(node, parameters) for node in self._hub.nodes]
        for node in self.nodes:
            node.carry(self, LookupRequest)

    def start(self, contacts: Sequence[int]) -> None:
        """Join with all nodes by the first nodes of these peers, or by this peer's own if there are none."""
        first, *others = self.nodes
        known = self._hub.nodes[0].first_nodes(contacts)
        first.start(known)
        for node in others:
            node.start(known or [self._hub.nodes[0].peer])

    def stop(self, graceful: bool) -> None:
        for node in self.nodes:
            node.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        for place in range(self._hub.count):
            for node in self.nodes:
                node.on_unreachable(peer * self._hub.count + place)

    def gauges(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for node in self.nodes:
            for name, value in node.gauges().items():
                total[name] = total.get(name, 0.0) + value
        return total

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        """Return the peers of the nodes' neighbours by kind, of all nodes together and without this peer."""
        found: dict[str, dict[int, None]] = {}
        for node in self.nodes:
            for kind, nodes in node.neighbours().items():
                peers = (other // self._hub.count for other in nodes)
                of_kind = found.setdefault(f"{kind} of a node", {})
                of_kind.update({peer: None for peer in peers if peer != self.environment.peer})
        return {kind: [*peers] for kind, peers in found.items()}

    def lookup(self, number: int, key: int) -> None:
        nearest = min(self.nodes, key=lambda node: node.space.way(node.identifier, key))
        nearest.route(key, LookupRequest(number))

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Let every request go on."""
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.environment.deliver(Lookup(message.number, origin.peer // self._hub.count, key, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Do nothing: a lookup needs no neighbours of its own."""


def _create(environment: Environment, parameters: Any) -> Application:
    if parameters.virtual_nodes > 1:
        return VirtualNodes(environment, parameters)
    return Lookups(environment, CHORD.create(environment.channel("overlay"), parameters))


CHORD_LOOKUPS: Final = System(
    CHORD.name,
    CHORD.title,
    CHORD.paper,
    ChordLookupParameters,
    _create,
    serves="lookups",
    takes_identifiers=True,
    invariants=CHORD.invariants,
)
