"""Kademlia: whom a lookup asks and when it ends, and where messages of applications arrive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kademlia_world import KademliaWorld, Peer, contacts
from lookup_world import Passes

from emulator.contract.identifiers import hash_of_peer
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup
from trellis.v1.kademlia import Carried, Carry, ContactPong, FindNode, FoundNodes
from trellis.v1.overlay import Contact, LookupRequest

EIGHT = [0b000, 0b001, 0b010, 0b011, 0b100, 0b101, 0b110, 0b111]
SPARSE = [3, 9, 17, 20, 35, 44, 50, 61]
"""Eight identifiers of 6 bits."""


class Search:
    """A lookup for 63 by peer 0, whose contacts are 32, 36, 40 and 48 unless others are given."""

    def __init__(self, *known: int, **fields: Any) -> None:
        self.peer = Peer(known or (32, 36, 40, 48), **fields)
        self.ended: list[NodeLookup] = []
        self.peer.kademlia.lookups.begin(NodeLookup(63, self.ended.append))

    @property
    def asked(self) -> list[int]:
        return self.peer.asked(FindNode)

    def answer(self, peer: int, *named: int) -> None:
        self.peer.answer(peer, FoundNodes(peer, contacts(*named)))

    def found(self) -> list[int]:
        (lookup,) = self.ended
        return [candidate.contact.peer for candidate in lookup.closest(4)]


def test_loosely_alpha_requests_are_under_way_until_the_k_closest_have_answered() -> None:
    search = Search(alpha=2, ends="loose")
    assert search.asked == [48, 40]
    search.answer(40, 56)
    assert search.asked == [48, 40, 56]
    search.answer(56, 60)
    assert search.asked == [48, 40, 56, 60]
    search.answer(60)
    search.answer(48)
    assert not search.asked[4:]
    assert search.found() == [60, 56, 48, 40]
    assert search.ended[0].requests == 4


def test_strictly_a_round_is_waited_for() -> None:
    search = Search(alpha=2, ends="strict")
    search.answer(40, 56)
    assert search.asked == [48, 40]
    search.answer(48, 60)
    assert search.asked == [48, 40, 60, 56]
    search.answer(60)
    search.answer(56)
    assert search.found() == [60, 56, 48, 40]


def test_all_of_the_k_closest_are_asked_after_a_round_that_finds_none_closer() -> None:
    search = Search(alpha=1, ends="all")
    search.answer(48, 56)
    assert search.asked == [48, 56]
    search.answer(56, 41)
    assert search.asked == [48, 56, 41, 40]
    search.answer(41)
    search.answer(40)
    assert search.found() == [56, 48, 41, 40]


def test_with_beta_a_lookup_ends_when_the_beta_closest_have_answered() -> None:
    search = Search(alpha=3, beta=2, ends="beta")
    assert search.asked == [48, 40, 36]
    search.answer(48)
    assert not search.ended
    search.answer(40)
    assert search.found() == [48, 40, 36, 32]
    search.answer(36)
    assert len(search.ended) == 1


def test_a_silent_peer_is_passed_over_and_is_not_among_those_found() -> None:
    search = Search(alpha=3)
    search.answer(40)
    search.answer(36)
    search.answer(32)
    assert search.asked == [48, 40, 36, 32]
    search.peer.environment.advance(2)
    assert search.found() == [40, 36, 32]


def test_a_request_is_repeated_before_it_has_failed() -> None:
    search = Search(48, retries=1)
    search.peer.environment.advance(2)
    assert search.asked == [48, 48]
    search.peer.environment.advance(2)
    assert search.found() == []
    assert search.ended[0].requests == 2


def test_the_depth_of_a_peer_is_one_more_than_that_of_the_peer_that_named_it_first() -> None:
    search = Search(48, alpha=1)
    search.answer(48, 56)
    search.answer(56, 60)
    search.answer(60, 62)
    search.answer(62)
    (lookup,) = search.ended
    assert [(each.contact.peer, each.depth) for each in lookup.closest(4)] == [
        (62, 4),
        (60, 3),
        (56, 2),
        (48, 1),
    ]


def test_a_lookup_for_an_application_tells_what_it_took() -> None:
    peer = Peer([48, 40], tell_found=True)
    peer.kademlia.carry(Passes(), LookupRequest)
    peer.kademlia.route(63, LookupRequest(1))
    peer.environment.advance(0.5)
    peer.answer(48, FoundNodes(48, contacts(56)))
    peer.answer(40, FoundNodes(40, []))
    peer.answer(56, FoundNodes(56, []))
    told = [(each.name, each.value, each.subject) for each in peer.environment.recorded]
    assert told == [
        ("lookup_requests", 3.0, None),
        ("lookup_took", 500.0, None),
        ("lookup_depth", 4 / 3, None),
        *(("lookup_found", float(place), found) for place, found in enumerate((56, 48, 40))),
    ]
    carried = peer.environment.outbox[-1]
    assert carried.peer == 56
    assert carried.message == Carry(63, Contact(0, 0), 2, LookupRequest(1), 1, True, 0)


@pytest.mark.parametrize("iterative", ["lookups", "none"])
def test_the_eight_peers_of_three_bits_all_know_each_other(iterative: str) -> None:
    world = KademliaWorld(EIGHT, bits=3, k=8, iterative=iterative)
    for peer in range(8):
        for key in range(8):
            assert world.look_up(peer, key) == [(key, 0 if key == peer else 1)]


@pytest.mark.parametrize("iterative", ["lookups", "none"])
@pytest.mark.parametrize("peers", [1, 2, 3, 5, 8])
def test_lookups_of_up_to_eight_peers_end_at_the_closest_one(peers: int, iterative: str) -> None:
    world = KademliaWorld(SPARSE[:peers], bits=6, k=2, iterative=iterative)
    for peer in range(peers):
        for key in (0, 19, 36, 63):
            ((end, hops),) = world.look_up(peer, key)
            assert end == world.closest(key)
            assert (hops == 0) == (end == peer)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 2**16 - 1), min_size=2, max_size=14, unique=True), st.data())
def test_a_lookup_finds_the_true_k_closest_whatever_the_identifiers(
    identifiers: list[int], data: st.DataObject
) -> None:
    ends = data.draw(st.sampled_from(["loose", "strict", "all"]))
    world = KademliaWorld(identifiers, bits=16, k=4, ends=ends)
    peer = data.draw(st.sampled_from(world.up))
    key = data.draw(st.integers(0, 2**16 - 1))
    others = sorted((each for each in world.up if each != peer), key=lambda each: identifiers[each] ^ key)
    assert world.found(peer, key) == others[:4]


@pytest.mark.parametrize("iterative", ["lookups", "none"])
def test_messages_go_around_peers_that_crashed(iterative: str) -> None:
    world = KademliaWorld([hash_of_peer(peer) for peer in range(20)], k=6, iterative=iterative)
    world.crash(range(0, 20, 4))
    for number, peer in enumerate(world.up[::4]):
        key = hash_of_peer(40 + number)
        (delivery,) = world.look_up(peer, key, number)
        assert delivery[0] == world.closest(key)


@pytest.mark.parametrize("fields", [{}, {"failures": 1, "keep_stale": False}], ids=["kept", "dropped"])
def test_a_peer_that_nobody_answers_any_more_joins_again(fields: dict[str, Any]) -> None:
    world = KademliaWorld([hash_of_peer(peer) for peer in range(6)], **fields)
    for other in range(1, 6):
        world.peers[0].known.fail(other)
    world.run(0.5)
    for other in range(1, 6):
        world.peers[0].known.fail(other)
    world.look_up(0, 5)
    assert len(world.peers[0].known.closest(0, 9)) >= world.settings.k


def test_a_peer_that_finds_nobody_asks_for_other_contacts_until_one_answers() -> None:
    peer = Peer()
    peer.kademlia._join.ready = False
    peer.kademlia.start([5])
    peer.environment.advance(2 + 1)
    assert not peer.kademlia.ready
    peer.environment.asked_for_contacts.pop()([6])
    peer.answer(6, ContactPong(6))
    peer.answer(6, FoundNodes(6, []))
    assert peer.kademlia.ready


def test_the_closest_peer_delivers_once_however_often_a_message_comes() -> None:
    peer = Peer([32])
    application = Passes()
    peer.kademlia.carry(application, LookupRequest)
    message = Carry(1, Contact(4, 4), 3, LookupRequest(1), 7, True, 4)
    assert [peer.ask(message, 4), peer.ask(message, 4)] == [Carried(0), Carried(0)]
    assert application.delivered == [(1, 3)]


def test_a_peer_that_has_not_joined_refuses_and_the_next_closest_gets_the_message() -> None:
    peer = Peer([48, 40], iterative="none")
    peer.kademlia.carry(Passes(), LookupRequest)
    peer.kademlia.route(63, LookupRequest(1))
    peer.answer(48, Carried(48, True))
    assert peer.asked(Carry) == [48, 40]
    peer.kademlia._join.ready = False
    assert peer.ask(Carry(1, Contact(4, 4), 3, LookupRequest(1), 7, True, 4), 4) == Carried(0, True)


def test_a_peer_that_joined_by_one_that_knew_nobody_finds_the_others_soon() -> None:
    """The last peer joins by a contact that is joining itself, so that it finds nobody else at first."""
    world = KademliaWorld([hash_of_peer(peer) for peer in range(12)], started=10)
    world.world.protocols[10].start([3])
    world.world.protocols[11].start([10])
    world.up += [10, 11]
    world.world.exchange()
    world.run(20)
    assert len(world.peers[11].known.table) >= 4
    assert sum(world.peers[peer].known.table.get(11) is not None for peer in range(10)) >= 4
    key = hash_of_peer(11)
    assert world.found(0, key)[0] == 11


def test_a_peer_with_few_others_stops_looking_for_more() -> None:
    world = KademliaWorld([hash_of_peer(peer) for peer in range(3)], k=20)
    world.run(20)
    world.world.sent.clear()
    sent = 0
    for _ in range(40):
        world.run(0.5)
        sent += sum(isinstance(message, FindNode) for _, _, message in world.world.sent)
    assert sent == 0
