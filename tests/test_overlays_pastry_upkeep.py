"""How Pastry peers join, and how they keep their leaf sets and routing tables."""

from __future__ import annotations

from collections import defaultdict

from fake_environment import FakeEnvironment, hand_over
from google.protobuf.message import Message
from pastry_world import PastryWorld, Place
from trellis.v1.overlay_pb2 import Goodbye, LookupRequest, Routed
from trellis.v1.pastry_pb2 import (
    JoinState,
    LeafSetHeartbeat,
    LeafSetProbe,
    Ping,
    Pong,
    RowAnnouncement,
    RowReply,
    RowRequest,
    SlotReply,
    SlotRequest,
)

from emulator import identifiers
from emulator.overlays.pastry import Pastry, PastryParameters
from emulator.overlays.pastry.routing_table import RoutingTable
from emulator.protocol import Contact


class Watched(PastryWorld):
    """Keeps what was sent, by class: (sender, receiver, message)."""

    def __init__(self, **parameters: object) -> None:
        super().__init__(parameters=PastryParameters.model_validate(parameters))
        self.sent: dict[type[Message], list[tuple[int, int, Message]]] = defaultdict(list)

    def carry(self, sender: Place, receiver: int, message: Message) -> None:
        self.sent[type(message)].append((sender.self_contact.peer, receiver, message))
        super().carry(sender, receiver, message)


def grown(peers: int, **parameters: object) -> Watched:
    world = Watched(**parameters)
    for peer in range(peers):
        world.at(world.random.uniform(0, 10), lambda peer=peer: world.join(peer))  # type: ignore[misc]
    world.run(20)
    world.sent.clear()
    return world


def fresh(*contacts: int, **parameters: object) -> tuple[FakeEnvironment, Pastry]:
    """Peer 0, which begins to join through the contacts."""
    environment = FakeEnvironment(0)
    pastry = Pastry(environment, PastryParameters.model_validate(parameters))
    pastry.start([Contact(contact) for contact in contacts])
    return environment, pastry


def test_the_first_contact_that_answers_is_searched_from() -> None:
    environment, pastry = fresh(1, 2, 3)
    assert [to for to, _ in environment.take(Ping)] == [1, 2, 3]
    hand_over(pastry, 3, Pong(ready=False))
    hand_over(pastry, 2, Pong(ready=True))
    hand_over(pastry, 1, Pong(ready=True))
    assert environment.take(RowRequest) == [(2, RowRequest(leaf_set=True))]


def test_the_search_goes_to_whoever_is_nearer_and_up_the_rows() -> None:
    environment, pastry = fresh(1)
    environment.advance(0.1)
    environment.outbox.clear()
    hand_over(pastry, 1, Pong(ready=True))
    hand_over(pastry, 1, RowReply(leaf_set=True, rows=2, peers=[0, 4, 5]))
    assert [to for to, _ in environment.take(Ping)] == [4, 5]
    environment.advance(0.05)
    hand_over(pastry, 5, Pong(ready=True))
    environment.advance(0.04)
    assert not environment.take(RowRequest)
    environment.advance(0.02)
    assert environment.take(RowRequest) == [(5, RowRequest(row=1))]
    hand_over(pastry, 5, RowReply(row=1, rows=2, peers=[6]))
    environment.advance(0.06)
    assert environment.take(RowRequest) == [(5, RowRequest(row=0))]
    hand_over(pastry, 5, RowReply(row=0, rows=2, peers=[]))
    environment.advance(0.06)
    [(hop, routed)] = environment.take(Routed)
    assert (hop, routed.type, routed.hops) == (5, "JoinRequest", 1)
    assert identifiers.decode(routed.key) == identifiers.of_peer(0)


def test_a_peer_has_joined_when_its_leaves_answered() -> None:
    environment, pastry = fresh(1, search_steps=0)
    hand_over(pastry, 1, Pong(ready=True))
    environment.outbox.clear()
    hand_over(pastry, 1, JoinState(last=True, leaves=[2, 0]))
    assert sorted(to for to, _ in environment.take(LeafSetProbe)) == [1, 2]
    hand_over(pastry, 1, LeafSetProbe(reply=True, leaves=[0, 2]))
    assert not pastry.ready
    hand_over(pastry, 2, LeafSetProbe(reply=True, leaves=[0, 1]))
    for _ in range(3):  # both sides are short, so the last on each is asked again
        for to, _message in environment.take(LeafSetProbe):
            hand_over(pastry, to, LeafSetProbe(reply=True))
    assert pastry.ready
    assert sorted(pastry.neighbours()["leaf"]) == [1, 2]


def test_a_contact_that_never_answers_is_replaced() -> None:
    environment, _ = fresh(1)
    environment.advance(5)
    assert len(environment.asked_for_contacts) == 1
    environment.outbox.clear()
    environment.asked_for_contacts.pop()([Contact(2)])
    assert [to for to, _ in environment.take(Ping)] == [2]


def test_peers_join_through_a_near_one() -> None:
    world = grown(100)
    ranks = []
    for newcomer in range(100, 110):
        world.sent.clear()
        world.join(newcomer)
        world.run(5)
        [first] = [
            to
            for by, to, message in world.sent[Routed]
            if by == newcomer and isinstance(message, Routed) and message.type == "JoinRequest"
        ]
        by_delay = sorted((p for p in world.places if p != newcomer), key=lambda p: world.delay(newcomer, p))
        ranks.append(by_delay.index(first))
    assert sum(ranks) / len(ranks) < 10


def test_a_peer_that_joined_shows_each_row_to_those_in_it() -> None:
    world = grown(60)
    world.join(60)
    world.run(5)
    table = RoutingTable(identifiers.of_peer(60), 4)
    shown = [(to, m) for by, to, m in world.sent[RowAnnouncement] if by == 60]
    assert {to for to, _ in shown} >= set(world.places[60].pastry.neighbours()["routing table"]) - {60}
    for to, message in shown:
        assert isinstance(message, RowAnnouncement)
        assert table.place(identifiers.of_peer(to))[0] == message.row
        assert abs(message.round_trip_us / 1e6 - 2 * world.delay(60, to)) < 0.001


def test_only_left_neighbours_get_heartbeats() -> None:
    world = grown(20)
    world.run(31)
    ring = sorted(world.places, key=identifiers.of_peer)
    expected = {(peer, ring[index - 1]) for index, peer in enumerate(ring)}
    assert {(by, to) for by, to, _ in world.sent[LeafSetHeartbeat]} == expected


def test_a_leaf_that_two_peers_disagree_on_is_asked_itself() -> None:
    environment, pastry = fresh()
    right, beyond = sorted(
        range(1, 30), key=lambda p: (identifiers.of_peer(p) - identifiers.of_peer(0)) & identifiers.MASK
    )[:2]
    for peer in (right, beyond):
        hand_over(pastry, peer, LeafSetProbe(reply=True))
        hand_over(pastry, peer, LeafSetProbe(reply=True))
    environment.advance(32)
    environment.outbox.clear()
    hand_over(pastry, right, LeafSetHeartbeat(leaves=[0]))
    assert beyond in [to for to, _ in environment.take(LeafSetProbe)]


def test_a_dead_entry_is_found_by_probes_and_its_slot_filled_again() -> None:
    world = grown(100, table_probe="20 s")
    for peer in world.random.sample(sorted(world.places), 10):
        world.leave(peer, graceful=False)
    before = world.filled_slots()
    world.run(60)
    for place in world.places.values():
        assert set(place.pastry.neighbours()["routing table"]) <= world.places.keys()
        assert set(place.pastry.neighbours()["neighbourhood"]) <= world.places.keys()
    assert before < world.filled_slots() > 0.97


def test_an_entry_that_spoke_is_not_probed() -> None:
    environment, pastry = fresh(leaf_set=2, table_probe="60 s", heartbeat="1000 s")
    for peer in range(1, 30):
        hand_over(pastry, peer, RowAnnouncement(round_trip_us=1000))
    silent, *others = pastry.neighbours()["routing table"]
    environment.advance(60)
    for peer in others:
        hand_over(pastry, peer, Ping())
    environment.outbox.clear()
    environment.advance(31)
    assert silent in [to for to, _ in environment.outbox]
    assert not set(others) & {to for to, _ in environment.outbox}


def test_rows_are_compared_and_nearer_peers_taken_in() -> None:
    environment, pastry = fresh(table_maintenance="100 s", table_probe="1000 s")
    table = RoutingTable(identifiers.of_peer(0), 4)
    place = table.place(identifiers.of_peer(1))
    nearer, farther = [p for p in range(2, 99) if table.place(identifiers.of_peer(p)) == place][:2]
    hand_over(pastry, 1, RowAnnouncement(round_trip_us=200_000))
    environment.outbox.clear()
    environment.advance(51)
    assert environment.take(RowRequest) == [(1, RowRequest(row=place[0]))]
    hand_over(pastry, 1, RowReply(row=place[0], peers=[nearer, farther]))
    assert [to for to, _ in environment.take(Ping)] == [nearer, farther]
    environment.advance(0.1)
    hand_over(pastry, nearer, Pong(ready=True))
    environment.advance(0.3)
    hand_over(pastry, farther, Pong(ready=True))
    assert pastry.neighbours()["routing table"] == [nearer]


def test_an_empty_slot_on_the_way_of_a_message_is_asked_for_at_the_next_hop() -> None:
    world = grown(100)
    peer = min(world.places)
    pastry = world.places[peer].pastry
    leaves = set(pastry.neighbours()["leaf"])
    entry = next(p for p in pastry.neighbours()["routing table"] if p not in leaves)
    pastry._state.table.remove(entry)
    for number in range(2):
        world.lookup(number, peer, identifiers.of_peer(entry))
    world.run(3)
    assert len([by for by, _, _ in world.sent[SlotRequest] if by == peer]) == 1
    assert [to for _, to, _ in world.sent[SlotReply]] == [peer]
    assert pastry._state.table.lookup(identifiers.of_peer(entry)) is not None


def test_numbers_of_messages_do_not_repeat_after_a_restart() -> None:
    def first_number(now: float) -> int:
        environment = FakeEnvironment(0)
        environment.now = now
        pastry = Pastry(environment, PastryParameters())
        pastry.start([])
        hand_over(pastry, 1, LeafSetProbe(reply=True))
        environment.outbox.clear()
        pastry.route(identifiers.of_peer(1), LookupRequest())
        return environment.take(Routed)[0][1].sequence

    assert first_number(10.0) > first_number(5.0) > 0


def test_gauges_count_what_is_known() -> None:
    world = grown(40)
    for place in world.places.values():
        gauges, neighbours = place.pastry.gauges(), place.pastry.neighbours()
        assert gauges["routing_table_entries"] == len(neighbours["routing table"]) > 0
        assert gauges["leaf_set_size"] == len(neighbours["leaf"]) == 16
        assert gauges["neighbourhood_size"] == len(neighbours["neighbourhood"]) == 16


def test_replicas_belong_on_the_peers_next_on_the_ring() -> None:
    world = grown(40)
    own = identifiers.of_peer(0)
    by_distance = sorted(
        (p for p in world.places if p), key=lambda p: identifiers.distance(own, identifiers.of_peer(p))
    )
    assert list(world.places[0].pastry.neighbour_set(5)) == by_distance[:5]


def ready_with_leaves(*leaves: int) -> tuple[FakeEnvironment, Pastry]:
    """Peer 0 alone, then the others answer as leaves until it has nothing left to ask."""
    environment, pastry = fresh(leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    for leaf in leaves:
        hand_over(pastry, leaf, LeafSetProbe(reply=True))
    answer_probes(environment, pastry)
    return environment, pastry


def answer_probes(environment: FakeEnvironment, pastry: Pastry) -> None:
    """Let all leaves say that they know nobody, until nothing is asked any more."""
    while probes := environment.take(LeafSetProbe):
        for to, _message in probes:
            hand_over(pastry, to, LeafSetProbe(reply=True))


def test_the_death_of_a_neighbour_is_told_to_all_leaves() -> None:
    environment, pastry = ready_with_leaves(*range(1, 20))
    left, *others = pastry.neighbours()["leaf"][1::-1] + pastry.neighbours()["leaf"][2:]
    hand_over(pastry, left, Goodbye())
    probes = [(to, m) for to, m in environment.outbox if isinstance(m, LeafSetProbe)]
    assert {to for to, _ in probes} >= set(others)
    assert all(list(message.failed) == [left] for _, message in probes)


def test_the_farthest_leaf_of_a_side_that_lost_one_is_asked_for_the_next() -> None:
    environment, pastry = ready_with_leaves(*range(1, 20))
    farthest, neighbour, *_ = pastry.neighbours()["leaf"]
    hand_over(pastry, farthest, Goodbye())
    assert [(to, m.search) for to, m in environment.take(LeafSetProbe)] == [(neighbour, True)]


def test_failures_that_others_tell_of_are_checked_first() -> None:
    environment, pastry = ready_with_leaves(*range(1, 20))
    suspect, teller, *_ = pastry.neighbours()["leaf"]
    hand_over(pastry, teller, LeafSetProbe(failed=[suspect]))
    assert suspect in pastry.neighbours()["leaf"]
    assert suspect in [to for to, _ in environment.take(LeafSetProbe)]


def test_an_empty_side_is_sought_among_all_known_peers() -> None:
    environment, pastry = ready_with_leaves(*range(1, 20))
    known = {p for p in range(1, 20) if p in pastry.neighbours()["routing table"]}
    first, second, third, fourth = pastry.neighbours()["leaf"]
    hand_over(pastry, first, Goodbye())
    answer_probes(environment, pastry)
    hand_over(pastry, second, Goodbye())
    for leaf in (third, fourth):
        hand_over(pastry, leaf, LeafSetProbe(reply=True))
    asked = {to for to, m in environment.take(LeafSetProbe)} - {third, fourth}
    assert asked and asked <= known


def test_a_right_neighbour_that_was_silent_for_longer_than_a_heartbeat_is_probed() -> None:
    environment, pastry = fresh(leaf_set=4, table_probe="1000 s")
    right, *_ = clockwise(range(1, 20))
    hand_over(pastry, right, LeafSetProbe(reply=True))
    hand_over(pastry, right, LeafSetProbe(reply=True))
    environment.advance(32)
    environment.outbox.clear()
    hand_over(pastry, right, LeafSetHeartbeat(leaves=[0]))
    environment.advance(32)
    assert right not in [to for to, _ in environment.take(LeafSetProbe)]
    environment.advance(6)
    assert right in [to for to, _ in environment.take(LeafSetProbe)]


def test_a_neighbour_that_lacks_a_live_leaf_is_told() -> None:
    environment, pastry = fresh(leaf_set=4, table_probe="1000 s", heartbeat="1000 s")
    right, beyond = clockwise(range(1, 30))[:2]
    for peer in (right, beyond):
        hand_over(pastry, peer, LeafSetProbe(reply=True))
    for to, _ in environment.take(LeafSetProbe):
        hand_over(pastry, to, LeafSetProbe(reply=True))
    environment.advance(20)
    environment.outbox.clear()
    hand_over(pastry, right, LeafSetHeartbeat(leaves=[0, beyond]))
    assert not environment.take(LeafSetProbe)
    hand_over(pastry, right, LeafSetHeartbeat(leaves=[0]))
    [(told, message)] = environment.take(LeafSetProbe)
    assert told == right and beyond in message.leaves


def test_a_peer_that_everybody_left_asks_the_bootstrap_service() -> None:
    environment, pastry = fresh()
    assert pastry.ready
    hand_over(pastry, 1, LeafSetProbe(reply=True))
    hand_over(pastry, 1, Goodbye())
    assert not pastry.ready and len(environment.asked_for_contacts) == 1


def test_a_join_request_collects_rows_near_peers_and_at_the_end_leaves() -> None:
    environment, pastry = fresh(leaf_set=4)
    for peer in range(1, 40):
        hand_over(pastry, peer, RowAnnouncement(round_trip_us=1000 * peer))
    table = RoutingTable(identifiers.of_peer(0), 4)
    joining = next(p for p in range(40, 400) if table.place(identifiers.of_peer(p))[0] == 1)
    for hops, rows in ((1, [0, 1]), (2, [1])):
        environment.outbox.clear()
        request = Routed(
            key=identifiers.encode(identifiers.of_peer(joining)),
            origin=joining,
            hops=hops,
            type="JoinRequest",
            sequence=hops,
        )
        hand_over(pastry, 5, request)
        [(to, state)] = environment.take(JoinState)
        assert to == joining
        assert [row.row for row in state.rows] == rows
        for row in state.rows:
            assert all(table.place(identifiers.of_peer(peer))[0] == row.row for peer in row.peers)
        assert bool(state.neighbourhood) == (hops == 1)


def clockwise(peers: range) -> list[int]:
    own = identifiers.of_peer(0)
    return sorted(peers, key=lambda peer: (identifiers.of_peer(peer) - own) & identifiers.MASK)
