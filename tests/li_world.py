"""Li's system at several peers over an overlay of which everybody knows who is in it, in lockstep."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from fake_environment import FakeEnvironment, Lockstep

from emulator.contract.identifiers import BITS, RING, hash_of_peer
from emulator.contract.protocol import Contact, Environment, Event, Installation, Overlay, RangeInterest
from emulator.messages.message import Message
from emulator.protocols.pubsub.li.node import Name, TreeNode
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.system import Li
from trellis.v1.overlay import Routed

DIGIT_BITS = 4


class Ring:
    """Who is up, as everybody knows at once."""

    def __init__(self, peers: Iterable[int]) -> None:
        self.peers = sorted(peers)
        self._nearest: dict[int, list[int]] = {}
        self._hops: dict[tuple[int, int], int] = {}

    def closest(self, key: int) -> int:
        return self.nearest(key, 1)[0]

    def nearest(self, key: int, count: int) -> list[int]:
        if key not in self._nearest:
            self._nearest[key] = sorted(self.peers, key=lambda p: RING.distance(hash_of_peer(p), key))
        return self._nearest[key][:count]

    def change(self, joined: Iterable[int] = (), left: Iterable[int] = ()) -> None:
        self.peers = sorted((set(self.peers) | set(joined)) - set(left))
        self._nearest.clear()
        self._hops.clear()

    def hop(self, peer: int, key: int) -> int:
        """Return a peer that shares one more digit with the key than `peer`, or else the closest."""
        hop = self._hops.get((peer, key))
        if hop is None:
            own = shared_digits(hash_of_peer(peer), key)
            longer = [p for p in self.peers if shared_digits(hash_of_peer(p), key) == own + 1]
            closest = self.closest(key)
            hop = self._hops[peer, key] = longer[0] if longer and peer != closest else closest
        return hop


def shared_digits(a: int, b: int) -> int:
    return (BITS - (a ^ b).bit_length()) // DIGIT_BITS


class RingOverlay(Overlay):
    """Routes to a peer that shares one more digit with the key, or else to the closest."""

    def __init__(self, environment: Environment, ring: Ring) -> None:
        super().__init__(environment, RING, hash_of_peer(environment.peer))
        self.digit_bits = DIGIT_BITS
        self._ring = ring
        self._peer = environment.peer
        environment.handle(Routed, self._on_routed)

    @property
    def ready(self) -> bool:
        return self._peer in self._ring.peers

    def start(self, contacts: Sequence[int]) -> None:
        self.move_to(self.identifier)

    def stop(self, graceful: bool) -> None:
        pass

    def sample(self, count: int) -> list[int]:
        return self._ring.peers[:count]

    def route(self, key: int, message: Message) -> None:
        self._pass_on(Routed(key, Contact(self._peer, self.identifier), 0, message, 0))

    def next_hop(self, key: int) -> Contact | None:
        hop = self._ring.hop(self._peer, key)
        return None if hop == self._peer else Contact(hop, hash_of_peer(hop))

    def neighbour_set(self, count: int) -> list[Contact]:
        others = self._ring.nearest(self.identifier, count + 1)
        return [Contact(peer, hash_of_peer(peer)) for peer in others if peer != self._peer][:count]

    def _on_routed(self, sender: int, routed: Routed) -> None:
        self._pass_on(routed)

    def _pass_on(self, routed: Routed) -> None:
        message, origin = routed.message, routed.origin
        assert message is not None and origin is not None
        application = self.application_of(message)
        hop = self.next_hop(routed.key)
        if hop is None:
            application.deliver(routed.key, message, origin, routed.hops)
        elif application.forward(routed.key, message, hop.peer, routed.hops):
            self.environment.send(hop.peer, Routed(routed.key, origin, routed.hops + 1, message, 0))


class LiWorld:
    """Peers, what they asked for, and what they got."""

    def __init__(self, peers: int, parameters: LiParameters, seed: int = 0, up: int | None = None) -> None:
        """`up` of the peers are in the ring from the start (default all)."""
        self.ring = Ring(range(peers if up is None else up))
        self.systems: dict[int, Li] = {}
        self.overlays: dict[int, RingOverlay] = {}
        self.parameters = parameters
        self.lockstep = Lockstep(self._make, range(peers), seed)
        self.asked: list[tuple[int, RangeInterest]] = []
        self.random = random.Random(seed)
        self._events = 0
        for peer in self.ring.peers:
            self.systems[peer].start([])
        self.lockstep.exchange()

    def _make(self, environment: FakeEnvironment) -> Li:
        peer = environment.peer
        overlay = self.overlays[peer] = RingOverlay(environment.channel("overlay"), self.ring)
        system = self.systems[peer] = Li(environment, self.parameters, overlay)
        return system

    def subscribe(self, peer: int, ranges: Mapping[str, tuple[float, float]]) -> RangeInterest:
        interest = RangeInterest(dict(ranges))
        self.asked.append((peer, interest))
        self.systems[peer].subscribe(interest)
        return interest

    def settle(self, seconds: int = 1) -> None:
        """Let everything in flight arrive, and timers of this many seconds come up."""
        self.lockstep.exchange()
        for _ in range(seconds):
            self.lockstep.round(1.0)

    def publish(self, publisher: int, values: Mapping[str, float]) -> Event:
        self._events += 1
        event = Event(self._events, publisher, attributes=dict(values))
        self.systems[publisher].publish(event)
        return event

    def delivered(self, event: Event) -> list[int]:
        """Return the peers that got the event, each as often as it got it."""
        return sorted(
            peer
            for peer, environment in self.lockstep.environments.items()
            for outcome in environment.delivered
            if isinstance(outcome, Event) and outcome.number == event.number
        )

    def interested(self, event: Event) -> list[int]:
        """Return peers that a brute-force matcher finds."""
        return sorted(
            {
                peer
                for peer, interest in self.asked
                if peer in self.lockstep.protocols
                and all(
                    name in event.attributes and low <= event.attributes[name] <= high
                    for name, (low, high) in interest.ranges.items()
                )
            }
        )

    def installations(self) -> int:
        return sum(
            isinstance(outcome, Installation)
            for environment in self.lockstep.environments.values()
            for outcome in environment.delivered
        )

    def home(self, name: Name) -> int:
        return self.ring.closest(self.systems[self.ring.peers[0]].schema.key(*name))

    def holders(self, name: Name) -> list[int]:
        """Return peers that are to hold the node, the nearest first."""
        key = self.systems[self.ring.peers[0]].schema.key(*name)
        return self.ring.nearest(key, self.parameters.replicas + 1)

    def nodes(self) -> dict[Name, TreeNode]:
        """Return all tree nodes, as their homes have them."""
        return {
            name: node
            for peer in self.lockstep.protocols
            for name, node in self.systems[peer].tree.nodes.items()
            if self.home(name) == peer
        }

    def check_copies(self) -> None:
        """Check that each node is at the peers nearest to its key and nowhere else, and that all hold the
        same of it."""
        everywhere: dict[Name, dict[int, int]] = {}
        for peer in self.ring.peers:
            for name, node in self.systems[peer].tree.nodes.items():
                everywhere.setdefault(name, {})[peer] = node.digest
        for name, digests in everywhere.items():
            assert sorted(digests) == sorted(self.holders(name)), name
            assert len(set(digests.values())) == 1, name

    def identities(self) -> set[tuple[int, int, int]]:
        """Return the identities of the subscriptions that are in force."""
        return {entry.identity for node in self.nodes().values() for entry in node.live()}

    def crash(self, peers: Sequence[int]) -> None:
        """End a peer without a word; the overlay notices at once and tells everybody."""
        self.lockstep.crash(peers)
        self.ring.change(left=peers)
        for peer in self.lockstep.protocols:
            for gone in peers:
                self.systems[peer].neighbour_changed(Contact(gone, hash_of_peer(gone)), False)

    def come_back(self, peer: int) -> None:
        """Crash and start again at once, before anybody notices."""
        former = self.lockstep.environments[peer]
        environment = FakeEnvironment(peer, seed=1, session=former.session + 1)
        environment.fake.clock = former.now
        self.lockstep.environments[peer] = environment
        system = self.lockstep.protocols[peer] = self._make(environment)
        system.start([0])

    def join(self, peer: int) -> None:
        environment = self.lockstep.environments[peer]
        self.ring.change(joined=[peer])
        self.systems[peer].start([0])
        assert environment.peer == peer
        for other in self.ring.peers:
            if other != peer:
                self.systems[other].neighbour_changed(Contact(peer, hash_of_peer(peer)), True)
