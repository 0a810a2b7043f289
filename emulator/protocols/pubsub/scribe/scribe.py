"""Scribe: multicast trees over a structured overlay.

Castro, Druschel, Kermarrec, Rowstron: Scribe: A large-scale and decentralized application-level
multicast infrastructure, IEEE JSAC 20(8), 2002. A topic is a group; its root (the paper's rendezvous
point) is the peer whose identifier is closest to hash(topic).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import (
    Application,
    Contact,
    Environment,
    Event,
    Interest,
    Message,
    Overlay,
    PubSub,
)
from emulator.contract.system import OverlayKind, System
from emulator.protocols.pubsub.scribe.groups import Groups
from emulator.protocols.pubsub.scribe.parameters import ScribeParameters, parameters_over
from emulator.protocols.pubsub.scribe.trees import Trees
from emulator.protocols.pubsub.shared.home_publishing import NOBODY, HomePublishing
from emulator.protocols.pubsub.shared.topics import topic_interest
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import GroupCreation, TreeJoin

_PAPER: Final = "Castro, Druschel, Kermarrec, Rowstron: Scribe, IEEE JSAC 20(8), 2002"


class Scribe(PubSub):
    """One peer of Scribe."""

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
        self._publishing = HomePublishing(
            environment,
            self._overlay,
            parameters.multicast_timeout,
            self._topics,
            _untold,
            self._send_down,
        )
        self._started = False
        environment.handle(EventData, self._on_event)

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)
        self._trees.start()
        self.environment.every(self._heartbeat, self._groups.replicate)
        self._started = True
        for topic in self._topics:
            self._trees.join(topic)

    def parents(self) -> Mapping[int, int]:
        """Return this peer's parent in the tree of each topic in which it has one."""
        return self._trees.parents

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._trees.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._trees.on_unreachable(peer)
        self._publishing.on_unreachable(peer)

    def create(self, topic: int) -> None:
        """Make the group known to its root, with this peer as its creator. The first join does so too."""
        self._overlay.route(hash_of_topic(topic), GroupCreation(topic=topic, creator=self.environment.peer))

    def creator(self, topic: int) -> int | None:
        """Return the group's creator, if this peer is its root or one of the root's replicas."""
        return self._groups.creator(topic)

    def parent(self, topic: int) -> int | None:
        """Return this peer's parent in the topic's tree; None at the root and outside of the tree."""
        return self._trees.parents.get(topic)

    def children(self, topic: int) -> frozenset[int]:
        """Return this peer's children in the topic's tree."""
        return frozenset(self._trees.children.get(topic, ()))

    def subscribe(self, interest: Interest) -> None:
        topic = topic_interest(interest).topic
        self._topics.add(topic)
        if self._started:
            self._trees.join(topic)

    def unsubscribe(self, interest: Interest) -> None:
        topic = topic_interest(interest).topic
        self._topics.discard(topic)
        self._trees.prune([topic])

    def publish(self, event: Event) -> None:
        self._publishing.publish(event)

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
        """End a join at the first peer that it comes to; let all other messages go on to the root."""
        return not isinstance(message, TreeJoin) or self._trees.forward(message, next_hop)

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as the root of the topic."""
        if isinstance(message, TreeJoin):
            self._groups.create(message.topic, message.child)
            self._trees.deliver(message)
        elif isinstance(message, GroupCreation):
            self._groups.create(message.topic, message.creator)
        elif isinstance(message, EventData):
            self._publishing.be_home(message, hops)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self._groups.forget(contact.peer)
        self._trees.check_routes()
        if joined:
            self._trees.neighbour_joined(contact)

    def _on_event(self, sender: int, message: EventData) -> None:
        self._trees.hear(sender)
        self._publishing.disseminate(message, message.hops, sender)

    def _send_down(self, data: EventData, sender: int) -> None:
        if data.topic in self._trees.children:
            self._trees.send_down(data.topic, data, sender)


_TREES: Final = Invariant(
    "trees_have_no_loop",
    "No peer is its own ancestor in the tree of a topic.",
    "emulator.protocols.pubsub.scribe.tree_invariant:broken",
)


def _untold(topic: int) -> int:
    """Return that the root is unknown: a tree of Scribe does not tell it."""
    return NOBODY


def over(kind: OverlayKind) -> System:
    """Return the system that is Scribe over overlays of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Scribe(environment, parameters, lambda part: kind.create(part, parameters.overlay))

    return System(
        f"scribe-{kind.name}",
        f"Scribe over {kind.called}",
        _PAPER,
        parameters_over(kind.parameters),
        create,
        takes_identifiers=True,
        invariants=(*kind.invariants, _TREES),
    )
