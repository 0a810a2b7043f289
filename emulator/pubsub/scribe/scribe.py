"""Scribe: multicast trees over a structured overlay.

Castro, Druschel, Kermarrec, Rowstron: Scribe: A large-scale and decentralized application-level
multicast infrastructure, IEEE JSAC 20(8), 2002. A topic is a group; its root (the paper's rendezvous
point) is the peer whose identifier is closest to hash(topic).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message
from trellis.v1.pubsub_pb2 import EventData
from trellis.v1.scribe_pb2 import GroupCreation, Multicast, RootAddress, TreeJoin

from emulator.identifiers import of_topic
from emulator.protocol import Contact, Environment, Event, Handler, Interest, Overlay, PubSub, TopicInterest
from emulator.pubsub.scribe.groups import Groups
from emulator.pubsub.scribe.parameters import ScribeParameters
from emulator.pubsub.scribe.trees import Trees

_REMEMBERED_EVENTS = 10_000
_KNOWN_ROOTS = 10_000
_PATIENCE = 10
"""Seconds for which a publication waits for the first neighbour."""


class Scribe(PubSub):
    """One peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: ScribeParameters,
        create: Callable[[Environment], Overlay],
    ) -> None:
        """`create` makes this peer's part of the overlay."""
        self._environment = environment
        self._peer = environment.self_contact.peer
        self._topics: set[int] = set()
        self._overlay = create(environment)
        self._overlay.application = self
        self._trees = Trees(environment, self._overlay, parameters, self._topics)
        self._groups = Groups(environment, self._overlay, parameters.root_replicas)
        self._heartbeat = parameters.heartbeat
        self._multicast_timeout = parameters.multicast_timeout
        self._known_roots: dict[int, int] = {}
        self._seen: dict[int, None] = {}
        self._started = False

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            **self._overlay.handlers(),
            **self._trees.handlers(),
            **self._groups.handlers(),
            EventData: self._on_event,
            Multicast: self._on_multicast,
            RootAddress: self._on_root_address,
        }

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._overlay.start(bootstrap)
        self._trees.start()
        self._environment.every(self._heartbeat, self._groups.replicate)
        self._started = True
        for topic in self._topics:
            self._trees.join(topic)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._trees.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._overlay.on_unreachable(peer)
        self._trees.on_unreachable(peer)
        for topic in [topic for topic, root in self._known_roots.items() if root == peer]:
            del self._known_roots[topic]

    def create(self, topic: int) -> None:
        """Make the group known to its root, with this peer as its creator. The first join does it too."""
        self._overlay.route(of_topic(topic), GroupCreation(topic=topic, creator=self._peer))

    def creator(self, topic: int) -> int | None:
        """The group's creator, as far as this peer is its root or one of the root's replicas."""
        return self._groups.creator(topic)

    def parent(self, topic: int) -> int | None:
        """This peer's parent in the topic's tree; None at the root and outside the tree."""
        return self._trees.parents.get(topic)

    def children(self, topic: int) -> frozenset[int]:
        """This peer's children in the topic's tree."""
        return frozenset(self._trees.children.get(topic, ()))

    def subscribe(self, interest: Interest) -> None:
        topic = _topic(interest)
        self._topics.add(topic)
        if self._started:
            self._trees.join(topic)

    def unsubscribe(self, interest: Interest) -> None:
        topic = _topic(interest)
        self._topics.discard(topic)
        self._trees.prune([topic])

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system knows topics; the event has none")
        if event.topic in self._topics:
            self._environment.deliver(event)
        data = EventData(
            event=event.number, topic=event.topic, publisher=event.publisher, payload=event.payload
        )
        self._multicast(data, _PATIENCE)

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._overlay.neighbours()

    def gauges(self) -> dict[str, float]:
        trees = self._trees
        return self._overlay.gauges() | {
            "relayed_topics": float(len(trees.topics() - self._topics)),
            "root_topics": float(len(trees.roots)),
            "tree_children": float(sum(len(children) for children in trees.children.values())),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Joins end at the first peer that they come to; all else goes on to the root."""
        return not isinstance(message, TreeJoin) or self._trees.forward(message, next_hop)

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        """This peer is the root of the topic."""
        match message:
            case TreeJoin():
                self._groups.create(message.topic, message.child)
                self._trees.deliver(message)
            case GroupCreation():
                self._groups.create(message.topic, message.creator)
            case EventData():
                if message.publisher != self._peer:
                    self._environment.send(message.publisher, RootAddress(topic=message.topic))
                self._disseminate(message, message.hops + hops, sender=None)

    def update(self, peer: int, joined: bool) -> None:
        self._trees.update(peer, joined)

    def _multicast(self, data: EventData, patience: int) -> None:
        """Send straight to the root if it is known, else route; without any neighbour yet, wait."""
        root = self._known_roots.get(data.topic)
        if root is not None:
            self._environment.send(root, Multicast(event=_onward(data, 1)))
            self._environment.set_timer(self._multicast_timeout, lambda: self._route_if_lost(data, root))
        elif self._overlay.neighbour_set(1) or not patience:
            self._overlay.route(of_topic(data.topic), data)
        else:
            self._environment.set_timer(1.0, lambda: self._multicast(data, patience - 1))

    def _route_if_lost(self, data: EventData, root: int) -> None:
        if self._known_roots.get(data.topic) != root:
            self._overlay.route(of_topic(data.topic), data)

    def _on_multicast(self, sender: int, message: Multicast) -> None:
        """From a publisher that takes this peer for the root; if it is not, the event is routed on."""
        data = message.event
        if self._overlay.next_hop(of_topic(data.topic)) is None:
            self._disseminate(data, data.hops, sender=None)
        else:
            self._overlay.route(of_topic(data.topic), data)

    def _on_root_address(self, sender: int, message: RootAddress) -> None:
        self._known_roots[message.topic] = sender
        if len(self._known_roots) > _KNOWN_ROOTS:
            del self._known_roots[next(iter(self._known_roots))]

    def _on_event(self, sender: int, message: EventData) -> None:
        self._trees.hear(sender)
        self._disseminate(message, message.hops, sender)

    def _disseminate(self, data: EventData, hops: int, sender: int | None) -> None:
        """Deliver here, once, and send down the tree."""
        if data.event in self._seen:
            return
        self._seen[data.event] = None
        if len(self._seen) > _REMEMBERED_EVENTS:
            del self._seen[next(iter(self._seen))]
        if data.topic in self._topics and data.publisher != self._peer:
            self._environment.deliver(
                Event(data.event, data.publisher, data.topic, payload=data.payload, hops=hops)
            )
        if data.topic in self._trees.children:
            self._trees.send_down(data.topic, _onward(data, hops + 1), sender)


def _onward(data: EventData, hops: int) -> EventData:
    """The event as it arrives after so many hops; a message that was sent is never changed."""
    return EventData(
        event=data.event, topic=data.topic, publisher=data.publisher, hops=hops, payload=data.payload
    )


def _topic(interest: Interest) -> int:
    if not isinstance(interest, TopicInterest):
        raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
    return interest.topic
