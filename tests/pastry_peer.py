"""One Pastry peer that a test talks to, and a network that keeps what was sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fake_environment import FakeEnvironment
from pastry_world import PastryWorld, Place

from emulator.contract.identifiers import hash_of_peer
from emulator.messages.message import Message
from emulator.protocols.overlays.pastry import Pastry, PastryParameters
from trellis.v1.overlay import Contact
from trellis.v1.pastry import (
    LeafSetProbe,
    Ping,
    Pong,
    RowAnnouncement,
)


def contacts(*peers: int) -> list[Contact]:
    return [Contact(peer, hash_of_peer(peer)) for peer in peers]


def numbers(told: Iterable[Contact]) -> list[int]:
    return [contact.peer for contact in told]


class Watched(PastryWorld):
    """Keeps what was sent, by class: (sender, receiver, message)."""

    def __init__(self, **parameters: object) -> None:
        super().__init__(parameters=PastryParameters.model_validate(parameters))
        self.sent: dict[type[Message], list[tuple[int, int, Message]]] = defaultdict(list)

    def carry(self, sender: Place, channel: str, receiver: int, message: Message, request: int) -> None:
        self.sent[type(message)].append((sender.peer, receiver, message))
        super().carry(sender, channel, receiver, message, request)


def grown(peers: int, **parameters: object) -> Watched:
    world = Watched(**parameters)
    for peer in range(peers):
        world.at(world.random.uniform(0, 10), lambda peer=peer: world.join(peer))  # type: ignore[misc]
    world.run(20)
    world.sent.clear()
    return world


class Peer:
    """Peer 0, which begins to join through the contacts, or is the first if there are none."""

    def __init__(self, *through: int, **parameters: object) -> None:
        self.environment = FakeEnvironment(0)
        self.pastry = Pastry(self.environment, PastryParameters.model_validate(parameters))
        self.pastry.start(through)

    def take(self, sender: int, message: Message, request: int = 0) -> None:
        self.environment.hand_over(sender, message, request=request)

    def meet(self, *peers: int) -> None:
        """Each peer probes this one, and knows nobody."""
        for peer in peers:
            self.take(peer, LeafSetProbe(identifier=hash_of_peer(peer)), request=1)

    def shown(self, peer: int, milliseconds: float = 1) -> None:
        """The peer shows this one a row that it is in, and how far they are apart."""
        message = RowAnnouncement(identifier=hash_of_peer(peer), round_trip_us=round(milliseconds * 1000))
        self.take(peer, message)

    def asked(self, kind: type[Message]) -> list[int]:
        """Return the peers that requests of this class went to and that have not been answered."""
        return [
            sent.peer for sent in self.environment.outbox if type(sent.message) is kind and sent.request > 0
        ]

    def answer(self, peer: int, reply: Message, to: type[Message]) -> None:
        """The peer answers the first request of the class that was sent to it."""
        outbox = self.environment.outbox
        place = next(i for i, sent in enumerate(outbox) if sent.peer == peer and type(sent.message) is to)
        self.take(peer, reply, request=-outbox.pop(place).request)

    def pong(self, peer: int, ready: bool = True) -> None:
        self.answer(peer, Pong(identifier=hash_of_peer(peer), ready=ready), to=Ping)

    def describe(self, peer: int, *leaves: int) -> None:
        """The peer answers a probe with its leaves."""
        reply = LeafSetProbe(identifier=hash_of_peer(peer), leaves=contacts(*leaves))
        self.answer(peer, reply, to=LeafSetProbe)

    def describe_all(self) -> None:
        """All peers that are probed answer that they know nobody, until nothing is asked any more."""
        while probed := self.asked(LeafSetProbe):
            for peer in probed:
                self.describe(peer)

    def requests(self, kind: type[Message]) -> list[tuple[int, Message]]:
        """Return the requests of a class that were sent; they stay to be answered."""
        return [(sent.peer, sent.message) for sent in self.environment.outbox if type(sent.message) is kind]

    def forget_sent(self) -> None:
        self.environment.outbox.clear()

    def leaves(self) -> list[int]:
        return list(self.pastry.neighbours()["leaf"])

    def entries(self) -> list[int]:
        return list(self.pastry.neighbours()["routing table"])


def ready_with_leaves(*leaves: int) -> Peer:
    """Start peer 0 alone; then the others answer as leaves until it has nothing left to ask."""
    peer = Peer(leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    peer.meet(*leaves)
    peer.describe_all()
    peer.forget_sent()
    return peer
