"""Which peers hold tree nodes when peers come and go (section 3.6)."""

from __future__ import annotations

import random

import pytest
from li_subscriptions import check, grow, parameters, random_ranges, random_values
from li_world import LiWorld

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Contact
from emulator.contract.recent import RecentNumbers
from emulator.protocols.pubsub.li.node import TreeNode
from emulator.protocols.pubsub.li.space import ROOT, Schema
from emulator.protocols.pubsub.li.system import Li
from emulator.testing.fake_environment import FakeEnvironment
from trellis.v1.content import (
    Comparison,
    EventContent,
    EventDelivery,
    InsertSub,
    InsertSubAck,
    NodeState,
    NodeUpdate,
    SubscriptionObject,
    TransferSub,
)

SCHEMA = Schema.of({"a": (0.0, 100.0)})


def subscription(sid: int, until: int = 100, withdrawn: bool = False) -> SubscriptionObject:
    return SubscriptionObject(1, sid, 0, [0], [10.0 + sid], [20.0 + sid], until, withdrawn)


def tree_root() -> TreeNode:
    return TreeNode(SCHEMA, (0, ROOT), RecentNumbers(FakeEnvironment(), 60.0))


def alive(world: LiWorld) -> list[Li]:
    return [world.systems[peer] for peer in world.ring.peers]


def test_versions_of_a_subscription_add_up_in_any_order() -> None:
    versions = [subscription(1, 100), subscription(1, 200), subscription(1, 200, True), subscription(2)]
    digests = set()
    for seed in range(20):
        draw = random.Random(seed)
        node = tree_root()
        for message in draw.sample(versions, 4) + draw.choices(versions, k=3):
            node.put(message)
        digests.add(node.digest)
        assert [entry.message for entry in node.live()] == [subscription(2)]
    assert len(digests) == 1


def test_an_older_copy_does_not_bring_a_withdrawn_subscription_back() -> None:
    world = LiWorld(6, parameters(replicas=3))
    interest = world.subscribe(2, {"a": (10.0, 20.0)})
    world.settle()
    name, node = next(iter(world.nodes().items()))
    old = node.state()
    world.systems[2].unsubscribe(interest)
    world.settle()
    for peer in world.holders(name):
        world.lockstep.environments[peer].hand_over(0, NodeUpdate([old]))
    world.settle()
    assert not world.identities()
    world.check_copies()


def test_a_node_is_at_the_peers_nearest_to_its_key() -> None:
    for replicas in (0, 3):
        world = LiWorld(12, parameters(replicas=replicas))
        grow(world, 60, random.Random(1))
        world.check_copies()


@pytest.mark.parametrize("probing", ["multicast", "unicast"])
def test_no_subscription_is_lost_when_a_tenth_of_the_peers_crashes_at_once(probing: str) -> None:
    draw = random.Random(2)
    world = LiWorld(40, parameters(replicas=4, probing=probing))
    grow(world, 150, draw)
    before = world.identities()
    gone = draw.sample(world.ring.peers, 4)
    assert any(world.systems[peer].tree.nodes for peer in gone)
    world.crash(gone)
    world.settle(3)
    assert world.identities() == before
    world.check_copies()
    check(world, 40, draw)


def test_copies_are_made_again_after_each_crash() -> None:
    draw = random.Random(3)
    world = LiWorld(20, parameters(replicas=2))
    grow(world, 80, draw)
    before = world.identities()
    for _ in range(8):
        world.crash([draw.choice(world.ring.peers)])
        world.settle(3)
        world.check_copies()
    assert world.identities() == before
    check(world, 20, draw)


def test_what_a_crash_destroys_comes_back_with_the_next_renewal() -> None:
    draw = random.Random(4)
    world = LiWorld(12, parameters(replicas=0, renewal="20 s"))
    grow(world, 60, draw)
    before = world.identities()
    gone = max(world.ring.peers, key=lambda p: world.systems[p].gauges()["stored_subscriptions"])
    world.crash([gone])
    world.settle(3)
    kept = {identity for identity in before if identity[0] != gone}
    assert not kept <= world.identities()
    world.settle(45)
    assert kept <= world.identities()
    check(world, 40, draw)


def test_what_is_not_renewed_ends() -> None:
    world = LiWorld(10, parameters(replicas=2, renewal="5 s"))
    for peer in (3, 4):
        world.subscribe(peer, {"a": (10.0, 90.0)})
    world.settle()
    world.crash([3])
    world.settle(5)
    assert {identity[0] for identity in world.identities()} == {3, 4}
    ends = [e.message.until for n in world.nodes().values() for e in n.entries.values()]
    now = world.systems[4].environment.now
    assert now + 5 < max(ends) <= now + 3 * 5 + 1, "three periods after the last renewal"
    world.settle(35)
    assert {identity[0] for identity in world.identities()} == {4}
    assert not any(e.message.subscriber == 3 for n in world.nodes().values() for e in n.entries.values())
    check(world, 5, random.Random(4))


@pytest.mark.parametrize("root", [False, True])
def test_a_new_home_of_an_inner_node_gets_its_table(root: bool) -> None:
    """A node gets the table from its parent; the root has no parent and asks its halves."""
    draw = random.Random(6)
    world = LiWorld(30, parameters(replicas=3))
    grow(world, 150, draw)
    inner = [n for n, node in world.nodes().items() if len(node.table.splits) > 1 and n[1] != ROOT]
    name = (0, ROOT) if root else inner[0]
    known = set(world.nodes()[name].table.splits)
    assert len(known) > 1
    world.crash([world.home(name)])
    world.settle(3)
    assert world.nodes()[name].table.splits == known


@pytest.mark.parametrize("at_once", [False, True])
def test_a_joining_peer_gets_the_nodes_that_are_its_own(at_once: bool) -> None:
    draw = random.Random(8)
    world = LiWorld(40, parameters(replicas=2, comparison="1 s"), up=10)
    grow(world, 100, draw)
    before = world.identities()
    for peer in range(10, 40):
        world.join(peer)
        if not at_once:
            world.settle(2)
    world.settle(4)
    assert world.identities() == before
    world.settle(40)
    world.check_copies()
    assert any(world.home(name) >= 10 for name in world.nodes())
    check(world, 30, draw)


def test_a_joining_peer_answers_nothing_before_it_has_compared() -> None:
    """Events and subscriptions that reach it before its nodes do wait for these."""
    draw = random.Random(10)
    world = LiWorld(30, parameters(replicas=0, settling="2 s", patience="1 s"), up=6)
    grow(world, 100, draw)
    for peer in range(6, 30):
        world.join(peer)
        events = [world.publish(draw.randrange(6), random_values(draw)) for _ in range(3)]
        world.subscribe(draw.randrange(6), random_ranges(draw))
        late = world.asked.pop()
        world.lockstep.exchange()
        for event in events:
            assert set(world.interested(event)) <= set(world.delivered(event))
        world.asked.append(late)
        world.settle(6)
    check(world, 20, draw)


def test_a_joining_peer_waits_for_silent_neighbours_no_longer_than_its_patience() -> None:
    world = LiWorld(12, parameters(patience="2 s"), up=11)
    grow(world, 40, random.Random(12))
    world.ring.change(joined=[11])
    system, environment = world.systems[11], world.lockstep.environments[11]
    system.start([0])
    environment.outbox.clear()
    environment.advance(2.0)
    assert not system.tree.copies.settled
    environment.outbox.clear()
    environment.advance(2.0)
    assert system.tree.copies.settled


def test_a_neighbour_that_comes_while_a_peer_is_joining_is_compared_with_later() -> None:
    world = LiWorld(12, parameters(patience="4 s", settling="1 s", comparison="1000 s"), up=11)
    world.ring.change(joined=[11])
    system, environment = world.systems[11], world.lockstep.environments[11]
    system.start([0])
    environment.advance(1.0)
    system.neighbour_changed(Contact(3, hash_of_peer(3)), joined=True)
    environment.advance(2.0)
    assert not system.tree.copies.settled
    environment.advance(4.9)
    environment.outbox.clear()
    environment.advance(1.5)
    assert system.tree.copies.settled
    assert [peer for peer, _ in environment.take(Comparison)] == [3]


def test_who_leaves_gracefully_leaves_its_nodes_behind() -> None:
    draw = random.Random(11)
    world = LiWorld(20, parameters(replicas=0))
    grow(world, 100, draw)
    for peer in range(5):
        before = world.identities()
        world.systems[peer].stop(graceful=True)
        world.ring.change(left=[peer])
        world.lockstep.exchange()
        world.crash([peer])
        world.settle(2)
        assert world.identities() == {identity for identity in before if identity[0] != peer}
    check(world, 20, draw)


def test_a_peer_that_comes_back_before_it_is_missed_gets_everything_back() -> None:
    """Its own nodes, which only neighbours' copies are left of, and the copies that it kept for others."""
    draw = random.Random(16)
    world = LiWorld(20, parameters(replicas=3))
    grow(world, 80, draw)
    before = world.identities()
    for peer in range(20):
        world.come_back(peer)
        world.settle(2)
        assert world.identities() == before
        world.check_copies()


def test_a_leaf_forgets_what_its_subscribers_former_life_asked_for() -> None:
    draw = random.Random(17)
    world = LiWorld(10, parameters(replicas=2))
    grow(world, 40, draw)
    world.come_back(3)
    world.settle(2)
    world.asked = [(peer, interest) for peer, interest in world.asked if peer != 3]
    former = {identity for identity in world.identities() if identity[0] == 3}
    for _ in range(60):
        world.publish(0, random_values(draw))
        world.settle(0)
    left = {identity for identity in world.identities() if identity[0] == 3}
    assert len(left) < len(former) / 2
    world.subscribe(3, {"a": (10.0, 90.0)})
    world.settle(2)
    check(world, 20, draw)


@pytest.mark.parametrize("seed", range(3))
def test_splits_that_a_crash_interrupts_lose_nothing(seed: int) -> None:
    draw = random.Random(13 + seed)
    world = LiWorld(25, parameters(replicas=3, capacity=(2, 3), retry="2 s", renewal="1 h"), seed=seed)
    grow(world, 60, draw)
    for _ in range(40):
        world.subscribe(draw.choice(world.ring.peers[:20]), random_ranges(draw))
    world.lockstep.round(0.0)
    world.crash(draw.sample(world.ring.peers[20:], 2))
    world.settle(12)
    assert all(system.gauges()["pending_subscriptions"] == 0 for system in alive(world))
    world.check_copies()
    check(world, 10, draw)


def test_what_is_delivered_at_the_wrong_peer_reaches_all_that_hold_the_node() -> None:
    """An overlay may take the closest peer for silent and deliver at the second closest, or at both."""
    draw = random.Random(15)
    for replicas in (0, 3):
        world = LiWorld(20, parameters(replicas=replicas, comparison="1 s"))
        grow(world, 60, draw)
        before = world.identities()
        for name, node in list(world.nodes().items()):
            second = world.overlays[world.home(name)].neighbour_set(1)[0]
            transfer = TransferSub(*name, [entry.message for entry in node.live()], 0)
            key = world.systems[0].schema.key(*name)
            world.systems[second.peer].deliver(key, transfer, second, 1)
        world.settle(40)
        assert world.identities() == before
        world.check_copies()


def test_who_is_not_the_home_of_a_leaf_refuses_subscriptions() -> None:
    world = LiWorld(12, parameters(replicas=3, capacity=(20, 20)))
    grow(world, 20, random.Random(18))
    name, leaf = next((name, node) for name, node in world.nodes().items() if node.live())
    insert = InsertSub(name[1], leaf.live()[0].message, 1)
    answers = []
    for peer in world.ring.peers:
        environment = world.lockstep.environments[peer]
        environment.hand_over(0, insert, request=1)
        ((_, ack),) = environment.take(InsertSubAck)
        answers.append(ack.stored)
    assert [peer for peer, stored in zip(world.ring.peers, answers, strict=True) if stored] == [
        world.home(name)
    ]


def test_an_update_that_is_lost_is_made_good_by_comparing() -> None:
    draw = random.Random(19)
    world = LiWorld(20, parameters(replicas=3, comparison="1 s", renewal="1 h"))
    for _ in range(60):
        world.subscribe(draw.choice(world.ring.peers), random_ranges(draw))
    # Nobody but the homes hears of anything.
    original = [environment.fake.transmit for environment in world.lockstep.environments.values()]
    for environment in world.lockstep.environments.values():
        drop_updates(environment)
    world.settle(3)
    for environment, transmit in zip(world.lockstep.environments.values(), original, strict=True):
        environment.fake.transmit = transmit  # type: ignore[method-assign]
    with pytest.raises(AssertionError):
        world.check_copies()
    world.settle(60)
    world.check_copies()
    check(world, 10, draw)


def drop_updates(environment: object) -> None:
    fake = environment.fake  # type: ignore[attr-defined]
    transmit = fake.transmit

    def lossy(channel: object, peer: int, message: object, request: int) -> None:
        if not isinstance(message, NodeUpdate):
            transmit(channel, peer, message, request)

    fake.transmit = lossy


def test_two_peers_that_both_take_themselves_for_the_nearest_agree_in_the_end() -> None:
    left, right = tree_root(), tree_root()
    for sid in range(4):
        left.put(subscription(sid))
        right.put(subscription(sid + 2, 100 + sid))
    states: list[tuple[TreeNode, NodeState]] = [(right, left.state()), (left, right.state())]
    for node, state in states:
        for message in state.subscriptions:
            node.put(message)
    assert left.digest == right.digest
    assert {entry.identity[1] for entry in left.live()} == {0, 1, 2, 3, 4, 5}


def test_subscriptions_and_contents_of_unequal_length_are_dropped_and_counted() -> None:
    world = LiWorld(6, parameters(replicas=3, capacity=(20, 20)))
    grow(world, 10, random.Random(2))
    (name, root) = next((name, node) for name, node in world.nodes().items() if not node.inner)
    home = world.lockstep.environments[world.home(name)]
    before = root.digest
    short = SubscriptionObject(1, 99, 0, [name[0]], [10.0], [], 100, False)
    unknown = SubscriptionObject(1, 98, 0, [9], [10.0], [20.0], 100, False)
    home.hand_over(1, InsertSub(name[1], short, 1), request=1)
    home.hand_over(1, InsertSub(name[1], SubscriptionObject(1, 97), 1), request=2)
    home.hand_over(1, NodeUpdate([NodeState(*name, False, [short, unknown], [])]))
    for content in (EventContent(1, 1, [0], []), EventContent(2, 1, [9], [5.0])):
        home.hand_over(1, EventDelivery(content, [1], 1), request=3)
    assert root.digest == before
    assert home.dropped == {
        "dropped InsertSub: a subscription does not fit the schema": 2,
        "dropped NodeUpdate: a subscription does not fit the schema": 2,
        "dropped EventDelivery: its content does not fit the schema": 2,
    }
