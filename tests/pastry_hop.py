"""One Pastry peer that routes, and an application that keeps what reaches it."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.messages.message import Message
from emulator.protocols.overlays.pastry import Pastry, PastryParameters
from trellis.v1.overlay import Contact, LookupRequest, Routed
from trellis.v1.pastry import HopAck, LeafSetProbe


class Recorder:
    """An application that keeps what reaches it, and stops what it is told to."""

    def __init__(self) -> None:
        self.delivered: list[tuple[int, int, int]] = []
        self.forwarded: list[tuple[int, int]] = []
        self.lets_pass = True

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((next_hop, hops))
        return self.lets_pass

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.delivered.append((message.number, origin.peer, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        pass


class Peer:
    """Peer 0, ready unless it is given contacts, which knows a few others."""

    def __init__(
        self, *known: int, session: int = 0, contacts: tuple[int, ...] = (), **parameters: Any
    ) -> None:
        self.environment = FakeEnvironment(0, session=session)
        self.pastry = Pastry(self.environment, PastryParameters.model_validate(parameters))
        self.application = Recorder()
        self.pastry.carry(self.application, LookupRequest)
        self.pastry.start(contacts)
        for peer in known:
            self.meet(peer)
        # They know no others, so there is nothing left to ask them.
        while self.answer_probes():
            pass
        self.environment.outbox.clear()

    def meet(self, peer: int) -> None:
        """A peer comes and knows nobody."""
        self.environment.hand_over(peer, LeafSetProbe(identifier=hash_of_peer(peer)), request=1)

    def answer_probes(self) -> int:
        """Let all peers that are probed answer that they know nobody, and return how many were probed."""
        probes = [sent for sent in self.environment.outbox if is_probe(sent.message) and sent.request > 0]
        self.environment.outbox[:] = [sent for sent in self.environment.outbox if sent not in probes]
        for sent in probes:
            reply = LeafSetProbe(identifier=hash_of_peer(sent.peer))
            self.environment.hand_over(sent.peer, reply, request=-sent.request)
        return len(probes)

    def take(self, sender: int, message: Message, request: int = 0) -> None:
        self.environment.hand_over(sender, message, request=request)

    def receive(self, sender: int, routed: Routed) -> None:
        """A hop sends what is acknowledged."""
        self.take(sender, routed, request=1)

    def routed(self) -> list[tuple[int, Routed]]:
        """Return the routed messages that were sent; `acknowledge` answers the last of them."""
        sent = [each for each in self.environment.outbox if isinstance(each.message, Routed)]
        self.environment.outbox.clear()
        self.requests = [each.request for each in sent]
        return [(each.peer, each.message) for each in sent if isinstance(each.message, Routed)]

    def acknowledge(self, hop: int, refused: bool = False) -> None:
        self.take(hop, HopAck(refused=refused), request=-self.requests[-1])

    def leaves(self) -> list[int]:
        return list(self.pastry.neighbours()["leaf"])

    def probed(self) -> list[int]:
        """Return the peers that were sent a probe of the leaf set."""
        return [sent.peer for sent in self.environment.outbox if is_probe(sent.message) and sent.request > 0]


def is_probe(message: Message) -> bool:
    return isinstance(message, LeafSetProbe)


def routed(key: int, number: int = 7, *, origin: int = 9, sequence: int = 1, hops: int = 1) -> Routed:
    return Routed(
        key=key,
        origin=Contact(origin, hash_of_peer(origin)),
        hops=hops,
        message=LookupRequest(number),
        sequence=sequence,
    )


def distance(peer: int, key: int) -> int:
    return RING.distance(hash_of_peer(peer), key)


MINE = hash_of_peer(0)


OTHERS = hash_of_peer(1)
