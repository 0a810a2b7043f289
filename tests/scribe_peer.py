"""One peer of Scribe over an overlay whose routes are laid out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from fake_environment import FakeEnvironment, hand_over
from google.protobuf.message import Message
from pydantic import BaseModel
from trellis.v1.overlay_pb2 import LookupRequest
from trellis.v1.pubsub_pb2 import EventData
from trellis.v1.scribe_pb2 import (
    TreeAcceptance,
    TreeJoin,
)

from emulator.identifiers import distance, of_peer, of_topic
from emulator.protocol import Contact, Handler, Overlay, TopicInterest
from emulator.pubsub.scribe.parameters import over
from emulator.pubsub.scribe.scribe import Scribe

SELF = 50
HEARTBEAT = 4.0
SILENT = 3
JOIN_TIMEOUT = 1.0
TOPIC = 7
M = TypeVar("M", bound=Message)


class NoParameters(BaseModel):
    pass


class LaidOut(Overlay):
    """Every topic is routed to `hops[topic]`, or else ends here."""

    def __init__(self, environment: FakeEnvironment, hops: dict[int, int], closest: list[int]) -> None:
        self.environment = environment
        self.hops = hops
        self.closest = closest
        self.left: bool | None = None
        self.gone: list[int] = []

    def lay(self, topic: int, hop: int | None) -> None:
        self.hops.pop(topic, None)
        if hop is not None:
            self.hops[topic] = hop
        self.routes_version += 1

    def route(self, key: int, message: Message) -> None:
        assert self.application is not None
        hop = self.next_hop(key)
        if hop is None:
            self.application.deliver(key, message, SELF, 0)
        elif self.application.forward(key, message, hop, 0):
            self.environment.send(hop, message)

    def next_hop(self, key: int) -> int | None:
        return next((hop for topic, hop in self.hops.items() if of_topic(topic) == key), None)

    def neighbour_set(self, count: int) -> Sequence[int]:
        return self.closest[:count]

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"leaf": self.closest}

    def handlers(self) -> dict[type[Message], Handler]:
        return {LookupRequest: lambda sender, message: None}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self.environment.send(99, LookupRequest())

    def stop(self, graceful: bool) -> None:
        self.left = graceful
        self.environment.send(99, LookupRequest())

    def on_unreachable(self, peer: int) -> None:
        self.gone.append(peer)

    def gauges(self) -> dict[str, float]:
        return {"leaves": 1.0}


class Peer:
    """The peer under test in its world: topics are routed to the peer that `hops` says."""

    def __init__(
        self,
        hops: dict[int, int] | None = None,
        subscribed: Iterable[int] = (),
        closest: Sequence[int] = (1, 2, 3),
        **parameters: Any,
    ) -> None:
        self.environment = FakeEnvironment(SELF)
        self.overlay = LaidOut(self.environment, hops or {}, list(closest))
        given = {"heartbeat": "4 s", "silent_heartbeats": SILENT, "join_timeout": "1 s"} | parameters
        self.scribe = Scribe(
            self.environment, over(NoParameters).model_validate(given), lambda environment: self.overlay
        )
        for topic in subscribed:
            self.scribe.subscribe(TopicInterest(topic))
        self.scribe.start([Contact(1)])

    def hand(self, sender: int, message: Message) -> None:
        hand_over(self.scribe, sender, message)

    def route_through(self, message: Message, topic: int, hops: int = 1, origin: int = 9) -> bool:
        """The overlay's upcall for a message that came here; true if it goes on."""
        hop = self.overlay.next_hop(of_topic(topic))
        if hop is None:
            self.scribe.deliver(of_topic(topic), message, origin, hops)
            return False
        return self.scribe.forward(of_topic(topic), message, hop, hops)

    def joined_by(self, child: int, topic: int = TOPIC) -> bool:
        return self.route_through(TreeJoin(topic=topic, child=child), topic)

    def accepted_by(self, parent: int, *topics: int) -> None:
        for topic in topics or (TOPIC,):
            self.hand(parent, TreeAcceptance(topic=topic))

    def sent(self, kind: type[M]) -> list[tuple[int, M]]:
        return self.environment.take(kind)

    def clear(self) -> None:
        self.environment.outbox.clear()

    def event(self, number: int = 1, topic: int = TOPIC, hops: int = 2, publisher: int = 9) -> EventData:
        return EventData(event=number, topic=topic, publisher=publisher, hops=hops, payload=b"x")

    def receivers(self, number: int = 1, sender: int = 60, topic: int = TOPIC) -> list[int]:
        """Where an event that comes down the tree goes on to."""
        self.clear()
        self.hand(sender, self.event(number, topic))
        return sorted(peer for peer, _ in self.sent(EventData))


def member(parent: int = 60, **parameters: Any) -> Peer:
    """A subscriber with a parent."""
    tested = Peer({TOPIC: parent}, [TOPIC], **parameters)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def forwarder(*children: int, parent: int = 60) -> Peer:
    """A peer that is in the tree for its children alone."""
    tested = Peer({TOPIC: parent})
    for child in children:
        tested.joined_by(child)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def nearer(topic: int, than: int = SELF, count: int = 1) -> list[int]:
    """Peers whose identifiers are closer to the topic."""
    away = distance(of_peer(than), of_topic(topic))
    return [peer for peer in range(1000, 2000) if distance(of_peer(peer), of_topic(topic)) < away][:count]


def further(topic: int) -> int:
    away = distance(of_peer(SELF), of_topic(topic))
    return next(peer for peer in range(1000, 2000) if distance(of_peer(peer), of_topic(topic)) > away)
