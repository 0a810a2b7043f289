"""Pastry peers together: they join, route, and heal, on a small plane with latencies."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pastry_world import PastryWorld

from emulator.contract.identifiers import hash_of_peer, hash_of_topic
from emulator.protocols.overlays.pastry import PastryParameters

REPAIR = 2 * (30 + 3) + 3 * 3 * 3
"""Seconds: two silent heartbeats one after the other, and three rounds of probes with their repetitions."""


def grown(
    peers: int,
    seed: int = 0,
    within: float = 10.0,
    jitter: float = 0.0,
    loss: float = 0.0,
    **parameters: object,
) -> PastryWorld:
    """All peers join at random times, and a little time passes."""
    world = PastryWorld(seed, PastryParameters.model_validate(parameters))
    world.jitter, world.loss = jitter, loss
    for peer in range(peers):
        world.at(world.random.uniform(0, within), lambda peer=peer: world.join(peer))  # type: ignore[misc]
    world.run(within + 10)
    return world


def look_up(world: PastryWorld, count: int, within: float = 15.0) -> int:
    """Send lookups from random peers; how many arrived at the peer closest to their key, and only there."""
    draw = random.Random(count)
    keys = {number: draw.getrandbits(128) for number in range(count)}
    world.arrivals.clear()
    for number, key in keys.items():
        world.lookup(number, draw.choice(sorted(world.places)), key)
    world.run(within)
    numbers = [number for number, _, _, _ in world.arrivals]
    assert len(numbers) == len(set(numbers)), "delivered twice"
    return sum(peer == world.root(keys[number]) for number, peer, _, _ in world.arrivals)


def test_peers_that_join_within_seconds_have_true_leaf_sets() -> None:
    world = grown(60)
    assert all(place.pastry.ready for place in world.places.values())
    assert not world.wrong_leaf_sets()


def test_every_lookup_ends_at_the_closest_peer_in_few_hops() -> None:
    world = grown(120)
    assert look_up(world, 400) == 400
    assert max(hops for _, _, hops, _ in world.arrivals) <= 3


def test_slots_that_can_be_filled_are_filled() -> None:
    assert grown(120).filled_slots() > 0.97


def test_entries_are_nearer_than_peers_drawn_at_random() -> None:
    world = grown(120)
    draw = random.Random(0)
    chosen, drawn = [], []
    for peer, place in world.places.items():
        for other in place.pastry.neighbours()["routing table"]:
            first = hash_of_peer(other) >> 124
            if first != hash_of_peer(peer) >> 124:
                fitting = [p for p in world.places if hash_of_peer(p) >> 124 == first]
                chosen.append(world.delay(peer, other))
                drawn.append(world.delay(peer, draw.choice(fitting)))
    assert sum(chosen) < 0.6 * sum(drawn)


def test_a_lookup_goes_around_a_crashed_root_to_the_next_closest() -> None:
    world = grown(50)
    key = hash_of_topic(1)
    world.leave(world.root(key), graceful=False)
    start = world.now
    world.lookup(1, min(world.places), key)
    world.run(10)
    assert [(number, peer) for number, peer, _, _ in world.arrivals] == [(1, world.root(key))]
    assert world.now - start < 12


def test_lookups_arrive_right_after_a_tenth_of_the_peers_crashed() -> None:
    world = grown(60)
    for peer in world.random.sample(sorted(world.places), 6):
        world.leave(peer, graceful=False)
    assert look_up(world, 300) == 300


def test_a_crash_is_found_by_its_silence_alone() -> None:
    world = grown(40)
    world.leave(world.random.choice(sorted(world.places)), graceful=False)
    assert world.wrong_leaf_sets()
    world.run(REPAIR)
    assert not world.wrong_leaf_sets()


def test_a_goodbye_heals_leaf_sets_at_once() -> None:
    world = grown(40)
    world.leave(world.random.choice(sorted(world.places)), graceful=True)
    world.run(2)
    assert not world.wrong_leaf_sets()


def test_a_side_that_lost_all_its_leaves_is_found_again() -> None:
    world = grown(60)
    start = min(world.places, key=hash_of_peer)
    for peer in sorted(world.true_leaves(start)):
        world.leave(peer, graceful=False)
    world.run(2 * REPAIR)
    assert not world.wrong_leaf_sets()
    assert look_up(world, 100) == 100


def test_a_peer_that_comes_back_is_taken_in_again() -> None:
    world = grown(30)
    world.leave(7, graceful=False)
    world.run(1)
    world.join(7)
    world.run(20)
    assert world.places[7].pastry.ready
    assert not world.wrong_leaf_sets()
    assert look_up(world, 100) == 100


def test_neighbours_that_come_back_at_once_do_not_wait_for_each_other() -> None:
    world = grown(30)
    ring = sorted(world.places, key=hash_of_peer)
    for peer in ring[:4]:
        world.leave(peer, graceful=False)
    for peer in ring[:4]:
        world.join(peer)
    world.run(20)
    assert all(place.pastry.ready for place in world.places.values())
    assert not world.wrong_leaf_sets()


def test_lookups_survive_lost_messages() -> None:
    world = grown(40)
    world.loss = 0.05
    assert look_up(world, 200) == 200


def test_lookups_survive_jitter_and_reordering() -> None:
    world = grown(60)
    world.jitter = 0.2  # twice the way across the plane
    assert look_up(world, 300) == 300


@pytest.mark.parametrize("seed", range(3))
def test_peers_that_join_over_a_bad_network_look_up_right_and_once(seed: int) -> None:
    world = grown(60, seed, jitter=0.08, loss=0.01)
    world.run(20)  # a lost message of a join costs 3 or 5 s
    assert all(place.pastry.ready for place in world.places.values())
    assert look_up(world, 300) == 300
    world.run(REPAIR)
    assert not world.wrong_leaf_sets()


@pytest.mark.parametrize("refuses", [True, False])
def test_a_bad_network_hides_no_crash(refuses: bool) -> None:
    world = grown(60, jitter=0.08, loss=0.01)
    world.refuses = refuses
    for peer in world.random.sample(sorted(world.places), 6):
        world.leave(peer, graceful=False)
    # Each of two dead peers next to a key costs each hop that does not know of it up to 5 s.
    assert look_up(world, 300, within=45) == 300
    world.run(2 * REPAIR)
    assert not world.wrong_leaf_sets()


def test_lookups_arrive_right_after_crashes_that_nobody_is_told_of() -> None:
    world = grown(60)
    world.refuses = False
    for peer in world.random.sample(sorted(world.places), 6):
        world.leave(peer, graceful=False)
    assert look_up(world, 300) == 300


def test_two_peers_that_only_find_each_other_begin_an_overlay() -> None:
    world = PastryWorld()
    world.join(0)
    world.run(1)
    for peer in (1, 2):
        world.join(peer)
    world.leave(0, graceful=False)
    world.run(60)
    assert [place.pastry.ready for place in world.places.values()] == [True, True]
    assert not world.wrong_leaf_sets()


def test_a_peer_that_lost_everybody_joins_again() -> None:
    world = grown(2)
    world.leave(0, graceful=False)
    world.join(2)
    world.run(REPAIR)
    assert not world.wrong_leaf_sets()
    assert world.places[1].pastry.ready


def test_the_application_hears_of_leaves_that_come_and_go() -> None:
    world = grown(30)
    for place in world.places.values():
        leaves = set()
        for peer, joined in place.updates:
            assert (peer in leaves) != joined
            leaves ^= {peer}
        assert leaves == set(place.pastry.neighbours()["leaf"])


CHANGE = st.tuples(
    st.sampled_from(["join", "crash", "leave", "restart"]),
    st.integers(0, 31),
    st.sampled_from([0.0, 0.3, 5.0]),
)


@settings(max_examples=25, deadline=None)
@given(before=st.integers(1, 32), changes=st.lists(CHANGE, max_size=40), seed=st.integers(0, 3))
@example(before=26, changes=[("crash", 1, 0.0), ("crash", 25, 0.0)], seed=0).via("a side lost all its leaves")
def test_after_any_changes_and_time_to_repair_leaf_sets_are_true(
    before: int, changes: list[tuple[str, int, float]], seed: int
) -> None:
    world = grown(before, seed, within=3.0, leaf_set=4)
    for change, peer, pause in changes:
        if change == "join" and peer not in world.places:
            world.join(peer)
        elif change != "join" and peer in world.places:
            world.leave(peer, graceful=change == "leave")
            if change == "restart":
                world.join(peer)
        world.run(pause)
    world.run(4 * REPAIR)
    assert not world.wrong_leaf_sets()
    assert all(place.pastry.ready for place in world.places.values())
    if world.places:
        assert look_up(world, 30) == 30
