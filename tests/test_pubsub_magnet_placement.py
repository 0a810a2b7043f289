"""Algorithm 1: next to whom a peer stands."""

from __future__ import annotations

import random

import pytest
from fake_environment import FakeEnvironment
from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import TopicInterest
from emulator.contract.registry import SYSTEMS
from emulator.protocols.gossip.profiles import make_profile, utility
from emulator.protocols.pubsub.magnet.magnet import Magnet
from emulator.protocols.pubsub.magnet.placement import most_similar
from trellis.v1.magnet import InterestSample
from trellis.v1.oscar import RingJoin, RingPlace
from trellis.v1.overlay import Contact, Profile, TManExchange


def profile(peer: int, *topics: int, rates: dict[int, float] | None = None) -> Profile:
    return make_profile(peer, 0, 1, peer, {topic: (rates or {}).get(topic, 1.0) for topic in topics})


A, B, C = profile(10, 1, 2), profile(11, 3, 4), profile(12, 1, 5)
RING = {peer.peer: peer for peer in (A, B, C)}


def test_similarity_is_what_is_shared_by_what_either_has() -> None:
    assert utility(profile(1, 1, 2, 3), profile(2, 2, 3, 4)) == pytest.approx(1 / 2)


def test_similarity_weighs_topics_by_their_rates() -> None:
    rates = {1: 4.0, 2: 1.0, 3: 1.0, 4: 2.0}
    one, other = profile(1, 1, 2, 3, rates=rates), profile(2, 2, 3, 4, rates=rates)
    assert utility(one, other) == pytest.approx(1 / 4)


def test_a_peer_goes_to_the_most_similar_one() -> None:
    rng = random.Random(1)
    assert most_similar(profile(1, 1, 2, 3), RING, (), rng) is A
    assert most_similar(profile(1, 1, 5), RING, (), rng) is C
    assert most_similar(profile(1, 1, 5), {}, (), rng) is None


def test_without_it_the_next_similar_ones_are_equally_likely() -> None:
    rng = random.Random(1)
    chosen = [most_similar(profile(1, 1, 2, 3), RING, {A.peer}, rng) for _ in range(200)]
    assert {found.peer for found in chosen if found} == {B.peer, C.peer}
    assert chosen.count(B) == pytest.approx(100, abs=30)


def make(*contacts: int, **parameters: object) -> tuple[FakeEnvironment, Magnet]:
    """Return a peer interested in 1, 2 and 3; on the ring, alone, unless it has contacts."""
    system = SYSTEMS["magnet-small-world"]
    environment = FakeEnvironment(5)
    peer = system.create(environment, system.parameters.model_validate(parameters))
    assert isinstance(peer, Magnet)
    for topic in (1, 2, 3):
        peer.subscribe(TopicInterest(topic))
    peer.start(contacts)
    environment.outbox.clear()
    return environment, peer


def see(peer: Magnet, *others: Profile) -> None:
    for topic in (1, 2, 3):
        peer.membership.views[topic] = InterestSample(topic, [o for o in others if o.topics >> topic & 1])


def test_with_an_empty_view_a_peer_stands_at_the_hash_of_its_name() -> None:
    _, peer = make()
    assert peer.ring.identifier >> 128 == hash_of_peer(5)


def test_a_peer_asks_the_next_one_if_the_most_similar_does_not_answer() -> None:
    environment, peer = make()
    see(peer, A, B)
    peer._seat.take([])
    assert environment.take(RingJoin) == [(A.peer, RingJoin(0, True))]
    environment.fail(A.peer)
    environment.advance(2.5)
    assert (B.peer, RingJoin(0, True)) in environment.take(RingJoin)


def test_a_peer_stays_whose_most_similar_is_its_predecessor() -> None:
    environment, peer = make()
    see(peer, A, B)
    peer.ring.ring.precede(Contact(A.peer, 77))
    peer._seat.take([])
    assert environment.take(RingJoin) == []


def test_a_peer_is_not_in_its_own_view() -> None:
    environment, peer = make()
    see(peer, profile(5, 1, 2, 3))
    peer._seat.take([])
    assert environment.take(RingJoin) == []


def test_a_peer_moves_when_enough_interests_have_changed_and_tells_its_new_place() -> None:
    environment, peer = make(rejoin_changes=2, round="1 h")
    see(peer, A)
    place = peer.ring.identifier
    peer.subscribe(TopicInterest(4))
    peer.membership.views[4] = InterestSample(4, [])
    environment.advance(3.0)
    assert environment.take(RingJoin) == []
    peer.subscribe(TopicInterest(6))
    peer.membership.views[6] = InterestSample(6, [])
    environment.advance(1.0)
    asked = [sent for sent in environment.outbox if isinstance(sent.message, RingJoin)]
    assert [sent.peer for sent in asked] == [A.peer]
    answer = RingPlace(identifier=99, own=Contact(A.peer, 50), successors=[Contact(B.peer, 200)])
    environment.hand_over(A.peer, answer, asked[0].channel, -asked[0].request)
    assert peer.ring.identifier == 99 != place
    assert peer._describe().identifier == 99


def test_similarity_weighs_topics_alike_or_by_the_rates_that_are_advertised() -> None:
    for similarity, topics, chosen in (("rates", {1: 4.0}, 20), ("plain", {1: 1.0}, 21)):
        environment, peer = make(similarity=similarity)
        peer.subscribe(TopicInterest(1, 4.0))
        see(peer, profile(20, 1, rates=topics), profile(21, 2, 3))
        peer._seat.take([])
        assert [asked for asked, _ in environment.take(RingJoin)] == [chosen]


def test_a_peer_that_knows_nobody_goes_to_its_hash_by_a_contact_and_stays_there() -> None:
    environment, peer = make(7)
    place = hash_of_peer(5) << 128
    peer._seat.take([7])
    (asked,) = [sent for sent in environment.outbox if isinstance(sent.message, RingJoin)]
    assert (asked.peer, asked.message) == (7, RingJoin(place, False))
    assert peer._seat.under_way and not peer.ring.ready
    answer = RingPlace(identifier=place, own=Contact(7, 50), successors=[Contact(8, 200)])
    environment.hand_over(7, answer, asked.channel, -asked.request)
    assert peer.ring.ready and peer.ring.identifier == place
    assert not peer._seat.under_way and peer._seat.taken == 1
    environment.outbox.clear()
    peer._seat.take([7])
    assert environment.take(RingJoin) == [], "who knows nobody stays"


def test_a_peer_begins_to_wait_for_views_when_it_has_joined_the_control_overlay() -> None:
    environment, peer = make(7, view_patience="4 s")
    environment.advance(10.0)
    assert environment.take(RingJoin) == []
    environment.hand_over(7, TManExchange(True, [profile(7)], vec[i64]([0])), channel="control")
    assert peer.control.ready
    environment.advance(2.0)
    assert environment.take(RingJoin) == []
    environment.advance(4.0)
    assert [asked for asked, _ in environment.take(RingJoin)] == [7]


def test_a_peer_without_a_place_at_its_hash_runs_the_algorithm_again() -> None:
    environment, peer = make(7)
    peer._seat.take([7])
    ((asked, join),) = environment.take(RingJoin)
    assert (asked, join.between) == (7, False)
    environment.advance(3.5)
    see(peer, A)
    environment.asked_for_contacts.pop()([8])
    assert environment.take(RingJoin) == [(A.peer, RingJoin(0, True))]
