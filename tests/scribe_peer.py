"""One peer of Scribe over an overlay whose routes are laid out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from fake_environment import FakeEnvironment
from pydantic import BaseModel

from emulator.contract.identifiers import RING, hash_of_peer, hash_of_topic
from emulator.contract.protocol import Contact, Environment, Message, Overlay, TopicInterest
from emulator.protocols.pubsub.scribe.parameters import parameters_over
from emulator.protocols.pubsub.scribe.scribe import Scribe
from trellis.v1.overlay import LookupRequest
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import TreeAcceptance, TreeHeartbeat, TreeJoin

SELF = 50
HEARTBEAT = 4.0
SILENT = 3
JOIN_TIMEOUT = 1.0
TOPIC = 7
M = TypeVar("M", bound=Message)


def contact(peer: int) -> Contact:
    return Contact(peer=peer, identifier=hash_of_peer(peer))


def topics(*numbers: int) -> int:
    """Return the bit set of these topics."""
    return sum(1 << number for number in numbers)


def beat(*, children: Iterable[int] = (), parents: Iterable[int] = (), sender: int = 60) -> TreeHeartbeat:
    """Return a heartbeat that `sender` sends: its identifier is in it if the receiver is a child."""
    identifier = hash_of_peer(sender) if children else 0
    return TreeHeartbeat(children=topics(*children), parents=topics(*parents), identifier=identifier)


class NoParameters(BaseModel):
    pass


class LaidOut(Overlay):
    """Every topic is routed to `hops[topic]`, or else ends here."""

    def __init__(self, environment: Environment, hops: dict[int, int], closest: list[int]) -> None:
        super().__init__(environment, RING, hash_of_peer(SELF))
        self.hops = hops
        self.closest = closest
        self.joined = True
        self.left: bool | None = None

    @property
    def ready(self) -> bool:
        return self.joined

    def lay(self, topic: int, hop: int | None) -> None:
        self.hops.pop(topic, None)
        if hop is not None:
            self.hops[topic] = hop
        self.routes_version += 1

    def route(self, key: int, message: Message) -> None:
        application = self.application_of(message)
        hop = self.next_hop(key)
        if hop is None:
            application.deliver(key, message, contact(SELF), 0)
        elif application.forward(key, message, hop.peer, 0):
            self.environment.send(hop.peer, message)

    def next_hop(self, key: int) -> Contact | None:
        hop = next((hop for topic, hop in self.hops.items() if hash_of_topic(topic) == key), None)
        return None if hop is None else contact(hop)

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        return [contact(peer) for peer in self.closest[:count]]

    def sample(self, count: int) -> Sequence[int]:
        return self.closest[:count]

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"leaf": self.closest}

    def start(self, contacts: Sequence[int]) -> None:
        self.environment.send(99, LookupRequest())

    def stop(self, graceful: bool) -> None:
        self.left = graceful
        self.environment.send(99, LookupRequest())


class Peer:
    """The peer under test in its world: topics are routed to the peer that `hops` says."""

    def __init__(
        self,
        hops: dict[int, int] | None = None,
        subscribed: Iterable[int] = (),
        closest: Sequence[int] = (1, 2, 3),
        ready: bool = True,
        **parameters: Any,
    ) -> None:
        self.environment = FakeEnvironment(SELF)
        given = {"heartbeat": "4 s", "silent_heartbeats": SILENT, "join_timeout": "1 s"} | parameters
        made: list[LaidOut] = []

        def create(part: Environment) -> Overlay:
            made.append(LaidOut(part, hops or {}, list(closest)))
            return made[0]

        self.scribe = Scribe(self.environment, parameters_over(NoParameters).model_validate(given), create)
        self.overlay = made[0]
        self.overlay.joined = ready
        for topic in subscribed:
            self.scribe.subscribe(TopicInterest(topic))
        self.scribe.start([1])

    def hand(self, sender: int, message: Message, request: int = 0) -> None:
        self.environment.hand_over(sender, message, request=request)

    def fail(self, peer: int) -> None:
        self.environment.fail(peer)

    def route_through(self, message: Message, topic: int, hops: int = 1, origin: int = 9) -> bool:
        """Make the overlay's upcall for a message that came here, and return whether it goes on."""
        key = hash_of_topic(topic)
        hop = self.overlay.next_hop(key)
        if hop is None:
            self.scribe.deliver(key, message, contact(origin), hops)
            return False
        return self.scribe.forward(key, message, hop.peer, hops)

    def joined_by(self, child: int, topic: int = TOPIC) -> bool:
        return self.route_through(TreeJoin(topic=topic, child=child), topic)

    def accepted_by(self, parent: int, *topics: int) -> None:
        for topic in topics or (TOPIC,):
            self.hand(parent, TreeAcceptance(topic=topic, identifier=hash_of_peer(parent)))

    def sent(self, kind: type[M]) -> list[tuple[int, M]]:
        return self.environment.take(kind)

    def clear(self) -> None:
        self.environment.outbox.clear()

    def event(self, number: int = 1, topic: int = TOPIC, hops: int = 2, publisher: int = 9) -> EventData:
        return EventData(event=number, topic=topic, publisher=publisher, hops=hops, payload=b"x")

    def receivers(self, number: int = 1, sender: int = 60, topic: int = TOPIC) -> list[int]:
        """Return where an event that comes down the tree goes on to."""
        self.clear()
        self.hand(sender, self.event(number, topic))
        return sorted(peer for peer, _ in self.sent(EventData))


def member(parent: int = 60, **parameters: Any) -> Peer:
    """Return a subscriber with a parent."""
    tested = Peer({TOPIC: parent}, [TOPIC], **parameters)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def forwarder(*children: int, parent: int = 60) -> Peer:
    """Return a peer that is in the tree for its children alone."""
    tested = Peer({TOPIC: parent})
    for child in children:
        tested.joined_by(child)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def nearer(topic: int, than: int = SELF, count: int = 1) -> list[int]:
    """Return peers whose identifiers are closer to the topic."""
    key = hash_of_topic(topic)
    away = RING.distance(hash_of_peer(than), key)
    return [peer for peer in range(1000, 2000) if RING.distance(hash_of_peer(peer), key) < away][:count]


def further(topic: int) -> int:
    key = hash_of_topic(topic)
    away = RING.distance(hash_of_peer(SELF), key)
    return next(peer for peer in range(1000, 2000) if RING.distance(hash_of_peer(peer), key) > away)
