"""How Pastry peers keep their leaf sets and routing tables."""

from __future__ import annotations

from pastry_peer import Peer, contacts, grown, numbers, ready_with_leaves

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.protocols.overlays.pastry.routing_table import RoutingTable
from trellis.v1.overlay import Goodbye
from trellis.v1.pastry import (
    LeafSetHeartbeat,
    LeafSetProbe,
    Ping,
    RowReply,
    RowRequest,
    SlotReply,
    SlotRequest,
)


def test_only_left_neighbours_get_heartbeats() -> None:
    world = grown(20)
    world.run(31)
    ring = sorted(world.places, key=hash_of_peer)
    expected = {(peer, ring[index - 1]) for index, peer in enumerate(ring)}
    assert {(by, to) for by, to, _ in world.sent[LeafSetHeartbeat]} == expected


def heartbeat(sender: int, *leaves: int) -> LeafSetHeartbeat:
    return LeafSetHeartbeat(identifier=hash_of_peer(sender), leaves=contacts(*leaves))


def test_a_leaf_that_two_peers_disagree_on_is_asked_itself() -> None:
    peer = Peer()
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right, beyond)
    peer.describe_all()
    peer.environment.advance(32)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0))
    assert beyond in peer.asked(LeafSetProbe)


def test_a_heartbeat_of_a_peer_that_is_not_the_right_neighbour_is_answered_by_a_probe() -> None:
    peer = Peer(leaf_set=2, heartbeat="1000 s", table_probe="1000 s")
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right)
    peer.describe_all()
    peer.take(beyond, heartbeat(beyond, 0, right))
    assert peer.asked(LeafSetProbe) == [beyond]


def test_a_dead_entry_is_found_by_probes_and_its_slot_filled_again() -> None:
    world = grown(100, table_probe="20 s")
    for peer in world.random.sample(sorted(world.places), 10):
        world.leave(peer, graceful=False)
    before = world.filled_slots()
    world.run(60)
    for place in world.places.values():
        assert set(place.pastry.neighbours()["routing table"]) <= world.places.keys()
    assert before < 0.92 and world.filled_slots() > 0.95


def test_an_entry_that_spoke_is_not_probed() -> None:
    peer = Peer(leaf_set=2, table_probe="60 s", heartbeat="1000 s")
    for other in range(1, 30):
        peer.shown(other)
    silent, *others = peer.entries()
    peer.environment.advance(60)
    for other in others:
        peer.take(other, Ping(), request=1)
    peer.forget_sent()
    peer.environment.advance(31)
    assert peer.asked(Ping) == [silent]


def test_a_round_trip_that_another_peer_measured_counts() -> None:
    peer = Peer(table_probe="1000 s")
    table = RoutingTable(hash_of_peer(0), 4)
    place = table.place(hash_of_peer(1))
    nearer, farther = [p for p in range(2, 99) if table.place(hash_of_peer(p)) == place][:2]
    peer.shown(1, milliseconds=20)
    peer.shown(farther, milliseconds=30)
    assert peer.entries() == [1]
    peer.shown(nearer, milliseconds=10)
    assert peer.entries() == [nearer]


def test_an_entry_that_never_answers_is_asked_three_times() -> None:
    peer = Peer(leaf_set=2, table_probe="60 s", heartbeat="1000 s")
    peer.shown(1)
    peer.environment.advance(90 + 8.9)
    assert peer.asked(Ping) == [1, 1, 1] and peer.entries() == [1]
    peer.environment.advance(0.2)
    assert peer.entries() == []


def test_rows_are_compared_and_nearer_peers_taken_in() -> None:
    peer = Peer(table_maintenance="100 s", table_probe="1000 s")
    table = RoutingTable(hash_of_peer(0), 4)
    place = table.place(hash_of_peer(1))
    nearer, farther = [p for p in range(2, 99) if table.place(hash_of_peer(p)) == place][:2]
    peer.shown(1, milliseconds=200)
    peer.environment.advance(51)
    assert peer.requests(RowRequest) == [(1, RowRequest(row=place[0]))]
    peer.answer(1, RowReply(peers=contacts(nearer, farther)), to=RowRequest)
    assert peer.asked(Ping) == [nearer, farther]
    peer.environment.advance(0.1)
    peer.pong(nearer)
    peer.environment.advance(0.3)
    peer.pong(farther)
    assert peer.entries() == [nearer]


def test_an_empty_slot_on_the_way_of_a_message_is_asked_for_at_the_next_hop() -> None:
    world = grown(100)
    peer = min(world.places)
    pastry = world.places[peer].pastry
    leaves = set(pastry.neighbours()["leaf"])
    entry = next(p for p in pastry.neighbours()["routing table"] if p not in leaves)
    pastry._state.table.remove(entry)
    for number in range(2):
        world.lookup(number, peer, hash_of_peer(entry))
    world.run(3)
    assert len([by for by, _, _ in world.sent[SlotRequest] if by == peer]) == 1
    assert [to for _, to, _ in world.sent[SlotReply]] == [peer]
    assert pastry._state.table.lookup(hash_of_peer(entry)) is not None


def test_gauges_count_what_is_known() -> None:
    world = grown(40)
    for place in world.places.values():
        gauges, neighbours = place.pastry.gauges(), place.pastry.neighbours()
        assert gauges["routing_table_entries"] == len(neighbours["routing table"]) > 0
        assert gauges["leaf_set_size"] == len(neighbours["leaf"]) == 16
        assert set(gauges) == {"routing_table_entries", "leaf_set_size"}


def test_replicas_belong_on_the_peers_next_on_the_ring() -> None:
    world = grown(40)
    own = hash_of_peer(0)
    by_distance = sorted((p for p in world.places if p), key=lambda p: RING.distance(own, hash_of_peer(p)))
    assert world.places[0].pastry.neighbour_set(5) == contacts(*by_distance[:5])


def test_a_sample_is_of_different_known_peers() -> None:
    world = grown(40)
    pastry = world.places[0].pastry
    known = {*pastry.neighbours()["leaf"], *pastry.neighbours()["routing table"]}
    assert len(set(pastry.sample(5))) == 5 and set(pastry.sample(5)) <= known
    assert set(pastry.sample(1000)) == known


def test_the_death_of_a_neighbour_is_told_to_all_leaves() -> None:
    peer = ready_with_leaves(*range(1, 20))
    left, *others = peer.leaves()[1::-1] + peer.leaves()[2:]
    peer.take(left, Goodbye())
    probes = peer.requests(LeafSetProbe)
    assert {to for to, _ in probes} >= set(others)
    assert all(isinstance(message, LeafSetProbe) and message.failed == [left] for _, message in probes)


def test_the_farthest_leaf_of_a_side_that_lost_one_is_asked_for_the_next() -> None:
    peer = ready_with_leaves(*range(1, 20))
    farthest, neighbour, *_ = peer.leaves()
    peer.take(farthest, Goodbye())
    assert [(to, m.search) for to, m in peer.environment.take(LeafSetProbe)] == [(neighbour, True)]


def test_failures_that_others_tell_of_are_checked_first() -> None:
    peer = ready_with_leaves(*range(1, 20))
    suspect, teller, *_ = peer.leaves()
    peer.take(teller, LeafSetProbe(identifier=hash_of_peer(teller), failed=[suspect]), request=1)
    assert suspect in peer.leaves()
    assert suspect in peer.asked(LeafSetProbe)


def test_a_candidate_that_did_not_answer_is_told_to_who_named_it() -> None:
    peer = ready_with_leaves(1)
    peer.take(1, heartbeat(1, 0, 2))
    assert 2 in peer.asked(LeafSetProbe)
    peer.environment.fail(2)
    peer.forget_sent()
    peer.meet(1)
    [(_, answer)] = peer.environment.take(LeafSetProbe)
    assert answer.failed == [2]


def test_an_empty_side_is_sought_among_all_known_peers() -> None:
    peer = ready_with_leaves(*range(1, 20))
    known = set(peer.entries())
    first, second, third, fourth = peer.leaves()
    peer.take(first, Goodbye())
    peer.describe_all()
    peer.take(second, Goodbye())
    for leaf in (third, fourth):
        peer.describe(leaf)
    asked = set(peer.asked(LeafSetProbe)) - {third, fourth}
    assert asked and asked <= known


def test_a_right_neighbour_that_was_silent_for_longer_than_a_heartbeat_is_probed() -> None:
    peer = Peer(leaf_set=4, table_probe="1000 s")
    right, *_ = clockwise(range(1, 20))
    peer.meet(right)
    peer.describe_all()
    peer.environment.advance(32)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0))
    peer.environment.advance(32)
    assert right not in peer.asked(LeafSetProbe)
    peer.environment.advance(6)
    assert right in peer.asked(LeafSetProbe)


def test_a_neighbour_that_lacks_a_live_leaf_is_told() -> None:
    peer = Peer(leaf_set=4, table_probe="1000 s", heartbeat="1000 s")
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right, beyond)
    peer.describe_all()
    peer.environment.advance(20)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0, beyond))
    assert not peer.asked(LeafSetProbe)
    peer.take(right, heartbeat(right, 0))
    [(told, message)] = peer.environment.take(LeafSetProbe)
    assert told == right and beyond in numbers(message.leaves)


def test_what_a_search_found_is_asked_itself() -> None:
    peer = ready_with_leaves(1)
    answer = LeafSetProbe(identifier=hash_of_peer(1), nearest=contacts(2))
    peer.take(1, answer, request=1)
    assert 2 in peer.asked(LeafSetProbe)


def test_a_neighbour_whose_heartbeat_leaves_this_peer_out_is_told() -> None:
    peer = ready_with_leaves(*clockwise(range(1, 30))[:2])
    right, beyond = clockwise(range(1, 30))[:2]
    peer.take(right, heartbeat(right, beyond))
    assert peer.asked(LeafSetProbe) == [right]


def clockwise(peers: range) -> list[int]:
    return sorted(peers, key=lambda peer: (hash_of_peer(peer) - hash_of_peer(0)) & RING.mask)
