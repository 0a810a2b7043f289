"""The small world alone: it routes every key to the closest peer, and heals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.contract.protocol import Lookup
from emulator.protocols.overlays.lookups import Lookups
from emulator.protocols.overlays.small_world.neighbour_selection import (
    FRIEND,
    PREDECESSOR,
    SMALL_WORLD,
    SUCCESSOR,
)
from emulator.protocols.overlays.small_world.parameters import SmallWorldRingParameters
from emulator.protocols.overlays.small_world.ring import SmallWorldRing
from trellis.v1.overlay import Routed

PEERS = 64
SPACE, distance = RING.size, RING.distance
CONVERGED_AFTER = 12
KEYS = st.integers(0, SPACE - 1)


def ring(seed: int, routing_table: int = 8) -> Lockstep:
    parameters = SmallWorldRingParameters(routing_table=routing_table)

    def make(environment: FakeEnvironment) -> Lookups:
        return Lookups(environment, SmallWorldRing(environment.channel("overlay"), parameters))

    world = Lockstep(make, range(PEERS), seed)
    world.start()
    for _ in range(CONVERGED_AFTER):
        world.round()
    return world


def look_up(world: Lockstep, origin: int, key: int) -> list[tuple[int, Lookup]]:
    """Return (peer, outcome) of all deliveries that a lookup causes."""
    protocol = world.protocols[origin]
    assert isinstance(protocol, Lookups)
    protocol.lookup(1, key)
    world.exchange(only=[Routed])
    outcomes = [
        (p, found) for p, environment in world.environments.items() for found in environment.delivered
    ]
    for environment in world.environments.values():
        environment.delivered.clear()
    return outcomes


def closest(world: Lockstep, key: int) -> int:
    return min(world.protocols, key=lambda peer: distance(hash_of_peer(peer), key))


def neighbours(world: Lockstep, peer: int) -> Mapping[str, Sequence[int]]:
    component = world.environments[peer].life.channels["overlay"].component
    assert component is not None
    return component.neighbours()


@pytest.fixture(scope="module")
def converged() -> Lockstep:
    return ring(seed=1)


@settings(max_examples=40, deadline=None)
@given(origin=st.integers(0, PEERS - 1), key=KEYS)
def test_a_lookup_ends_once_at_the_closest_peer(converged: Lockstep, origin: int, key: int) -> None:
    ((peer, found),) = look_up(converged, origin, key)
    assert peer == closest(converged, key)
    assert (found.number, found.origin, found.key) == (1, origin, key)
    assert (found.hops == 0) == (origin == peer)


def test_all_links_but_the_two_of_the_ring_are_small_world_links(converged: Lockstep) -> None:
    for peer in converged.protocols:
        kinds = {
            kind: len(peers) for kind, peers in neighbours(converged, peer).items() if kind != "incoming"
        }
        assert kinds == {SUCCESSOR: 1, PREDECESSOR: 1, SMALL_WORLD: 6, FRIEND: 0}


def test_the_links_lead_along_the_ring(converged: Lockstep) -> None:
    order = sorted(converged.protocols, key=hash_of_peer)
    for here, after in pairwise([*order, order[0]]):
        assert list(neighbours(converged, here)[SUCCESSOR]) == [after]


@settings(max_examples=2, deadline=None)
@given(st.sets(st.integers(0, PEERS - 1), min_size=6, max_size=6), st.integers(0, 99))
def test_lookups_end_right_again_after_a_tenth_of_the_peers_crash(crashed: set[int], seed: int) -> None:
    world = ring(seed)
    world.crash(crashed)
    for _ in range(10):
        world.round()
    for number, origin in enumerate(world.protocols):
        key = number * (SPACE // PEERS)
        assert [peer for peer, _ in look_up(world, origin, key)] == [closest(world, key)]
