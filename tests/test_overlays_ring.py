"""Many small-world peers together: the ring that gossip makes, and routing over it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.contract.identifiers import RING, hash_of_peer, hash_of_topic
from emulator.messages.message import Message
from emulator.protocols.overlays.small_world.neighbour_selection import PREDECESSOR, SUCCESSOR
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from trellis.v1.overlay import Contact, Routed
from trellis.v1.pubsub import Pull

PEERS = 64
distance = RING.distance
CONVERGED_AFTER = 12
SEEDS = st.integers(0, 2**32 - 1)


class Rendezvous:
    """Takes note of where a message ended."""

    def __init__(self, peer: int, ends: list[tuple[int, int]]) -> None:
        self.peer = peer
        self.ends = ends

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        assert distance(hash_of_peer(next_hop), key) < distance(hash_of_peer(self.peer), key)
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        self.ends.append((key, self.peer))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        pass


class Ring:
    """Peers that start through a few others and gossip in lockstep."""

    def __init__(self, seed: int, draw: str = "distance") -> None:
        self.ends: list[tuple[int, int]] = []
        self._draw = draw
        self.world = Lockstep(self._make, range(PEERS), seed)
        self.world.start()

    def _make(self, environment: FakeEnvironment) -> SmallWorld:
        overlay = SmallWorld(
            environment,
            SmallWorldParameters.model_validate({"small_world_draw": self._draw}),
            small_world_links=1,
        )
        overlay.describe({environment.peer % 7: 1.0})
        overlay.carry(Rendezvous(environment.peer, self.ends), Pull)
        return overlay

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.world.round()

    def peers(self) -> dict[int, SmallWorld]:
        return self.world.protocols  # type: ignore[return-value]

    def is_true_ring(self) -> bool:
        """Return whether each peer's successor and predecessor are those of the sorted identifiers of all
        that live."""
        order = sorted(self.peers(), key=hash_of_peer)
        return all(
            list(self.peers()[here].neighbours().get(SUCCESSOR, [])) == [after]
            and list(self.peers()[after].neighbours().get(PREDECESSOR, [])) == [here]
            for here, after in pairwise([*order, order[0]])
        )


@settings(max_examples=3, deadline=None)
@given(SEEDS, st.sampled_from(["distance", "anew", "candidates"]))
def test_the_ring_converges(seed: int, draw: str) -> None:
    ring = Ring(seed, draw)
    ring.rounds(CONVERGED_AFTER)
    assert ring.is_true_ring()
    ring.rounds(1)
    assert ring.is_true_ring()


@settings(max_examples=2, deadline=None)
@given(SEEDS, st.sets(st.integers(0, PEERS - 1), min_size=6, max_size=6))
def test_the_ring_heals_after_a_tenth_of_the_peers_crash(seed: int, crashed: set[int]) -> None:
    ring = Ring(seed)
    ring.rounds(CONVERGED_AFTER)
    ring.world.crash(crashed)
    ring.rounds(10)
    assert ring.is_true_ring()
    for overlay in ring.peers().values():
        assert not crashed & {link.profile.peer for link in overlay.links()}


@pytest.fixture(scope="module")
def converged() -> Ring:
    ring = Ring(seed=1)
    ring.rounds(CONVERGED_AFTER)
    return ring


@settings(max_examples=30, deadline=None)
@given(origin=st.integers(0, PEERS - 1), topic=st.integers(0, 10**6))
def test_every_lookup_ends_at_the_peer_closest_to_the_key(converged: Ring, origin: int, topic: int) -> None:
    key = hash_of_topic(topic)
    converged.ends.clear()
    converged.peers()[origin].route(key, Pull(event=1))
    converged.world.exchange(only=[Routed])
    assert converged.ends == [(key, min(range(PEERS), key=lambda peer: distance(hash_of_peer(peer), key)))]


def test_late_peers_find_their_place_in_the_ring() -> None:
    """Half of the peers hear nothing for the first rounds and join then."""
    ring = Ring(seed=5)
    early = {peer: p for peer, p in ring.world.protocols.items() if peer < PEERS // 2}
    late = {peer: p for peer, p in ring.world.protocols.items() if peer >= PEERS // 2}
    ring.world.protocols = early
    ring.rounds(5)
    ring.world.protocols = early | late
    ring.rounds(CONVERGED_AFTER)
    assert ring.is_true_ring()
