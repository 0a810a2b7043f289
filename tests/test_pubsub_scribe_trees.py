"""Many peers of Scribe together: every subscriber is reached, trees are trees, and they heal."""

from __future__ import annotations

from typing import Any

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scribe_buckets import BUCKETS

from emulator.contract.identifiers import RING, Xor, hash_of_peer, hash_of_topic
from emulator.contract.protocol import Component, Event, TopicInterest
from emulator.contract.registry import OVERLAYS
from emulator.contract.system import OverlayKind
from emulator.protocols.pubsub.scribe.scribe import Scribe, over

PEERS = 40
TOPICS = 5
HEARTBEAT = 2.0
SILENT = 2
STANDS_AFTER = 20
"""Rounds of 1 s: the overlay's convergence and a heartbeat."""
HEALS_AFTER = 16
"""Rounds: a silent neighbour is given up after (SILENT + 1) heartbeats, the overlay needs five to drop
one and about five to close the ring."""

SEEDS = st.integers(0, 2**32 - 1)
INTERESTS = st.lists(
    st.tuples(st.integers(0, PEERS - 1), st.integers(0, TOPICS - 1)), min_size=20, max_size=80
)

GIVEN: dict[str, dict[str, Any]] = {
    "small-world": {"routing_table": 6},
    "pastry": {"leaf_set": 8},
    "buckets": {},
}
"""Overlays by name, with parameters; the last one is made for these tests, and near by XOR."""
SPACES = {"buckets": Xor(128)}
overlays = pytest.mark.parametrize("overlay", GIVEN)


class World:
    """Peers in lockstep; `late` ones are down until `join`."""

    def __init__(
        self, overlay: str, seed: int, interests: list[tuple[int, int]], late: frozenset[int] = frozenset()
    ) -> None:
        kind: OverlayKind = BUCKETS if overlay == "buckets" else OVERLAYS[overlay]
        system = over(kind)
        parameters = system.parameters.model_validate(
            {"overlay": GIVEN[overlay], "heartbeat": f"{HEARTBEAT} s", "silent_heartbeats": SILENT}
        )

        def make(environment: FakeEnvironment) -> Component:
            return system.create(environment, parameters)

        self.space = SPACES.get(overlay, RING)
        self.interests = set(interests)
        self.events = 0
        self.world = Lockstep(make, range(PEERS), seed)
        for peer, topic in self.interests:
            self.peer(peer).subscribe(TopicInterest(topic))
        self._down: dict[int, tuple[Component, Any]] = {}
        for peer in late:
            self._down[peer] = self.world.protocols.pop(peer), self.world.environments[peer]
        self.world.start()

    def peer(self, peer: int) -> Scribe:
        protocol = self.world.protocols[peer]
        assert isinstance(protocol, Scribe)
        return protocol

    def peers(self) -> dict[int, Scribe]:
        return {peer: self.peer(peer) for peer in self.world.protocols}

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.world.round()
            for peer in self.world.protocols:
                environment = self.world.environments[peer]
                asked = list(environment.asked_for_contacts)
                environment.asked_for_contacts.clear()
                for callback in asked:
                    callback(self._contacts(peer))

    def _contacts(self, peer: int) -> list[int]:
        return [other for other in self.world.protocols if other != peer][:3]

    def closest(self, topic: int) -> int:
        """Return the peer that is to be the root."""
        key = hash_of_topic(topic)
        return min(self.world.protocols, key=lambda peer: self.space.distance(hash_of_peer(peer), key))

    def join(self, peer: int) -> None:
        self.world.protocols[peer] = self._down.pop(peer)[0]
        self.peer(peer).start(self._contacts(peer))

    def crash(self, peers: set[int]) -> None:
        up = peers & self.world.protocols.keys()
        self.world.crash(up)
        self.interests = {(peer, topic) for peer, topic in self.interests if peer not in up}

    def leave(self, peer: int) -> None:
        if peer in self.world.protocols:
            self.peer(peer).stop(graceful=True)
            self.world.exchange()
            self.crash({peer})

    def subscribers(self, topic: int) -> set[int]:
        return {p for p, t in self.interests if t == topic and p in self.world.protocols}

    def publish(self, publisher: int, topic: int) -> list[int]:
        """Publish an event and return who got it, as often as it was delivered."""
        self.events += 1
        for environment in self.world.environments.values():
            environment.delivered.clear()
        self.peer(publisher).publish(Event(self.events, publisher, topic))
        self.world.exchange()
        return [
            peer
            for peer in sorted(self.world.protocols)
            for event in self.world.environments[peer].delivered
            if event.number == self.events
        ]

    def parents(self, topic: int) -> dict[int, int]:
        """Return the parents by peer."""
        parents = {peer: scribe.parent(topic) for peer, scribe in self.peers().items()}
        return {peer: parent for peer, parent in parents.items() if parent is not None}

    def check_tree(self, topic: int) -> None:
        """Check that from every peer that is in the tree the parents lead to the peer that is closest to
        the topic."""
        parents = self.parents(topic)
        root = self.closest(topic)
        for peer in parents.keys() | self.subscribers(topic):
            way = [peer]
            while way[-1] in parents:
                assert parents[way[-1]] not in way
                way.append(parents[way[-1]])
            assert way[-1] == root
        for child, parent in parents.items():
            assert child in self.peer(parent).children(topic)

    def check(self) -> None:
        """Check that all trees are whole, and that an event of each topic reaches each subscriber once."""
        for topic in range(TOPICS):
            self.check_tree(topic)
            publisher = sorted(self.world.protocols)[self.events % len(self.world.protocols)]
            assert self.publish(publisher, topic) == sorted(self.subscribers(topic))


@overlays
@settings(max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate])
@given(seed=SEEDS, interests=INTERESTS)
def test_every_subscriber_gets_every_event_once(
    overlay: str, seed: int, interests: list[tuple[int, int]]
) -> None:
    world = World(overlay, seed, interests)
    world.rounds(STANDS_AFTER)
    world.check()
    world.check()


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["crash", "leave", "join", "subscribe", "unsubscribe"]),
        st.integers(0, PEERS - 1),
        st.integers(0, TOPICS - 1),
    ),
    max_size=12,
)
LATE = frozenset(range(0, PEERS, 7))


@overlays
@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(seed=SEEDS, interests=INTERESTS, changes=CHANGES)
def test_trees_are_whole_again_after_whatever_happens(
    overlay: str, seed: int, interests: list[tuple[int, int]], changes: list[tuple[str, int, int]]
) -> None:
    world = World(overlay, seed, interests, late=LATE)
    world.rounds(STANDS_AFTER)
    for kind, peer, topic in changes:
        up = peer in world.world.protocols
        if kind == "crash" and up:
            world.crash({peer})
        elif kind == "leave" and up:
            world.leave(peer)
        elif kind == "join" and peer in world._down:
            world.join(peer)
        elif kind == "subscribe" and up:
            world.peer(peer).subscribe(TopicInterest(topic))
            world.interests.add((peer, topic))
        elif kind == "unsubscribe" and up:
            world.peer(peer).unsubscribe(TopicInterest(topic))
            world.interests.discard((peer, topic))
        world.rounds(1)
        publisher = min(world.world.protocols)
        got = world.publish(publisher, topic)
        assert len(got) == len(set(got))
        assert set(got) <= world.subscribers(topic)
    world.rounds(HEALS_AFTER)
    world.check()


@overlays
def test_after_a_tenth_of_the_peers_crash_the_rest_gets_everything_again(overlay: str) -> None:
    interests = [(peer, topic) for peer in range(PEERS) for topic in range(TOPICS) if (peer + topic) % 3]
    world = World(overlay, 1, interests)
    world.rounds(STANDS_AFTER)
    roots = {world.closest(topic) for topic in range(2)}
    world.crash(roots | set(range(0, PEERS, PEERS // 2)))
    world.rounds(HEALS_AFTER)
    world.check()


@overlays
def test_nothing_is_kept_of_a_topic_that_nobody_wants(overlay: str) -> None:
    world = World(overlay, 2, [(peer, 0) for peer in range(0, PEERS, 2)])
    world.rounds(STANDS_AFTER)
    assert world.parents(0)
    for peer in range(0, PEERS, 2):
        world.peer(peer).unsubscribe(TopicInterest(0))
        world.world.exchange()
    assert not world.parents(0)
    assert not any(scribe.children(0) for scribe in world.peers().values())
