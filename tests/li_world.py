"""Li's system at several peers over an overlay that routes in one step, in lockstep."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from fake_environment import FakeEnvironment, Lockstep
from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import Routed

from emulator import identifiers
from emulator.messages import message_class
from emulator.protocol import Contact, Environment, Event, Handler, Installation, Overlay, RangeInterest
from emulator.pubsub.li.node import Name, TreeNode
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.system import Li


class Ring:
    """Who is up, as everybody knows at once."""

    def __init__(self, peers: Iterable[int]) -> None:
        self.peers = sorted(peers)
        self.version = 0

    def closest(self, key: int) -> int:
        return min(self.peers, key=lambda peer: identifiers.distance(identifiers.of_peer(peer), key))

    def change(self, joined: Iterable[int] = (), left: Iterable[int] = ()) -> None:
        self.peers = sorted((set(self.peers) | set(joined)) - set(left))
        self.version += 1


class OneStepOverlay(Overlay):
    """Routes to the closest peer of the ring."""

    def __init__(self, environment: Environment, ring: Ring) -> None:
        self._environment = environment
        self._ring = ring
        self._peer = environment.self_contact.peer

    @property
    def routes_version(self) -> int:  # type: ignore[override]
        return self._ring.version

    def handlers(self) -> dict[type[Message], Handler]:
        return {Routed: self._on_routed}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        pass

    def stop(self, graceful: bool) -> None:
        pass

    def route(self, key: int, message: Message) -> None:
        hop = self.next_hop(key)
        assert self.application is not None
        if hop is None:
            self.application.deliver(key, message, self._peer, 0)
            return
        routed = Routed(
            key=identifiers.encode(key),
            origin=self._peer,
            hops=1,
            type=type(message).__name__,
            payload=message.SerializeToString(),
        )
        self._environment.send(hop, routed)

    def next_hop(self, key: int) -> int | None:
        closest = self._ring.closest(key)
        return None if closest == self._peer else closest

    def neighbour_set(self, count: int) -> list[int]:
        own = identifiers.of_peer(self._peer)
        others = [peer for peer in self._ring.peers if peer != self._peer]
        return sorted(others, key=lambda p: identifiers.distance(own, identifiers.of_peer(p)))[:count]

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {}

    def _on_routed(self, sender: int, routed: Routed) -> None:
        assert self.application is not None
        message = message_class(routed.type).FromString(routed.payload)
        self.application.deliver(identifiers.decode(routed.key), message, routed.origin, routed.hops)


class LiWorld:
    """Peers, what they asked for, and what they got."""

    def __init__(self, peers: int, parameters: LiParameters, seed: int = 0, up: int | None = None) -> None:
        """`up` of the peers are in the ring from the start (default all)."""
        self.ring = Ring(range(peers if up is None else up))
        self.systems: dict[int, Li] = {}
        self.overlays: dict[int, OneStepOverlay] = {}
        self.parameters = parameters
        self.lockstep = Lockstep(self._make, range(peers), seed)
        self.asked: list[tuple[int, RangeInterest]] = []
        self.random = random.Random(seed)
        self._events = 0
        for peer in self.ring.peers:
            self.systems[peer].start([])
        self.lockstep.exchange()

    def _make(self, environment: FakeEnvironment) -> Li:
        peer = environment.self_contact.peer
        overlay = self.overlays[peer] = OneStepOverlay(environment, self.ring)
        system = Li(
            environment,
            self.parameters,
            overlay,
            digit_bits=4,
            is_ready=lambda: peer in self.ring.peers,
        )
        self.systems[peer] = system
        return system

    def subscribe(self, peer: int, ranges: Mapping[str, tuple[float, float]]) -> RangeInterest:
        interest = RangeInterest(dict(ranges))
        self.asked.append((peer, interest))
        self.systems[peer].subscribe(interest)
        return interest

    def settle(self, seconds: int = 1) -> None:
        """Everything in flight arrives, and timers of this many seconds come up."""
        self.lockstep.exchange()
        for _ in range(seconds):
            self.lockstep.round(1.0)

    def publish(self, publisher: int, values: Mapping[str, float]) -> Event:
        self._events += 1
        event = Event(self._events, publisher, attributes=dict(values))
        self.systems[publisher].publish(event)
        return event

    def delivered(self, event: Event) -> list[int]:
        """Peers that got the event, each as often as it got it."""
        return sorted(
            peer
            for peer, environment in self.lockstep.environments.items()
            for outcome in environment.delivered
            if isinstance(outcome, Event) and outcome.number == event.number
        )

    def interested(self, event: Event) -> list[int]:
        """Peers that a brute-force matcher finds."""
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

    def nodes(self) -> dict[Name, TreeNode]:
        """All tree nodes, each at one peer only."""
        found: dict[Name, TreeNode] = {}
        for peer in self.lockstep.protocols:
            for name, node in self.systems[peer].tree.nodes.items():
                assert name not in found, f"{name} is at two peers"
                found[name] = node
        return found

    def crash(self, peers: Sequence[int]) -> None:
        """Without a word; the overlay notices at once and tells everybody."""
        self.lockstep.crash(peers)
        self.ring.change(left=peers)
        for peer in self.lockstep.protocols:
            for gone in peers:
                self.systems[peer].update(gone, False)

    def come_back(self, peer: int) -> None:
        """Crash and start again at once, before anybody notices."""
        lockstep = self.lockstep
        environment = FakeEnvironment(peer, seed=1)
        environment.now = lockstep.environments[peer].now
        lockstep.environments[peer] = environment
        system = lockstep.protocols[peer] = self._make(environment)
        lockstep._handlers[peer] = system.handlers()
        system.start([Contact(0)])

    def join(self, peer: int) -> None:
        self.ring.change(joined=[peer])
        self.systems[peer].start([Contact(0)])
        for other in self.ring.peers:
            if other != peer:
                self.systems[other].update(peer, True)
