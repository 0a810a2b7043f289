"""What Vitis and RVR share: a small-world overlay, relay paths to rendezvous nodes, dissemination."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.message import Message
from pydantic import Field
from trellis.v1.overlay_pb2 import Goodbye
from trellis.v1.pubsub_pb2 import EventData, ProfileExchange

from emulator import identifiers
from emulator.gossip.descriptor import Descriptor
from emulator.overlays.small_world import SmallWorld, SmallWorldParameters
from emulator.protocol import Contact, Environment, Event, Handler, Interest, PubSub, TopicInterest
from emulator.pubsub.dissemination import Dissemination
from emulator.pubsub.relay_trees import RelayTrees
from emulator.quantities import Duration

_JOIN_ROUNDS = 10
"""Rounds for which a publication waits for the first neighbour."""


class RendezvousParameters(SmallWorldParameters):
    """What both systems can be told."""

    relay_lifetime: int = Field(5, ge=1, description="rounds that a relay link lives without renewal")
    pull_timeout: Duration = Field(
        2.0, gt=0, description="time after which an event is pulled from elsewhere"
    )


class RendezvousPubSub(PubSub):
    """One peer; what it asks relays for and whom it notifies is the system's own."""

    def __init__(
        self, environment: Environment, parameters: RendezvousParameters, small_world_links: int
    ) -> None:
        self._environment = environment
        self._period = parameters.period
        self._peer = environment.self_contact.peer
        self._rates: dict[int, float] = {}
        self._version = 0
        self._described: Descriptor | None = None
        self._overlay = SmallWorld(
            environment,
            parameters,
            small_world_links=small_world_links,
            own=lambda: self._descriptor,
            make_profile=self._make_profile,
            round_begins=self._round,
        )
        self._overlay.application = self
        self._relays = RelayTrees(
            environment, self._overlay, lifetime=parameters.relay_lifetime * parameters.period
        )
        self._dissemination = Dissemination(
            environment,
            targets=self._targets,
            interested=self._rates.__contains__,
            pull_timeout=parameters.pull_timeout,
        )

    @abstractmethod
    def _round(self) -> None:
        """Revise what the profile says and renew the relay paths; called before profiles go out."""

    @abstractmethod
    def _make_profile(self, reply: bool) -> ProfileExchange:
        """The heartbeat; the same object as long as it says the same."""

    @abstractmethod
    def _targets(self, topic: int) -> Iterable[int]:
        """The peers to notify of an event of the topic."""

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            **self._overlay.handlers(),
            **self._relays.handlers(),
            **self._dissemination.handlers(),
            Goodbye: self._on_goodbye,
        }

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._overlay.start(bootstrap)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._relays.clear()

    def on_unreachable(self, peer: int) -> None:
        self._overlay.on_unreachable(peer)
        self._relays.on_unreachable(peer)
        self._dissemination.on_unreachable(peer)

    def subscribe(self, interest: Interest) -> None:
        self._rates[_topic(interest).topic] = _topic(interest).rate
        self._described = None

    def unsubscribe(self, interest: Interest) -> None:
        self._rates.pop(_topic(interest).topic, None)
        self._described = None

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system routes by topic; the event has none")
        data = EventData(
            event=event.number, topic=event.topic, publisher=event.publisher, payload=event.payload
        )
        self._publish(data, _JOIN_ROUNDS)

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._overlay.neighbours()

    def gauges(self) -> dict[str, float]:
        relayed = self._relays.relayed() & ~self._descriptor.topic_set
        return self._overlay.gauges() | {"relayed_topics": float(relayed.bit_count())}

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """An event on its way to the rendezvous node is spread by the first peer that can."""
        assert isinstance(message, EventData)
        if not self._can_spread(message.topic):
            return True
        self._spread_routed(message, hops)
        return False

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        assert isinstance(message, EventData)
        self._spread_routed(message, hops)

    def _spread_routed(self, data: EventData, hops: int) -> None:
        arrived = EventData()
        arrived.CopyFrom(data)
        arrived.hops = hops
        self._dissemination.publish(arrived)

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.on_unreachable(sender)

    def update(self, peer: int, joined: bool) -> None:
        """Everything is renewed each round; nothing waits for this."""

    def _publish(self, data: EventData, patience: int) -> None:
        """Spread the event or route it; a peer that knows nobody yet waits up to `patience` rounds."""
        if not self._overlay.table and patience:
            self._environment.set_timer(self._period, lambda: self._publish(data, patience - 1))
        elif self._can_spread(data.topic):
            self._dissemination.publish(data)
        else:
            self._overlay.route(identifiers.of_topic(data.topic), data)

    def _can_spread(self, topic: int) -> bool:
        return any(True for _ in self._targets(topic))

    @property
    def _descriptor(self) -> Descriptor:
        """What this peer tells of itself: of a new version when its interests have changed."""
        if self._described is None:
            self._version = max(self._version + 1, int(self._environment.now * 1000))
            self._described = Descriptor.make(self._peer, self._version, self._rates)
        return self._described


def _topic(interest: Interest) -> TopicInterest:
    if not isinstance(interest, TopicInterest):
        raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
    return interest
