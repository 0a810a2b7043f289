"""How a peer finds others of a topic whose mesh is small.

GossipSub leaves it to its surroundings (v1.0, "Ambient Peer Discovery"). The program go-libp2p-pubsub looks
at its topics each second, and asks a discovery service for the peers of those whose mesh has fewer than
D_low members. Ethereum's nodes name their subnets in the records that their discovery passes on. Here a
peer's profile, which Newscast passes on, names its topics. A peer that finds nobody in its view asks the
bootstrap service for random peers and exchanges views with them, so that views come together again after
a partition.
"""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.pubsub.gossipsub.connections import Connections
from emulator.protocols.pubsub.gossipsub.mesh import Meshes
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters

_BOOTSTRAP_PAUSE: Final = 10.0
"""The least time (s) between two questions to the bootstrap service. It is the shortest time after which
go-libp2p-pubsub tries a peer again."""


class TopicDiscovery:
    """A peer's look-out for others that subscribe to what it subscribes to."""

    def __init__(
        self,
        environment: Environment,
        parameters: GossipSubParameters,
        connections: Connections,
        meshes: Meshes,
    ) -> None:
        self._environment = environment
        self._connections = connections
        self._meshes = meshes
        self._degree = int(parameters.degree)
        self._low = int(parameters.degree_low)
        self._period = float(parameters.discovery)
        self._asks_at = 0.0
        """The time (s) from which on the bootstrap service may be asked."""

    def start(self) -> None:
        """Look each round of discovery."""
        self._environment.every(self._period, self._look)

    def _look(self) -> None:
        """Connect to peers of the view that subscribe to a topic whose mesh is below D_low."""
        alone = False
        for topic, mesh in self._meshes.members.items():
            if len(mesh) < self._low:
                found = self._connections.strangers_of(topic)
                if found:
                    missing = min(len(found), self._degree - len(mesh))
                    self._connections.introduce(self._environment.random.sample(found, missing))
                else:
                    alone = True
        now = self._environment.now
        if alone and now >= self._asks_at:
            self._asks_at = now + _BOOTSTRAP_PAUSE
            self._environment.find_contacts(self._connections.exchange_views)
