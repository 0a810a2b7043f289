"""The leaves of Li's tree store the corners of subscriptions and copies; they split, and forget the old."""

from __future__ import annotations

import random

from li_subscriptions import grow, parameters
from li_world import LiWorld

from emulator.contract.protocol import Installation
from emulator.protocols.pubsub.li.space import ROOT


def test_each_point_is_stored_in_the_leaf_that_covers_it() -> None:
    draw = random.Random(2)
    world = LiWorld(10, parameters(cut_off=0.0))
    grow(world, 60, draw)
    nodes = world.nodes()
    stored = 0
    for (attribute, position), node in nodes.items():
        domain = world.systems[0].schema.attributes[attribute]
        if node.inner:
            assert {(attribute, 2 * position), (attribute, 2 * position + 1)} <= nodes.keys()
            continue
        assert (attribute, 2 * position) not in nodes
        for subscription in node.entries.values():
            stored += 1
            assert domain.position_of(subscription.low, subscription.high, node.level) == position
    assert stored == 60 == world.installations()


def test_tables_tell_what_is_stored_of_others_and_each_subscription_that_an_event_is_compared_with() -> None:
    world = LiWorld(1, parameters(capacity=(9, 9), cut_off=0.0))
    for low in (10.0, 20.0, 30.0):
        world.subscribe(0, {"a": (low, low + 15.0)})
    world.settle()
    gauges = world.systems[0].gauges()
    assert (gauges["table_entries"], gauges["table_searches"], gauges["table_comparisons"]) == (0, 0, 0)
    world.publish(0, {"a": 27.0})
    world.settle()
    gauges = world.systems[0].gauges()
    assert (gauges["table_searches"], gauges["table_comparisons"]) == (1, 3)


def test_copies_of_others_subscriptions_are_table_entries_too() -> None:
    world = LiWorld(3, parameters(replicas=2))
    world.subscribe(0, {"a": (10.0, 20.0)})
    world.settle(3)
    assert [world.systems[peer].gauges()["table_entries"] for peer in range(3)] == [0, 1, 1]


def test_ancestors_learn_of_all_leaves() -> None:
    world = LiWorld(10, parameters())
    grow(world, 60, random.Random(3))
    nodes = world.nodes()
    for attribute in (0, 1):
        inner = {p for (a, p), n in nodes.items() if a == attribute and n.inner}
        assert nodes[attribute, ROOT].table.splits == inner


def test_a_leaf_splits_when_it_holds_more_than_its_capacity() -> None:
    world = LiWorld(3, parameters(capacity=(5, 5), cut_off=0.0))
    for low in range(5):
        world.subscribe(0, {"a": (low * 17.3, low * 17.3 + 9)})
    world.settle()
    assert list(world.nodes()) == [(0, ROOT)]
    world.subscribe(0, {"a": (91.7, 95.2)})
    world.settle()
    assert {(0, 2), (0, 3)} <= world.nodes().keys()
    assert world.nodes()[0, ROOT].inner


def test_equal_subscriptions_on_no_corner_stay_in_one_leaf() -> None:
    world = LiWorld(4, parameters())
    for peer in (0, 1, 2, 3) * 3:
        world.subscribe(peer, {"a": (10.1, 12.3)})
    world.settle()
    assert len(world.nodes()) == 1
    event = world.publish(0, {"a": 11.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [0, 1, 2, 3]


def test_equal_subscriptions_on_a_corner_are_pulled_apart_and_filtered() -> None:
    world = LiWorld(4, parameters(cut_off=0.0, widening=0.05))
    for _ in range(12):
        world.subscribe(1, {"a": (25.0, 75.0)})
    world.settle()
    assert len(world.nodes()) > 1
    for value, expected in ((24.9, []), (25.0, [1]), (75.0, [1]), (75.1, [])):
        event = world.publish(0, {"a": value, "b": 0.0})
        world.settle(0)
        assert world.delivered(event) == expected


def test_a_subscription_is_in_force_where_it_is_stored() -> None:
    world = LiWorld(6, parameters())
    world.subscribe(2, {"a": (10.0, 12.5)})
    world.settle()
    told = [
        (peer, outcome)
        for peer, environment in world.lockstep.environments.items()
        for outcome in environment.delivered
    ]
    (home,) = [peer for peer in world.systems if world.systems[peer].tree.nodes]
    assert len(told) == 1 and told[0][0] == home
    installation = told[0][1]
    assert isinstance(installation, Installation)
    assert installation.subscriber == 2
    assert installation.hops >= 2


def test_a_leaf_forgets_what_its_subscriber_does_not_hold() -> None:
    world = LiWorld(6, parameters(retry="1 h"))
    interest = world.subscribe(2, {"a": (10.0, 20.0)})
    world.settle()
    world.systems[2].unsubscribe(interest)
    for environment in world.lockstep.environments.values():
        environment.outbox.clear()  # the request is lost
    event = world.publish(0, {"a": 15.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == []
    assert not [n for n in world.nodes().values() if n.live()]
