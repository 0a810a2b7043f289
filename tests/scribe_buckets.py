"""A small overlay for tests of Scribe: near by XOR, a few contacts in each bucket, greedy routes."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from emulator.contract.identifiers import BITS, Xor, hash_of_peer
from emulator.contract.protocol import Environment, Message, Overlay
from emulator.contract.system import OverlayKind
from trellis.v1.overlay import Contact, Goodbye, NewscastExchange, Profile, Routed

_BUCKET = 2


class NoParameters(BaseModel):
    pass


class Buckets(Overlay):
    """Peers tell a random other one, once a second, of all peers that they know, and all that they live."""

    def __init__(self, environment: Environment, parameters: NoParameters) -> None:
        super().__init__(environment, Xor(BITS), hash_of_peer(environment.peer))
        self._known: dict[int, Contact] = {}
        self._told: dict[int, Profile] = {}
        """The profiles of the peer itself and of all that it knows."""
        self._gone: set[int] = set()
        environment.handle(NewscastExchange, self._on_exchange)
        environment.handle(Routed, self._on_routed)
        environment.handle(Goodbye, self._on_goodbye)

    @property
    def ready(self) -> bool:
        return bool(self._known)

    def start(self, contacts: Sequence[int]) -> None:
        self.move_to(self.identifier)
        self._told[self.environment.peer] = Profile(peer=self.environment.peer, identifier=self.identifier)
        for peer in contacts:
            self._tell(peer, reply=False)
        self.environment.every(1.0, self._gossip)

    def stop(self, graceful: bool) -> None:
        if graceful:
            for peer in self._known:
                self.environment.send(peer, Goodbye())

    def on_unreachable(self, peer: int) -> None:
        self._gone.add(peer)
        contact = self._known.pop(peer, None)
        if contact is not None:
            del self._told[peer]
            self.routes_version += 1
            self.tell_change(contact, joined=False)

    def route(self, key: int, message: Message) -> None:
        origin = Contact(peer=self.environment.peer, identifier=self.identifier)
        self._pass_on(Routed(key=key, origin=origin, message=message))

    def next_hop(self, key: int) -> Contact | None:
        best, away = None, self.space.distance(self.identifier, key)
        room: dict[int, int] = {}
        for contact in self._known.values():
            bucket = self.space.distance(self.identifier, contact.identifier).bit_length()
            room[bucket] = room.get(bucket, 0) + 1
            distance = self.space.distance(contact.identifier, key)
            if room[bucket] <= _BUCKET and distance < away:
                best, away = contact, distance
        return best

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        nearest = sorted(self._known.values(), key=lambda contact: contact.identifier ^ self.identifier)
        return nearest[:count]

    def sample(self, count: int) -> Sequence[int]:
        return self.environment.random.sample(sorted(self._known), min(count, len(self._known)))

    def _gossip(self) -> None:
        for peer in self.sample(1):
            self._tell(peer, reply=False)
        for peer in list(self._known):
            self.environment.send(peer, NewscastExchange(reply=True))

    def _tell(self, peer: int, reply: bool) -> None:
        self.environment.send(peer, NewscastExchange(reply=reply, profiles=list(self._told.values())))

    def _on_exchange(self, sender: int, message: NewscastExchange) -> None:
        for profile in message.profiles:
            if profile.peer not in self._told and profile.peer not in self._gone:
                contact = Contact(peer=profile.peer, identifier=profile.identifier)
                self._known[profile.peer] = contact
                self._told[profile.peer] = profile
                self.routes_version += 1
                self.tell_change(contact, joined=True)
        if not message.reply:
            self._tell(sender, reply=True)

    def _on_routed(self, sender: int, message: Routed) -> None:
        self._pass_on(message)

    def _pass_on(self, routed: Routed) -> None:
        message, origin = routed.message, routed.origin
        assert message is not None
        assert origin is not None
        application, hop = self.application_of(message), self.next_hop(routed.key)
        if hop is None:
            application.deliver(routed.key, message, origin, routed.hops)
        elif application.forward(routed.key, message, hop.peer, routed.hops):
            onward = Routed(key=routed.key, origin=origin, hops=routed.hops + 1, message=message)
            self.environment.send(hop.peer, onward)

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)


BUCKETS = OverlayKind("buckets", "Buckets", "none", NoParameters, Buckets)
