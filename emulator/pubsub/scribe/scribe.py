"""Scribe: multicast trees over a structured overlay.

Castro, Druschel, Kermarrec, Rowstron: Scribe: A large-scale and decentralized application-level
multicast infrastructure, IEEE JSAC 20(8), 2002. A topic is a group; its root (the paper's rendezvous
point) is the peer whose identifier is closest to hash(topic).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from emulator.identifiers import hash_of_topic
from emulator.protocol import (
    Application,
    Contact,
    Environment,
    Event,
    Interest,
    Message,
    Overlay,
    PubSub,
    TopicInterest,
)
from emulator.pubsub.scribe.groups import Groups
from emulator.pubsub.scribe.parameters import ScribeParameters, parameters_over
from emulator.pubsub.scribe.trees import Trees
from emulator.system import OverlayKind, System
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import GroupCreation, Multicast, RootAddress, TreeJoin

_PAPER: Final = "Castro, Druschel, Kermarrec, Rowstron: Scribe, IEEE JSAC 20(8), 2002"
_REMEMBERED_EVENTS: Final = 10_000
_KNOWN_ROOTS: Final = 10_000
_PATIENCE: Final = 10
"""Seconds for which a publication waits until its publisher has joined the overlay."""


class Scribe(PubSub):
    """One peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: ScribeParameters,
        create: Callable[[Environment], Overlay],
    ) -> None:
        """`create` makes this peer's part of the overlay from the environment of its channel."""
        super().__init__(environment)
        self._topics: set[int] = set()
        self._overlay = create(environment.channel("overlay"))
        self._overlay.carry(self, TreeJoin, GroupCreation, EventData)
        self._trees = Trees(environment, self._overlay, parameters, self._topics)
        self._groups = Groups(environment, self._overlay, parameters.root_replicas)
        self._heartbeat = parameters.heartbeat
        self._multicast_timeout = parameters.multicast_timeout
        self._known_roots: dict[int, int] = {}
        self._seen: dict[int, None] = {}
        self._started = False
        environment.handle(EventData, self._on_event)
        environment.handle(RootAddress, self._on_root_address)
        environment.serve(Multicast, self._on_multicast)

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)
        self._trees.start()
        self.environment.every(self._heartbeat, self._groups.replicate)
        self._started = True
        for topic in self._topics:
            self._trees.join(topic)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._trees.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._trees.on_unreachable(peer)
        for topic in [topic for topic, root in self._known_roots.items() if root == peer]:
            del self._known_roots[topic]

    def create(self, topic: int) -> None:
        """Make the group known to its root, with this peer as its creator. The first join does it too."""
        self._overlay.route(hash_of_topic(topic), GroupCreation(topic=topic, creator=self.environment.peer))

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
            self.environment.deliver(event)
        data = EventData(
            event=event.number, topic=event.topic, publisher=event.publisher, payload=event.payload
        )
        self._multicast(data, _PATIENCE)

    def gauges(self) -> dict[str, float]:
        trees = self._trees
        children = 0
        for those in trees.children.values():
            children += len(those)
        return {
            "relayed_topics": float(len(trees.topics() - self._topics)),
            "root_topics": float(len(trees.roots)),
            "tree_children": float(children),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """End a join at the first peer that it comes to; all else goes on to the root."""
        return not isinstance(message, TreeJoin) or self._trees.forward(message, next_hop)

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as the root of the topic."""
        if isinstance(message, TreeJoin):
            self._groups.create(message.topic, message.child)
            self._trees.deliver(message)
        elif isinstance(message, GroupCreation):
            self._groups.create(message.topic, message.creator)
        elif isinstance(message, EventData):
            if message.publisher != self.environment.peer:
                self.environment.send(message.publisher, RootAddress(topic=message.topic))
            self._disseminate(message, message.hops + hops, sender=None)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self._groups.forget(contact.peer)
        if joined:
            self._trees.neighbour_joined(contact)

    def _multicast(self, data: EventData, patience: int) -> None:
        """Send straight to the root if it is known, else route; wait if the overlay is not joined yet."""
        root = self._known_roots.get(data.topic)
        if root is not None:
            self.environment.request(
                root,
                Multicast(event=_onward(data, 1)),
                self._multicast_timeout,
                lambda reply: None,
                lambda: self._find_root(data, root),
            )
        elif self._overlay.ready or not patience:
            self._overlay.route(hash_of_topic(data.topic), data)
        else:
            self.environment.set_timer(1.0, lambda: self._multicast(data, patience - 1))

    def _find_root(self, data: EventData, missing: int) -> None:
        """Route the event that the peer known as the root has not confirmed; the root tells who it is."""
        if self._known_roots.get(data.topic) == missing:
            del self._known_roots[data.topic]
        self._overlay.route(hash_of_topic(data.topic), data)

    def _on_multicast(self, sender: int, message: Multicast) -> RootAddress | None:
        """Confirm an event as the root. A former root routes it on; the root tells the publisher who it is.

        A root that came back and has not joined yet has no tree; it does not answer, and the publisher routes
        the event.
        """
        data = message.event
        if data is None or not self._overlay.ready:
            return None
        if self._overlay.next_hop(hash_of_topic(data.topic)) is not None:
            self._overlay.route(hash_of_topic(data.topic), data)
            return None
        self._disseminate(data, data.hops, sender=None)
        return RootAddress(topic=data.topic)

    def _on_root_address(self, sender: int, message: RootAddress) -> None:
        self._known_roots[message.topic] = sender
        if len(self._known_roots) > _KNOWN_ROOTS:
            del self._known_roots[next(iter(self._known_roots))]

    def _on_event(self, sender: int, message: EventData) -> None:
        self._trees.hear(sender)
        self._disseminate(message, message.hops, sender)

    def _disseminate(self, data: EventData, hops: int, sender: int | None) -> None:
        """Deliver the event here, once, and send it down the tree."""
        if data.event in self._seen:
            return
        self._seen[data.event] = None
        if len(self._seen) > _REMEMBERED_EVENTS:
            del self._seen[next(iter(self._seen))]
        if data.topic in self._topics and data.publisher != self.environment.peer:
            self.environment.deliver(
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


def over(kind: OverlayKind) -> System:
    """The system that is Scribe over overlays of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Scribe(environment, parameters, lambda part: kind.create(part, parameters.overlay))

    overlay = kind.title.partition(",")[0].replace("The ", "the ", 1)
    return System(
        f"scribe-{kind.name}", f"Scribe over {overlay}", _PAPER, parameters_over(kind.parameters), create
    )
