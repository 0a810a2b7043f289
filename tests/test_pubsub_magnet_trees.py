"""Magnet's trees: the golden cases of Algorithm 2, and that trees are the greedy paths whatever happens."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from magnet_world import HEARTBEAT, TOPIC, TreeWorld

from trellis.v1.magnet import RingTreeHeartbeat, TreePart, TreePath, TreeSearch
from trellis.v1.overlay import Contact
from trellis.v1.pubsub import EventData

CHORD = {peer: [(peer + step) % 16 for step in (1, 2, 4, 8)] for peer in range(16)}
COUNTEREXAMPLE = {0: [1, 4, 8], 1: [4], 4: [5, 6], 5: [6], 6: [7], 7: [8], 8: [9], 9: [0]}


def test_joins_take_the_greedy_paths_from_the_home() -> None:
    for graft in ("printed", "interval"):
        world = TreeWorld(CHORD, graft=graft)
        world.join(5)
        assert world.path(5) == [0, 4, 5]
        world.join(6, known=5)
        assert world.path(6) == [0, 4, 6]
        world.join(13)
        assert world.path(13) == [0, 8, 12, 13]
        world.join(15, known=13)
        assert world.path(15) == [0, 8, 12, 14, 15]
        assert world.relays() == {0, 4, 8, 12, 14}


def test_the_printed_condition_grafts_15_at_8_and_the_interval_below() -> None:
    steps = {}
    for graft in ("printed", "interval"):
        world = TreeWorld(CHORD, graft=graft)
        world.join(13)
        steps[graft] = world.join(15, known=13)
    # The search goes to 13, on to 12 and to 8; from there paths go to 12, 14 and 15.
    assert steps["printed"] == ["TreeSearch"] * 3 + ["TreePath"] * 3
    assert steps["interval"] == ["TreeSearch"] * 2 + ["TreePath"] * 2


def test_a_relay_that_subscribes_sends_nothing() -> None:
    world = TreeWorld(CHORD)
    world.join(13)
    assert world.join(12) == []
    assert world.relays() == {0, 8}


def test_a_relay_of_four_members_that_subscribes_sends_nothing() -> None:
    for graft in ("printed", "interval"):
        world = TreeWorld(CHORD, graft=graft)
        for peer in (5, 6, 13, 15):
            world.join(peer)
        assert world.relays() == {0, 4, 8, 12, 14}
        edges = world.edges()
        assert world.join(12, known=5) == []
        assert world.edges() == edges
        assert world.relays() == {0, 4, 8, 14}


def test_neighbours_send_one_heartbeat_for_all_the_trees_that_they_share() -> None:
    world = TreeWorld(CHORD)
    for topic in range(TOPIC, TOPIC + 10):
        for peer in (5, 6, 13):
            world.peer(peer).wanted.add(topic)
            world.peer(peer).trees.join(topic)
    world.world.exchange()
    world.world.round(HEARTBEAT)
    beats = Counter((one, other) for one, other, m in world.world.sent if isinstance(m, RingTreeHeartbeat))
    linked = {(0, 4), (4, 5), (4, 6), (0, 8), (8, 12), (12, 13)}
    assert set(beats) == linked | {(child, parent) for parent, child in linked}
    assert set(beats.values()) == {1}
    named = world.peer(5).trees.branches
    assert set(named) == set(range(TOPIC, TOPIC + 10))


def test_the_printed_condition_leaves_the_greedy_path_where_the_interval_does_not() -> None:
    depths = {}
    for graft in ("printed", "interval"):
        world = TreeWorld(COUNTEREXAMPLE, graft=graft)
        world.join(7)
        assert world.path(7) == [0, 4, 6, 7]
        world.join(9, known=7)
        depths[graft] = world.path(9)
    assert depths == {"printed": [0, 4, 6, 7, 8, 9], "interval": [0, 8, 9]}


def test_a_branch_that_nobody_needs_is_cut_up_to_the_next_that_is_needed() -> None:
    world = TreeWorld(CHORD)
    for peer in (5, 13, 15):
        world.join(peer)
    world.leave(15)
    assert world.edges() == {(0, 4), (4, 5), (0, 8), (8, 12), (12, 13)}
    world.leave(13)
    assert world.relays() == {0, 4}


def test_the_children_of_a_crashed_relay_come_back_by_another_way() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    world.world.crash([4])
    for peer in (0, 2, 3):
        known = [finger for finger in CHORD[peer] if finger != 4]
        world.peer(peer).ring.know(known)
    world.repair(6)
    assert world.edges() == world.greedy_edges() == {(0, 2), (2, 3), (3, 5)}


def test_when_the_home_moves_the_tree_begins_at_the_new_one() -> None:
    world = TreeWorld(CHORD)
    for peer in (5, 6, 13):
        world.join(peer)
    world.home = 3
    for peer in range(16):
        world.peer(peer).control.move_home(3)
    world.repair()
    assert world.edges() == world.greedy_edges()
    assert world.relays() & {0} == set()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_trees_are_exactly_the_union_of_greedy_paths_after_time_to_repair(seed: int) -> None:
    """Joins at known members, leaves, and links that come and go, in any order."""
    rng = random.Random(seed)
    peers = sorted(rng.sample(range(256), 16))

    def fingers(place: int) -> list[int]:
        others = peers[place + 1 :] + peers[:place]
        return [others[0], *rng.sample(others, 3)]

    world = TreeWorld({peer: fingers(place) for place, peer in enumerate(peers)}, bits=8, home=peers[3])
    members: list[int] = []
    for _ in range(25):
        what = rng.random()
        if what < 0.5:
            peer = rng.choice(peers)
            world.join(peer, known=rng.choice(members) if members and rng.random() < 0.8 else -1)
            members.append(peer)
        elif what < 0.7 and members:
            gone = rng.choice(members)
            world.leave(gone)
            members = [peer for peer in members if peer != gone]
        elif what < 0.9:
            place = rng.randrange(len(peers))
            world.peer(peers[place]).ring.know(fingers(place))
        else:
            world.repair(1)
    world.repair()
    assert world.edges() == world.greedy_edges()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_on_fingers_that_stay_trees_are_exact_without_any_repair(seed: int) -> None:
    rng = random.Random(seed)
    peers = sorted(rng.sample(range(256), 20))
    known = {}
    for place, peer in enumerate(peers):
        others = peers[place + 1 :] + peers[:place]
        known[peer] = [others[0], *rng.sample(others, 3)]
    world = TreeWorld(known, bits=8, home=peers[0])
    members: list[int] = []
    for peer in rng.sample(peers, 12):
        world.join(peer, known=rng.choice(members) if members else -1)
        members.append(peer)
        assert world.edges() == world.greedy_edges()
    for peer in rng.sample(members, 6):
        world.leave(peer)
        assert world.edges() == world.greedy_edges()


def test_who_comes_back_gets_the_events_that_it_missed_and_a_newcomer_gets_none() -> None:
    world = TreeWorld(CHORD)
    for peer in (5, 13):
        world.join(peer)
    event = EventData(event=1, topic=TOPIC)
    world.world.crash([4])
    for peer in (0, 2, 3):
        world.peer(peer).ring.know([finger for finger in CHORD[peer] if finger != 4])
    home = world.peer(0).trees
    home.send_down(TOPIC, event)
    got: list[tuple[int, int]] = []
    for number, environment in world.world.environments.items():
        environment.handle(EventData, lambda sender, data, number=number: got.append((sender, number)))
    # 4 was unreachable: 5 notices it at its next heartbeat, and comes back over 2 and 3.
    world.repair(3)
    assert {(0, 2)} <= set(got)
    got.clear()
    world.join(14)
    assert got == []


def test_a_parent_seeks_another_way_to_a_child_that_no_greedy_path_leads_to() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    world.peer(0).ring.know([1, 2, 8])
    sent = world.peer(4).trees.sent
    world.peer(0).trees.upkeep.beat()
    world.world.exchange()
    assert world.edges() == world.greedy_edges() == {(0, 2), (2, 4), (4, 5)}
    assert world.peer(4).trees.sent == sent


def test_what_passes_while_the_way_to_a_child_changes_comes_over_the_new_way() -> None:
    world = TreeWorld(CHORD)
    world.spread_events()
    world.join(5)
    world.peer(0).take(EventData(event=1, topic=TOPIC))
    assert len(world.world.environments[0].take(EventData)) == 1
    world.peer(0).ring.know([1, 2, 8])
    world.peer(0).trees.upkeep.beat()
    world.world.exchange()
    assert world.peer(2).had == world.peer(4).had == world.peer(5).had == {1}


def test_a_child_that_no_other_way_is_found_to_is_told_so_and_gets_events_until_it_has_left() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    world.peer(0).ring.know([1, 2, 8])
    home, environment = world.peer(0), world.world.environments[0]
    home.trees.upkeep.beat()
    assert [peer for peer, _ in environment.take(TreePath)] == [2]
    event = EventData(event=1, topic=TOPIC)
    # The child is told again, as the first message may be lost.
    for wait, told in ((1.0, []), (1.0, [4]), (2.0, [4])):
        environment.advance(wait)
        assert environment.take(TreePart) == [(child, TreePart(0, 1 << TOPIC)) for child in told]
        home.trees.send_down(TOPIC, event)
        assert (4, event) in environment.take(EventData)
    environment.hand_over(4, TreePart(1 << TOPIC, 0))
    home.trees.send_down(TOPIC, event)
    assert environment.take(EventData) == [(2, event)]


def test_a_home_without_a_place_hands_events_to_the_former_home() -> None:
    world = TreeWorld(CHORD)
    world.spread_events()
    world.join(5)
    world.peer(2).ring.stands = False
    world.move_home(2)
    world.peer(2).take(EventData(event=1, topic=TOPIC))
    world.repair(3)
    assert TOPIC not in world.peer(2).trees.branches
    assert world.peer(0).had == world.peer(5).had == {1}


def test_a_parent_that_has_lost_its_own_way_gives_its_child_what_it_missed() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    environment = world.world.environments[4]
    event = EventData(event=1, topic=TOPIC)
    world.peer(4).take(event)
    environment.hand_over(0, TreePart(0, 1 << TOPIC))
    environment.take(EventData)
    environment.hand_over(5, TreeSearch(TOPIC, Contact(5, 5), 0, 5000))
    assert environment.take(EventData) == [(5, event)]


def test_what_a_new_home_gets_before_it_has_a_tree_reaches_all() -> None:
    world = TreeWorld(CHORD)
    world.spread_events()
    members = (5, 6, 13, 15)
    for peer in members:
        world.join(peer)
    world.move_home(2)
    world.peer(2).take(EventData(event=1, topic=TOPIC))
    assert not any(world.peer(peer).had for peer in members)
    # A newcomer makes the new home's first way, over peers that know of no event.
    world.join(11)
    world.repair(3)
    assert all(world.peer(peer).had == {1} for peer in members)


def test_a_former_home_gets_what_the_new_one_had_before_it_came() -> None:
    world = TreeWorld(CHORD)
    world.spread_events()
    world.join(0)
    world.move_home(15)
    world.peer(15).take(EventData(event=1, topic=TOPIC))
    world.repair(3)
    assert (15, 0) in world.edges()
    assert world.peer(0).had == {1}


def test_events_of_a_home_without_a_tree_go_on_to_the_next_home() -> None:
    world = TreeWorld(CHORD)
    world.spread_events()
    world.join(5)
    world.move_home(2)
    world.peer(2).take(EventData(event=1, topic=TOPIC))
    world.move_home(3)
    world.repair(3)
    assert world.peer(3).had == world.peer(5).had == {1}


def test_a_home_is_given_up_as_soon_as_a_path_from_the_new_one_comes() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    world.move_home(8)
    world.join(1)
    assert {(8, 0), (0, 1)} <= world.edges()


def test_who_gets_another_parent_asks_it_for_the_events_that_are_not_here() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    environment = world.world.environments[5]
    world.peer(5).had.add(7)
    for kept, asks in (([7], False), ([7, 8], True)):
        environment.hand_over(12 if asks else 3, TreePath(TOPIC, Contact(5, 5), 0, 6, 0, kept))
        searches = environment.take(TreeSearch)
        assert [(parent, search.joiner) for parent, search in searches] == [(12, Contact(5, 5))] * asks
        assert all(search.missed_ms > 0 for _, search in searches)


def test_a_home_without_a_tree_forgets_events_that_nobody_comes_for() -> None:
    world = TreeWorld(CHORD)
    home = world.peer(0)
    home.take(EventData(event=1, topic=TOPIC))
    world.repair(5)
    assert home.trees.kept.numbers(TOPIC) == []
    assert not home.trees.kept.early


def test_a_child_whose_heartbeats_do_not_name_a_tree_is_given_up_at_the_second() -> None:
    world = TreeWorld(CHORD)
    world.join(5)
    silent = RingTreeHeartbeat()
    for edges in ({(0, 4), (4, 5)}, {(4, 5)}):
        world.world.environments[0].hand_over(4, silent)
        assert world.edges() == edges
