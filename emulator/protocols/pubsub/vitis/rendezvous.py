"""The common part of Vitis and RVR: small-world overlay, relay paths to rendezvous nodes, dissemination."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final

from emulator.compact.sorted_numbers import difference
from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.messages.message import Message, Part
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.pubsub.shared.dissemination import Dissemination
from emulator.protocols.pubsub.shared.topics import topic_interest
from emulator.protocols.pubsub.vitis.parameters import RendezvousParameters
from emulator.protocols.pubsub.vitis.proposal_columns import propose_for
from emulator.protocols.pubsub.vitis.relay_trees import RelayTrees
from trellis.v1.overlay import Contact, Profile
from trellis.v1.pubsub import EventData, Proposals

_JOIN_ROUNDS: Final = 10
"""A publication waits this many rounds for the first neighbour."""


class RendezvousPubSub(PubSub):
    """One peer. Each system decides which topics it asks others to relay, and which peers it notifies."""

    def __init__(
        self, environment: Environment, parameters: RendezvousParameters, small_world_links: int
    ) -> None:
        super().__init__(environment)
        self._period = parameters.period
        self._rates: dict[int, float] = {}
        self._overlay = SmallWorld(
            environment.channel("overlay"),
            parameters,
            small_world_links=small_world_links,
            system=self,
        )
        self._overlay.carry(self, EventData)
        self._relays = RelayTrees(
            environment, self._overlay, lifetime=parameters.relay_lifetime * parameters.period
        )
        self._dissemination = Dissemination(
            environment,
            targets=self._targets,
            interested=self._is_interested,
            pull_timeout=parameters.pull_timeout,
        )

    @abstractmethod
    def begin_round(self) -> None:
        """Renew the relay paths; called each round before heartbeats go out."""

    @abstractmethod
    def rider(self) -> Part | None:
        """Compose what rides on heartbeats; the same object as long as it says the same."""

    def read_rider(self, content: bytes) -> Part:
        """Decode a neighbour's proposals (Algorithm 5)."""
        return Proposals.read(content, 0, len(content))

    def fits(self, profile: Profile, rider: Part) -> bool:
        """Return whether a neighbour proposes a gateway for each of its topics."""
        return isinstance(rider, Proposals) and propose_for(rider, profile)

    @abstractmethod
    def _targets(self, topic: int) -> Iterable[int]:
        """Return the peers to notify of an event of the topic."""

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._relays.clear()

    def on_unreachable(self, peer: int) -> None:
        self._relays.on_unreachable(peer)
        self._dissemination.on_unreachable(peer)

    def subscribe(self, interest: Interest) -> None:
        asked = topic_interest(interest)
        self._rates[asked.topic] = asked.rate
        self._overlay.describe(self._rates)

    def unsubscribe(self, interest: Interest) -> None:
        self._rates.pop(topic_interest(interest).topic, None)
        self._overlay.describe(self._rates)

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system routes by topic; the event has none")
        data = EventData(event.number, event.topic, event.publisher, payload=event.payload)
        self._publish(data, _JOIN_ROUNDS)

    def gauges(self) -> dict[str, float]:
        relayed = difference(self._relays.relayed(), self._overlay.topics())
        return {"relayed_topics": float(len(relayed))}

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Let the first peer that can spread an event on its way to the rendezvous node do so."""
        assert isinstance(message, EventData)
        if not self._can_spread(message.topic):
            return True
        self._spread_routed(message, hops)
        return False

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, EventData)
        self._spread_routed(message, hops)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Do nothing: everything is renewed each round."""

    def _spread_routed(self, data: EventData, hops: int) -> None:
        arrived = EventData(data.event, data.topic, data.publisher, hops, data.payload)
        self._dissemination.publish(arrived)

    def _publish(self, data: EventData, patience: int) -> None:
        """Spread the event or route it; a peer that knows no other peer yet waits up to `patience` rounds."""
        if not self._overlay.has_neighbours and patience:
            self.environment.set_timer(self._period, lambda: self._publish(data, patience - 1))
        elif self._can_spread(data.topic):
            self._dissemination.publish(data)
        else:
            self._overlay.route(hash_of_topic(data.topic), data)

    def _can_spread(self, topic: int) -> bool:
        return any(True for _ in self._targets(topic))

    def _is_interested(self, topic: int) -> bool:
        return topic in self._rates
