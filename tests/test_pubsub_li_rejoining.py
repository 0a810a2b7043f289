"""Peers that come back, leaves that have moved, and messages that are too late (section 3.6)."""

from __future__ import annotations

import random

import pytest
from li_world import LiWorld
from test_pubsub_li import grow, parameters, random_ranges
from test_pubsub_li_failures import assert_all_at_home, home, identities
from trellis.v1.content_pb2 import Entrusted, HandOver, InsertSub, ProbePub, ProbePubMulticast, TransferSub
from trellis.v1.overlay_pb2 import Routed


def assert_keepers_have_copies(world: LiWorld, replicas: int) -> None:
    for name, node in world.nodes().items():
        for peer in world.overlays[home(world, name)].neighbour_set(replicas):
            copy = world.systems[peer].replication.copies[name]
            assert copy.subscriptions.keys() == (node.subscriptions or {}).keys()


def test_a_peer_that_comes_back_before_it_is_missed_gets_everything_back() -> None:
    """Its own nodes, which only neighbours' copies are left of, and the copies that it kept for others."""
    draw = random.Random(16)
    world = LiWorld(20, parameters(replicas=3))
    grow(world, 80, draw)
    before = identities(world)
    for peer in range(20):
        world.come_back(peer)
        world.settle(2)
        assert identities(world) == before
        assert_keepers_have_copies(world, 3)
    assert_all_at_home(world)


def test_who_hands_over_what_it_kept_for_a_dead_peer_keeps_it_for_the_new_home() -> None:
    draw = random.Random(17)
    for seed in range(5):
        world = LiWorld(25, parameters(replicas=3), seed=seed)
        grow(world, 80, draw)
        for peer in draw.sample(world.ring.peers, 6):
            world.crash([peer])
            world.settle(3)
            assert_keepers_have_copies(world, 3)


def test_a_subscription_that_arrives_after_its_leaf_was_given_away_goes_after_it() -> None:
    draw = random.Random(18)
    world = LiWorld(30, parameters(replicas=3, capacity=(20, 20)), up=10)
    grow(world, 100, draw)
    before = {name: home(world, name) for name in world.nodes()}
    for peer in range(10, 30):
        world.join(peer)
        world.settle(2)
    late = 0
    for name, node in world.nodes().items():
        if home(world, name) != before[name] and node.subscriptions:
            late += 1
            insert = InsertSub(position=name[1])
            insert.subscription.CopyFrom(next(iter(node.subscriptions.values())).message)
            insert.subscription.sid = 1_000_000 + late
            world.systems[before[name]].handlers()[InsertSub](0, insert)
    assert late > 3
    world.settle(0)
    assert_all_at_home(world)
    assert sum(identity[1] > 1_000_000 for identity in identities(world)) == late


def test_numbers_of_transfers_do_not_repeat_after_a_crash() -> None:
    """An answer to the earlier session would say that subscriptions have arrived which have not."""
    draw = random.Random(19)
    world = LiWorld(10, parameters(capacity=(1, 1), replicas=3))

    def numbers() -> set[tuple[int, str, int]]:
        """(sender, type, number)"""
        found = set()
        for _ in range(60):
            world.subscribe(draw.choice(world.ring.peers), random_ranges(draw))
        world.lockstep.exchange()
        for sender, _, message in world.lockstep.sent:
            if isinstance(message, HandOver) and message.transfer:
                found.add((sender, "HandOver", message.transfer))
            elif isinstance(message, Routed) and message.type == "TransferSub":
                found.add((sender, message.type, TransferSub.FromString(message.payload).transfer))
        return found

    world.settle()
    before = numbers()
    world.settle()
    for peer in world.ring.peers:
        world.come_back(peer)
        world.lockstep.exchange()
    assert before
    assert not before & numbers()


@pytest.mark.parametrize("probing", ["multicast", "unicast"])
def test_lost_probes_are_sent_again_each_by_a_call_of_its_own(probing: str) -> None:
    """The notice of one lost message belongs to one event; what other events sent is in other traces."""
    world = LiWorld(20, parameters(probing=probing))
    grow(world, 80, random.Random(20))
    environment = world.lockstep.environments[0]
    events = [world.publish(0, {"a": 50.0, "b": 0.0}) for _ in range(2)]
    sent = [(peer, m) for peer, m in environment.outbox if isinstance(m, (ProbePub, ProbePubMulticast))]
    receivers = [{peer for peer, m in sent if m.event == event} for event in {m.event for _, m in sent}]
    lost = min(set.intersection(*receivers))
    environment.outbox.clear()
    world.ring.change(left=[lost])
    world.systems[0].on_unreachable(lost)
    assert not environment.outbox
    assert sum(timer.hastened for timer in environment.timers) >= len(events)
    environment.advance(0.0)
    again = [m for _, m in environment.outbox if isinstance(m, (ProbePub, ProbePubMulticast))]
    assert len({m.event for m in again}) == len(events)
    assert {m.hops for m in again} == {1}


def test_a_probe_that_arrived_long_ago_is_not_sent_again() -> None:
    world = LiWorld(20, parameters(retry="5 s"))
    grow(world, 80, random.Random(20))
    environment = world.lockstep.environments[0]
    world.publish(0, {"a": 50.0, "b": 0.0})
    hops = {peer for peer, m in environment.outbox if isinstance(m, ProbePubMulticast)}
    world.settle(6)
    for peer in hops:
        world.systems[0].on_unreachable(peer)
    environment.advance(0.0)
    assert not environment.take(ProbePubMulticast)


def test_a_probe_that_is_to_be_sent_again_is_not_forgotten_meanwhile() -> None:
    world = LiWorld(20, parameters(retry="5 s"))
    grow(world, 80, random.Random(20))
    environment = world.lockstep.environments[0]
    world.publish(0, {"a": 50.0, "b": 0.0})
    lost, probe = next(entry for entry in environment.outbox if isinstance(entry[1], ProbePubMulticast))
    environment.outbox.clear()
    world.ring.change(left=[lost])
    world.systems[0].on_unreachable(lost)
    environment.now += 6  # a busy host: the call that was hastened is late
    world.publish(0, {"a": 50.0, "b": 0.0})
    environment.outbox.clear()
    environment.advance(0.0)
    again = [m for _, m in environment.outbox if isinstance(m, ProbePubMulticast)]
    assert probe.event in {m.event for m in again}


def test_a_probe_that_goes_round_ends() -> None:
    world = LiWorld(10, parameters())
    grow(world, 40, random.Random(21))
    event = world.publish(0, {"a": 50.0, "b": 0.0})
    environment = world.lockstep.environments[0]
    multicast = next(m for _, m in environment.outbox if isinstance(m, ProbePubMulticast))
    environment.outbox.clear()
    system = world.systems[0]
    for hops in (100, 101):
        probe = ProbePubMulticast()
        probe.CopyFrom(multicast)
        probe.hops = hops
        system.handlers()[ProbePubMulticast](1, probe)
        single = ProbePub(
            event=probe.event, attribute=probe.attributes[0], position=probe.positions[0], hops=hops
        )
        system.handlers()[ProbePub](1, single)
        assert bool(environment.outbox) == (hops == 100)
        environment.outbox.clear()
    assert event.number


def test_a_message_for_a_node_whose_taker_is_gone_is_answered_here() -> None:
    world = LiWorld(12, parameters(replicas=3), up=11)
    grow(world, 80, random.Random(22))
    before = {name: home(world, name) for name in world.nodes()}
    world.join(11)
    world.settle(2)
    name = next(name for name in before if home(world, name) == 11)
    giver = world.systems[before[name]]
    probe = ProbePub(event=b"", attribute=name[0], position=name[1])
    entrusted = Entrusted(type="ProbePub", payload=probe.SerializeToString(), origin=0, hops=1)
    for taker_is_up in (True, False):
        if not taker_is_up:
            world.lockstep.crash([11])
            world.ring.change(left=[11])
        giver.handlers()[Entrusted](0, entrusted)
        passed_on = world.lockstep.environments[before[name]].take(Entrusted)
        assert [peer for peer, _ in passed_on] == [11] * taker_is_up
