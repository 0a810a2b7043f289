"""Copies, take-over and hand-over of tree nodes when peers come and go (section 3.6)."""

from __future__ import annotations

import random

import pytest
from li_world import LiWorld
from test_pubsub_li import check, grow, names, parameters, random_ranges, random_values
from trellis.v1.content_pb2 import Entrusted, TransferSub

from emulator.pubsub.li.node import Name
from emulator.pubsub.li.space import ROOT
from emulator.pubsub.li.system import Li


def home(world: LiWorld, name: Name) -> int:
    return world.ring.closest(world.systems[world.ring.peers[0]].schema.key(*name))


def identities(world: LiWorld) -> set[tuple[int, int, int]]:
    return {identity for node in world.nodes().values() for identity in node.subscriptions or ()}


def assert_all_at_home(world: LiWorld) -> None:
    for peer in world.ring.peers:
        assert all(home(world, name) == peer for name in world.systems[peer].tree.nodes)


def test_neighbours_in_identifier_space_keep_copies() -> None:
    world = LiWorld(12, parameters(replicas=3))
    grow(world, 60, random.Random(1))
    for name, node in world.nodes().items():
        owner = home(world, name)
        keepers = world.overlays[owner].neighbour_set(3)
        for peer in world.ring.peers:
            copy = world.systems[peer].replication.copies.get(name)
            assert (copy is not None) == (peer in keepers)
            if copy is not None:
                assert copy.inner == (node.subscriptions is None)
                assert copy.subscriptions.keys() == (node.subscriptions or {}).keys()


def test_without_replication_nothing_is_copied() -> None:
    world = LiWorld(12, parameters(replicas=0))
    grow(world, 40, random.Random(1))
    assert not any(system.replication.copies for system in world.systems.values())


@pytest.mark.parametrize("probing", ["multicast", "unicast"])
def test_no_subscription_is_lost_when_a_tenth_of_the_peers_crashes_at_once(probing: str) -> None:
    draw = random.Random(2)
    world = LiWorld(40, parameters(replicas=4, probing=probing))
    grow(world, 150, draw)
    before = identities(world)
    gone = draw.sample(world.ring.peers, 4)
    assert any(world.systems[peer].tree.nodes for peer in gone)
    world.crash(gone)
    world.settle(3)
    assert identities(world) == before
    assert_all_at_home(world)
    check(world, 40, draw)


def test_copies_are_made_again_after_a_crash() -> None:
    draw = random.Random(3)
    world = LiWorld(20, parameters(replicas=2))
    grow(world, 80, draw)
    before = identities(world)
    for _ in range(8):
        world.crash([draw.choice(world.ring.peers)])
        world.settle(3)
    assert identities(world) == before
    check(world, 20, draw)


def test_a_crash_loses_subscriptions_without_copies() -> None:
    world = LiWorld(12, parameters(replicas=0))
    grow(world, 60, random.Random(4))
    before = identities(world)
    world.crash([max(world.ring.peers, key=lambda p: world.systems[p].gauges()["stored_subscriptions"])])
    world.settle(3)
    assert identities(world) < before


def test_after_a_loss_what_is_installed_later_is_found() -> None:
    draw = random.Random(5)
    world = LiWorld(12, parameters(replicas=0))
    grow(world, 60, draw)
    world.crash(draw.sample(world.ring.peers, 3))
    world.settle(3)
    world.asked.clear()
    grow(world, 60, draw)
    for _ in range(30):
        event = world.publish(draw.choice(world.ring.peers), random_values(draw))
        world.settle(0)
        delivered = world.delivered(event)
        assert len(delivered) == len(set(delivered))
    assert all(system.gauges()["pending_subscriptions"] == 0 for system in alive(world))


def alive(world: LiWorld) -> list[Li]:
    return [world.systems[peer] for peer in world.ring.peers]


def test_a_new_home_of_an_inner_node_gets_its_table_from_the_parent() -> None:
    draw = random.Random(6)
    world = LiWorld(30, parameters(replicas=3))
    grow(world, 150, draw)
    inner = [name for name, node in world.nodes().items() if len(node.table.splits) > 1 and name[1] != ROOT]
    name = inner[0]
    known = set(world.nodes()[name].table.splits)
    world.lockstep.sent = []
    world.crash([home(world, name)])
    world.settle(3)
    assert world.nodes()[name].table.splits == known


def test_the_roots_new_home_asks_the_halves() -> None:
    draw = random.Random(7)
    world = LiWorld(30, parameters(replicas=3))
    grow(world, 150, draw)
    known = set(world.nodes()[0, ROOT].table.splits)
    assert len(known) > 3
    halves = {home(world, (0, 2)), home(world, (0, 3))}
    assert home(world, (0, ROOT)) not in halves
    world.crash([home(world, (0, ROOT))])
    world.settle(3)
    assert world.nodes()[0, ROOT].table.splits == known


def test_a_joining_peer_gets_the_nodes_that_are_its_own() -> None:
    draw = random.Random(8)
    world = LiWorld(30, parameters(replicas=2), up=10)
    grow(world, 100, draw)
    before = identities(world)
    for peer in range(10, 30):
        world.join(peer)
        world.settle(2)
    assert identities(world) == before
    assert_all_at_home(world)
    assert any(world.systems[peer].tree.nodes for peer in range(10, 30))
    check(world, 30, draw)


def test_many_may_join_at_once() -> None:
    draw = random.Random(9)
    world = LiWorld(40, parameters(replicas=2), up=10)
    grow(world, 100, draw)
    before = identities(world)
    for peer in range(10, 40):
        world.join(peer)
    world.settle(4)
    assert identities(world) == before
    assert_all_at_home(world)
    check(world, 30, draw)


def test_a_peer_that_is_not_ready_entrusts_its_neighbours() -> None:
    """Events and subscriptions that reach a joining peer before its nodes do are not lost."""
    draw = random.Random(10)
    world = LiWorld(30, parameters(replicas=0, settling="5 s"), up=6)
    grow(world, 100, draw)
    kinds: set[str] = set()
    for peer in range(6, 30):
        world.join(peer)
        world.lockstep.environments[peer].outbox.clear()  # its request to the neighbours is lost
        events = [world.publish(draw.randrange(6), random_values(draw)) for _ in range(2)]
        world.subscribe(draw.randrange(6), random_ranges(draw))
        late = world.asked.pop()
        world.lockstep.sent = []
        world.lockstep.exchange()
        kinds |= names(world)
        for event in events:
            assert set(world.interested(event)) <= set(world.delivered(event))
        world.asked.append(late)
        world.settle(12)
    assert Entrusted.__name__ in kinds
    assert_all_at_home(world)
    check(world, 20, draw)


def test_who_leaves_gracefully_hands_its_nodes_over() -> None:
    draw = random.Random(11)
    world = LiWorld(20, parameters(replicas=0))
    grow(world, 100, draw)
    for peer in range(5):
        before = identities(world)
        world.systems[peer].stop(graceful=True)
        world.ring.change(left=[peer])
        world.lockstep.exchange()
        world.lockstep.crash([peer])
        world.settle(2)
        kept = {identity for identity in before if identity[0] != peer}
        assert kept == {identity for identity in identities(world) if identity[0] != peer}
    check(world, 20, draw)


def test_subscriptions_of_a_peer_that_stays_away_are_forgotten() -> None:
    world = LiWorld(10, parameters(replicas=2, retry="2 s"))
    for peer in (3, 4):
        world.subscribe(peer, {"a": (10.0, 90.0)})
    world.settle()
    world.crash([3])
    world.settle(3)
    assert {identity[0] for identity in identities(world)} == {3, 4}
    for _ in range(3):
        world.publish(0, {"a": 50.0, "b": 0.0})
        world.publish(0, {"a": 15.0, "b": 0.0})
        world.publish(0, {"a": 85.0, "b": 0.0})
        world.settle(2)
    left = [identity for identity in identities(world) if identity[0] == 3]
    assert len(left) < sum(identity[0] == 4 for identity in identities(world))


def test_splits_that_a_crash_interrupts_lose_nothing() -> None:
    draw = random.Random(13)
    for seed in range(3):
        world = LiWorld(25, parameters(replicas=3, capacity=(2, 3), retry="2 s"), seed=seed)
        grow(world, 60, draw)
        for _ in range(40):
            world.subscribe(draw.choice(world.ring.peers[:20]), random_ranges(draw))
        world.lockstep.round(0.0)
        world.crash(draw.sample(world.ring.peers[20:], 2))
        world.settle(12)
        assert all(system.gauges()["pending_subscriptions"] == 0 for system in alive(world))
        check(world, 10, draw)


def test_a_probe_whose_next_hop_is_gone_finds_another_way() -> None:
    draw = random.Random(14)
    world = LiWorld(20, parameters(replicas=3))
    grow(world, 80, draw)
    victim = max(range(1, 20), key=lambda p: len(world.systems[p].tree.nodes))
    event = world.publish(0, random_values(draw))
    world.crash([victim])
    world.settle(3)
    assert set(world.delivered(event)) == set(world.interested(event))


def test_what_is_delivered_at_the_wrong_peer_goes_to_its_home() -> None:
    """An overlay may take the closest peer for silent and deliver at the second closest, or at both."""
    draw = random.Random(15)
    for replicas in (0, 3):
        world = LiWorld(20, parameters(replicas=replicas))
        grow(world, 60, draw)
        before = identities(world)
        for (attribute, position), node in list(world.nodes().items()):
            key = world.systems[0].schema.key(attribute, position)
            second = world.overlays[home(world, node.name)].neighbour_set(1)[0]
            transfer = TransferSub(attribute=attribute, position=position)
            transfer.subscriptions.extend(s.message for s in (node.subscriptions or {}).values())
            world.systems[second].deliver(key, transfer, second, 1)
        world.settle(3)
        assert identities(world) == before
        assert_all_at_home(world)
        for name in world.nodes():
            keepers = world.overlays[home(world, name)].neighbour_set(replicas)
            assert all(name in world.systems[peer].replication.copies for peer in keepers)
