"""One peer of the small world in a fake environment, and what others tell it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fake_environment import FakeEnvironment
from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.identifiers import hash_of_peer
from emulator.messages.message import Message, Part
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from trellis.v1.overlay import Contact, Profile, ProfileExchange, TManExchange
from trellis.v1.pubsub import EventData, Proposals

SELF = 50


class Application:
    """Takes note of the upcalls; `passes` says what `forward` answers."""

    def __init__(self) -> None:
        self.passes = True
        self.forwarded: list[tuple[int, Message, int]] = []
        self.delivered: list[tuple[int, Message, Contact, int]] = []
        self.changes: list[tuple[int, bool]] = []

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((key, message, next_hop))
        return self.passes

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        self.delivered.append((key, message, origin, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        assert contact.identifier == hash_of_peer(contact.peer)
        self.changes.append((contact.peer, joined))


def profile(peer: int, version: int = 1, topics: Iterable[int] = (), session: int = 0) -> Profile:
    return make_profile(peer, session, version, hash_of_peer(peer), dict.fromkeys(topics, 1.0))


def contact(peer: int) -> Contact:
    return Contact(peer, hash_of_peer(peer))


class Peer:
    """The overlay under test in its world."""

    def __init__(self, **parameters: Any) -> None:
        self.environment = FakeEnvironment(SELF)
        self.proposals = Proposals()
        self.overlay = SmallWorld(
            self.environment,
            SmallWorldParameters.model_validate({"routing_table": 40, "view": 40} | parameters),
            small_world_links=2,
            system=self,
        )
        self.application = Application()
        self.overlay.carry(self.application, EventData)
        self.overlay.start([])

    def begin_round(self) -> None: ...

    def rider(self) -> Part | None:
        return self.proposals

    def read_rider(self, content: bytes) -> Part:
        return Proposals.read(content, 0, len(content))

    def fits(self, profile: Profile, rider: Part) -> bool:
        return True

    def hear_from(self, peers: Iterable[int], reply: bool = True) -> None:
        for peer in peers:
            self.environment.hand_over(peer, ProfileExchange(reply, profile(peer)))

    def hear_of(self, peers: Iterable[int], age: float = 0.0, teller: int = 999) -> None:
        """Another peer's table says that these were heard from `age` seconds ago."""
        profiles = [profile(peer) for peer in peers]
        ages = vec[i64]([int(age * 1000)] * len(profiles))
        self.environment.hand_over(teller, TManExchange(True, profiles, ages))

    def table(self) -> set[int]:
        kinds = self.overlay.neighbours()
        return {peer for kind, peers in kinds.items() if kind != "incoming" for peer in peers}

    def rounds(self, count: int) -> None:
        self.environment.advance(float(count))

    def sent(self, kind: type[Message]) -> list[int]:
        return sorted(peer for peer, _ in self.environment.take(kind))


def knowing(peers: Iterable[int], **parameters: Any) -> Peer:
    peer = Peer(**parameters)
    peer.hear_of(peers)
    return peer


def hop_of(overlay: SmallWorld, key: int) -> int | None:
    hop = overlay.next_hop(key)
    assert hop is None or hop.identifier == hash_of_peer(hop.peer)
    return None if hop is None else hop.peer
