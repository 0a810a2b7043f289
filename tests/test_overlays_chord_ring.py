"""Chord peers together: the ring is exact some time after joins and failures, and lookups end there."""

from __future__ import annotations

import pytest
from chord_world import ChordWorld, hashed, numbers, parameters
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.integers(0, 2**16 - 1), min_size=6, max_size=12, unique=True),
    st.integers(2, 8),
    st.data(),
)
def test_any_ring_is_exact_some_rounds_after_joins_and_failures(
    identifiers: list[int], length: int, data: st.DataObject
) -> None:
    """If every peer keeps a live successor, which is Zave's invariant, the ring becomes the ideal one."""
    before = data.draw(st.integers(2, len(identifiers) - 1))
    world = ChordWorld(identifiers, bits=16, settings=parameters(successors=length), started=before)
    world.run(20)
    assert not world.wrong()
    # Each peer keeps a live successor, whoever fails.
    most = min(length, before - 1) - 1
    failing = data.draw(st.permutations(range(before)))[: data.draw(st.integers(0, most))]
    world.crash(failing)
    world.join(range(before, len(identifiers)))
    world.run(40)
    assert not world.wrong()
    for peer in world.up:
        assert world.fingers(peer) == world.true_fingers(peer)


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("predecessor", ["rectify", "check"])
def test_many_newcomers_at_once_form_one_ring(eager: bool, predecessor: str) -> None:
    world = ChordWorld(hashed(20), settings=parameters(eager=eager, predecessor=predecessor, successors=6))
    world.run(40)
    assert not world.wrong()


def test_a_third_may_fail_at_once() -> None:
    world = ChordWorld(hashed(20), settings=parameters(successors=8))
    world.run(20)
    world.crash(range(0, 20, 3))
    assert world.wrong()
    world.run(30)
    assert not world.wrong()


@pytest.mark.parametrize("lookups", ["recursive", "iterative"])
@pytest.mark.parametrize("drop_silent", [True, False])
def test_lookups_end_at_the_right_peer_right_after_failures(lookups: str, drop_silent: bool) -> None:
    world = ChordWorld(
        hashed(24),
        settings=parameters(
            lookups=lookups, drop_silent=drop_silent, stabilization="600 s", successors=8, fix_fingers="all"
        ),
    )
    world.run(5)
    for _ in range(10):  # as the next periods would leave it
        for chord in world.chords.values():
            chord._round()
        world.world.exchange()
    assert not world.wrong()
    world.crash(range(0, 24, 4))
    for number, peer in enumerate(world.up[::4]):
        key = hashed(40)[number + 15]
        (delivery,) = world.look_up(peer, key, number)
        assert delivery[0] == world.successor(key)


def test_a_peer_that_leaves_gracefully_leaves_an_exact_ring_of_neighbours() -> None:
    world = ChordWorld(hashed(12), settings=parameters(successors=4))
    world.run(20)
    ring = world.ring()
    world.leave(ring[5])
    assert numbers(world.chords[ring[4]].state.successors)[0] == ring[6]
    assert numbers([world.chords[ring[6]].state.predecessor])[0] == ring[4]


def test_a_peer_whose_successors_all_failed_joins_again() -> None:
    world = ChordWorld(hashed(10), settings=parameters(successors=2))
    world.run(20)
    ring = world.ring()
    world.crash(ring[1:3])
    world.run(30)
    assert not world.wrong()


def test_two_lonely_peers_begin_a_ring() -> None:
    """Whoever was on the ring is gone before anybody else has joined."""
    world = ChordWorld(hashed(3), started=1)
    for peer in (1, 2):
        world.world.protocols[peer].start([0])
        world.up.append(peer)
    world.crash([0])
    world.run(40)
    assert not world.wrong()


@pytest.mark.parametrize("merge", [True, False])
def test_two_rings_become_one_if_peers_look_for_those_that_they_found_silent(merge: bool) -> None:
    """As after a partition: half of the peers form a ring, the others another one, and some know of it."""
    world = ChordWorld(hashed(16), settings=parameters(successors=6, merge=merge), started=8)
    world.world.protocols[8].start([])
    world.up.append(8)
    for peer in range(9, 16):
        world.world.protocols[peer].start([8])
        world.up.append(peer)
        world.world.exchange()
    for peer in range(8):
        world.chords[peer]._silent(15 - peer, False)
    world.run(40)
    assert bool(world.wrong()) != merge
