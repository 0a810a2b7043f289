"""Kademlia: which peers are contacts, in which bucket, and what becomes of those that are silent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kademlia_world import Peer, contacts
from lookup_world import Passes

from emulator.contract.identifiers import Xor
from emulator.protocols.overlays.kademlia import KademliaParameters
from trellis.v1.kademlia import ContactPing, ContactPong, FindNode, FoundNodes
from trellis.v1.overlay import LookupRequest

identifiers = st.integers(0, 63)


@given(identifiers, identifiers, identifiers)
def test_exclusive_or_is_a_metric_and_each_distance_belongs_to_one_identifier(a: int, b: int, c: int) -> None:
    distance = Xor(6).distance
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, b) == distance(b, a)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert distance(a, a ^ b) == b


@given(st.lists(st.integers(1, 63), unique=True), st.integers(1, 6), st.integers(1, 3), st.data())
def test_buckets_hold_at_most_k_of_their_range_and_the_closest_contacts_are_found(
    heard: list[int], k: int, b: int, data: st.DataObject
) -> None:
    peer = Peer(heard, k=k, b=b)
    table = peer.known.table
    end = 0
    for bucket in table.buckets:
        assert bucket.low == end
        end += 1 << (6 - bucket.depth)
        assert len(bucket.contacts) <= k
        assert all(bucket.low <= contact < end for contact in bucket.contacts)
    assert end == 64
    assert len(table) == sum(len(bucket.contacts) for bucket in table.buckets)
    key = data.draw(identifiers)
    kept = sorted((known.contact.peer for known in table), key=lambda contact: contact ^ key)
    count = data.draw(st.integers(1, 10))
    assert [contact.peer for contact in peer.known.closest(key, count)] == kept[:count]


@given(st.lists(st.integers(1, 63), unique=True), st.integers(1, 6))
def test_all_peers_of_the_smallest_subtree_with_k_of_them_are_contacts(heard: list[int], k: int) -> None:
    """Section 2.4, whatever the order in which they were heard of."""
    kept = {known.contact.peer for known in Peer(heard, k=k).known.table}
    subtrees = [[each for each in heard if each < 1 << free] for free in range(7)]
    smallest = next((subtree for subtree in subtrees if len(subtree) >= k), heard)
    assert kept >= set(smallest)


def test_the_bucket_of_the_own_identifier_splits_and_others_do_not() -> None:
    peer = Peer([0b100000, 0b110000, 0b010000, 0b011000, 0b001000], k=2)
    assert peer.buckets() == {"1": [32, 48], "01": [16, 24], "00": [8]}
    peer.known.hear(0b101000, 0b101000)
    assert peer.buckets()["1"] == [32, 48]


def test_with_b_of_two_each_step_decides_two_bits() -> None:
    peer = Peer([1, 2, 0b100000, 0b110000, 0b101000, 0b111000, 0b111100], k=2, b=2)
    assert peer.buckets() == {"0": [1, 2], "10": [32, 40], "11": [48, 56]}


def test_a_far_bucket_splits_while_fewer_than_k_peers_are_nearer() -> None:
    """Section 2.4, unbalanced trees: peer 000000 is the only one of its half."""
    peer = Peer([0b100000, 0b110000, 0b101000, 0b111000], k=2)
    assert peer.buckets() == {"10": [32, 40], "11": [48, 56]}


def test_a_contact_that_is_heard_of_again_moves_to_the_end() -> None:
    peer = Peer([32, 48, 40], k=4)
    peer.known.hear(32, 32)
    assert [*peer.known.table.buckets[0].contacts] == [48, 40, 32]


FULL = [32, 48, 8, 9]
"""Contacts with which, if k is 2, the bucket of identifiers from 32 on is full."""


def test_a_newcomer_to_a_full_bucket_has_the_least_recently_seen_contact_pinged_which_stays() -> None:
    peer = Peer(FULL, k=2)
    peer.ask(FindNode(5, 40), 40)
    assert peer.asked(ContactPing) == [32]
    peer.answer(32, ContactPong(32))
    assert peer.buckets()["1"] == [48, 32]


def test_a_newcomer_takes_the_place_of_a_contact_that_is_silent() -> None:
    peer = Peer(FULL, k=2)
    peer.ask(FindNode(5, 40), 40)
    peer.environment.advance(2)
    assert peer.buckets()["1"] == [48, 40]


def test_one_contact_of_a_bucket_is_pinged_at_a_time() -> None:
    peer = Peer(FULL, k=2)
    peer.known.hear(40, 40)
    peer.known.hear(41, 41)
    assert peer.asked(ContactPing) == [32]


def test_a_contact_that_is_not_questionable_is_not_pinged() -> None:
    peer = Peer(FULL, k=2, questionable="900 s")
    peer.known.hear(40, 40)
    assert peer.asked(ContactPing) == []
    peer.environment.advance(900)
    peer.known.hear(40, 40)
    assert peer.asked(ContactPing) == [32]


def test_the_newest_of_the_replacement_cache_takes_the_place_of_a_contact_that_is_stale() -> None:
    peer = Peer(FULL, k=2, full_bucket="cache", failures=2, backoff="0 s")
    for newcomer in (40, 41, 42, 41):
        peer.known.hear(newcomer, newcomer)
    assert peer.asked(ContactPing) == []
    peer.known.fail(48)
    assert peer.buckets()["1"] == [32, 48]
    peer.known.fail(48)
    assert peer.buckets()["1"] == [32, 41]


@pytest.mark.parametrize("keep", [True, False])
def test_a_stale_contact_stays_until_another_one_takes_its_place_if_asked(keep: bool) -> None:
    peer = Peer(FULL, k=2, failures=1, keep_stale=keep)
    peer.known.fail(32)
    assert peer.buckets()["1"] == ([32, 48] if keep else [48])
    peer.known.hear(40, 40)
    assert peer.buckets()["1"] == [48, 40]
    assert peer.asked(ContactPing) == []


def test_a_silent_contact_is_neither_asked_nor_named_for_a_time_that_doubles() -> None:
    peer = Peer([32, 8], backoff="4 s")

    def named() -> list[int]:
        return [contact.peer for contact in peer.known.closest(32, 4)]

    for locked in (4, 8, 16):
        peer.known.fail(32)
        peer.known.fail(32)
        assert named() == [8]
        assert peer.ask(FindNode(32, 8), 8) == FoundNodes(0, [])
        peer.environment.advance(locked - 1)
        assert named() == [8]
        peer.environment.advance(1)
        assert named() == [32, 8]
    peer.known.fail(32)
    peer.known.hear(32, 32)
    assert named() == [32, 8]


def test_a_silent_contact_is_no_next_hop_until_it_is_heard_of() -> None:
    peer = Peer([32, 40], backoff="1 s")
    peer.known.fail(32)
    peer.environment.advance(10)
    hop = peer.kademlia.next_hop(33)
    assert hop is not None and hop.peer == 40
    peer.known.hear(32, 32)
    hop = peer.kademlia.next_hop(33)
    assert hop is not None and hop.peer == 32


def test_a_peer_with_another_identifier_than_before_is_another_contact() -> None:
    peer = Peer([32])
    peer.known.hear(32, 7)
    assert peer.known.closest(0, 9)[0].identifier == 7
    assert len(peer.known.table) == 1


def test_an_answer_names_the_k_closest_but_not_the_peer_that_asks() -> None:
    peer = Peer([32, 33, 40, 48, 8], k=3)
    assert peer.ask(FindNode(32, 32), 32) == FoundNodes(0, contacts(33, 40, 48))


def test_a_bucket_without_a_lookup_for_an_hour_is_refreshed_by_one_in_its_range() -> None:
    peer = Peer([32, 48, 8, 9], k=2, refresh="1 h")
    for bucket in peer.known.table.buckets:
        bucket.looked_up = 0.0
    peer.kademlia._refresh.start()
    peer.environment.advance(3300)
    assert peer.asked(FindNode) == []
    peer.environment.advance(600)
    keys = [sent.message.key for sent in peer.environment.outbox if isinstance(sent.message, FindNode)]
    assert 0 in keys
    assert any(key >= 32 for key in keys)


def test_applications_are_told_of_those_that_come_and_go_among_the_k_closest() -> None:
    peer = Peer(k=2)
    told: list[tuple[int, bool]] = []

    class Listens:
        def neighbour_changed(self, contact: object, joined: bool) -> None:
            told.append((contact.peer, joined))  # type: ignore[attr-defined]

    peer.kademlia.add_listener(Listens())
    for heard in (32, 16, 48, 1):
        peer.known.hear(heard, heard)
    assert told == [(32, True), (16, True), (32, False), (1, True)]
    peer.known.fail(1)
    assert told[4:] == [(1, False), (32, True)]


def test_a_preset_gives_the_values_that_are_not_given() -> None:
    libp2p = KademliaParameters.model_validate({"preset": "libp2p", "alpha": 4})
    assert (libp2p.k, libp2p.alpha, libp2p.beta, libp2p.ends, libp2p.failures) == (20, 4, 3, "beta", 1)
    mainline = KademliaParameters.model_validate({"preset": "mainline"})
    assert (mainline.k, mainline.alpha, mainline.questionable) == (8, 3, 900.0)
    assert KademliaParameters.model_validate(mainline.model_dump()) == mainline


def test_a_lookup_request_of_a_peer_that_has_not_joined_waits() -> None:
    peer = Peer([32])
    peer.kademlia._join.ready = False
    peer.kademlia.carry(Passes(), LookupRequest)
    peer.kademlia.route(33, LookupRequest(1))
    assert peer.asked(FindNode) == []
    peer.kademlia._join.ready = True
    peer.kademlia._joined()
    peer.environment.advance(0)
    assert 32 in peer.asked(FindNode)
