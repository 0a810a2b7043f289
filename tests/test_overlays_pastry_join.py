"""How Pastry peers join."""

from __future__ import annotations

from pastry_peer import Peer, contacts, grown, numbers, ready_with_leaves

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.protocols.overlays.pastry.routing_table import RoutingTable
from trellis.v1.overlay import Contact, Goodbye, Routed
from trellis.v1.pastry import (
    JoinRequest,
    JoinState,
    LeafSetProbe,
    Ping,
    RowAnnouncement,
    RowReply,
    RowRequest,
)


def test_a_peer_tells_its_identifier_when_it_starts() -> None:
    peer = Peer()
    assert peer.environment.fake.identifiers == {"": hash_of_peer(0)} == {"": peer.pastry.identifier}


def test_the_first_contact_that_answers_is_searched_from() -> None:
    peer = Peer(1, 2, 3)
    assert peer.asked(Ping) == [1, 2, 3]
    peer.pong(3, ready=False)
    peer.pong(2)
    peer.pong(1)
    assert peer.requests(RowRequest) == [(2, RowRequest(leaf_set=True))]


def test_the_search_goes_to_whoever_is_nearer_and_up_the_rows() -> None:
    peer = Peer(1)
    peer.environment.advance(0.1)
    peer.pong(1)
    peer.answer(1, RowReply(rows=2, peers=contacts(0, 4, 5)), to=RowRequest)
    assert peer.asked(Ping) == [4, 5]
    peer.environment.advance(0.05)
    peer.pong(5)
    peer.environment.advance(0.04)
    assert not peer.asked(RowRequest)
    peer.environment.advance(0.02)
    assert peer.requests(RowRequest) == [(5, RowRequest(row=1))]
    peer.answer(5, RowReply(rows=2, peers=contacts(6)), to=RowRequest)
    peer.environment.advance(0.06)
    assert peer.requests(RowRequest) == [(5, RowRequest(row=0))]
    peer.answer(5, RowReply(rows=2), to=RowRequest)
    peer.environment.advance(0.06)
    [(hop, routed)] = peer.environment.take(Routed)
    assert (hop, routed.message, routed.hops) == (5, JoinRequest(), 1)
    assert routed.key == hash_of_peer(0) and routed.origin == Contact(0, hash_of_peer(0))


def test_a_peer_has_joined_when_its_leaves_answered() -> None:
    peer = Peer(1, search_steps=0)
    peer.pong(1)
    peer.take(1, JoinState(identifier=hash_of_peer(1), last=True, leaves=contacts(2, 0)))
    assert sorted(peer.asked(LeafSetProbe)) == [1, 2]
    peer.describe(1, 0, 2)
    assert not peer.pastry.ready
    peer.describe(2, 0, 1)
    peer.describe_all()  # both sides are short, so the last on each is asked again
    assert peer.pastry.ready
    assert sorted(peer.leaves()) == [1, 2]


def test_a_contact_that_never_answers_is_replaced() -> None:
    peer = Peer(1)
    peer.environment.advance(5)
    assert len(peer.environment.asked_for_contacts) == 1
    peer.forget_sent()
    peer.environment.asked_for_contacts.pop()([2])
    assert peer.asked(Ping) == [2]


def test_the_bootstrap_services_late_answer_starts_no_second_join() -> None:
    peer = Peer(1)
    peer.environment.advance(10)  # it was asked again, for it had not answered
    first, second = peer.environment.asked_for_contacts
    peer.forget_sent()
    first([2])
    second([3])
    assert peer.asked(Ping) == [2]


def test_a_near_peer_that_does_not_answer_for_its_row_is_replaced() -> None:
    peer = Peer(1)
    peer.pong(1)
    assert peer.asked(RowRequest) == [1]
    peer.environment.advance(4.9)
    assert not peer.environment.asked_for_contacts
    peer.environment.advance(0.2)
    assert len(peer.environment.asked_for_contacts) == 1


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
            if by == newcomer and isinstance(message, Routed) and isinstance(message.message, JoinRequest)
        ]
        by_delay = sorted((p for p in world.places if p != newcomer), key=lambda p: world.delay(newcomer, p))
        ranks.append(by_delay.index(first))
    assert sum(ranks) / len(ranks) < 10


def test_a_peer_that_joined_shows_each_row_to_those_in_it() -> None:
    world = grown(60)
    world.join(60)
    world.run(5)
    table = RoutingTable(hash_of_peer(60), 4)
    shown = [(to, m) for by, to, m in world.sent[RowAnnouncement] if by == 60]
    assert {to for to, _ in shown} >= set(world.places[60].pastry.neighbours()["routing table"]) - {60}
    for to, message in shown:
        assert isinstance(message, RowAnnouncement)
        assert message.identifier == hash_of_peer(60)
        rows = {table.place(contact.identifier)[0] for contact in message.peers}
        assert rows == {table.place(hash_of_peer(to))[0]}
        assert abs(message.round_trip_us / 1e6 - 2 * world.delay(60, to)) < 0.001


def test_a_peer_that_is_searched_from_tells_the_nearest_that_it_knows() -> None:
    peer = ready_with_leaves(*range(1, 20))
    known = {0, *peer.leaves(), *peer.entries()}
    asker = next(p for p in range(20, 60) if peer.pastry.next_hop(hash_of_peer(p)) is not None)
    peer.take(asker, LeafSetProbe(identifier=hash_of_peer(asker), search=True), request=1)
    [(to, answer)] = [(to, m) for to, m in peer.environment.take(LeafSetProbe) if m.nearest]
    near = sorted(known, key=lambda p: RING.distance(hash_of_peer(p), hash_of_peer(asker)))
    assert to == asker and near[0] in numbers(answer.nearest) and len(answer.nearest) == 4


def test_a_peer_that_everybody_left_asks_the_bootstrap_service() -> None:
    peer = Peer()
    assert peer.pastry.ready
    peer.meet(1)
    peer.take(1, Goodbye())
    assert not peer.pastry.ready and len(peer.environment.asked_for_contacts) == 1


def test_a_join_request_collects_rows_and_at_the_end_leaves() -> None:
    peer = Peer(leaf_set=4)
    for other in range(1, 40):
        peer.shown(other, milliseconds=other)
    table = RoutingTable(hash_of_peer(0), 4)
    joining = next(p for p in range(40, 400) if table.place(hash_of_peer(p))[0] == 1)
    for hops, rows in ((1, {0, 1}), (2, {1})):
        peer.forget_sent()
        request = Routed(
            key=hash_of_peer(joining),
            origin=contacts(joining)[0],
            hops=hops,
            message=JoinRequest(),
            sequence=hops,
        )
        peer.take(5, request, request=1)
        [(to, state)] = peer.environment.take(JoinState)
        assert to == joining
        assert {table.place(entry.identifier)[0] for entry in state.entries} == rows
        assert state.last == (state.leaves != [])
