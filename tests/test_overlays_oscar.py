"""OSCAR: partitions between nested medians, places on the ring, and routes that go clockwise."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.contract.identifiers import ClockwiseRing, hash_of_peer, skewed
from emulator.contract.protocol import Lookup
from emulator.protocols.overlays.lookups import Lookups
from emulator.protocols.overlays.oscar.overlay import OSCAR, Oscar
from emulator.protocols.overlays.oscar.parameters import OscarParameters, RingParameters
from emulator.protocols.overlays.oscar.partitions import Candidate, Partitions
from emulator.protocols.overlays.oscar.routes import ClockwiseRoutes
from trellis.v1.oscar import LinkReply, LongLinkRequest, RingJoin, RingLeave, RingPlace
from trellis.v1.overlay import Contact, Routed

PEERS = 40
HUNDREDTHS = ClockwiseRing(160)


def partitions_of_sixteen() -> Partitions:
    """Return the partitions as peer 0 sees fifteen others, at one step each, with exact medians."""
    partitions = Partitions()
    reach = 16
    while reach > 1:
        found = [(n, Candidate(Contact(n, n), 0, None)) for n in range(1, reach)]
        reach = partitions.split(found)
    return partitions


def test_sixteen_peers_have_partitions_of_8_4_2_and_1() -> None:
    assert partitions_of_sixteen().sizes() == [8, 4, 2, 1]


def test_a_link_goes_to_a_peer_of_a_uniform_partition() -> None:
    rng = random.Random(1)
    drawn: Counter[int] = Counter()
    for _ in range(4000):
        candidate = partitions_of_sixteen().draw(rng)
        assert candidate is not None
        drawn[candidate.contact.peer] += 1
    for peers, share in (([1], 1 / 4), ([2, 3], 1 / 8), (range(4, 8), 1 / 16), (range(8, 16), 1 / 32)):
        for peer in peers:
            assert drawn[peer] / 4000 == pytest.approx(share, abs=0.03)


def test_of_two_candidates_the_one_with_fewer_links_is_taken() -> None:
    partitions = Partitions()
    partitions.split([(5, Candidate(Contact(1, 5), 9, None)), (5, Candidate(Contact(2, 5), 3, None))])
    for seed in range(10):
        candidate = partitions.draw(random.Random(seed))
        assert candidate is not None
        assert candidate.contact.peer == 2
        partitions._of[0].append(candidate)


def test_routes_take_the_last_peer_before_the_key_and_never_one_behind_it() -> None:
    routes = ClockwiseRoutes(ClockwiseRing(4))
    routes.rebuild(14, [Contact(n, n) for n in (15, 0, 2, 6)])
    assert [getattr(routes.last_before(key), "peer", None) for key in (14, 15, 1, 2, 5, 13)] == [
        *(None, 15, 0, 2, 2, 6)
    ]
    assert [routes.end_of(Contact(n, n)) for n in (15, 0, 2, 6)] == [0, 2, 6, 14]
    assert routes.end_of(Contact(2, 3)) is None


class Ring:
    """Peers that stand where the test says, driven by hand; places in hundredths of the ring."""

    def __init__(self, **places: float) -> None:
        self.environments = {name: FakeEnvironment(number) for number, name in enumerate(places)}
        self.oscars = {
            name: Oscar(environment, RingParameters(), space=HUNDREDTHS)
            for name, environment in self.environments.items()
        }
        contacts = {
            name: Contact(number, round(place * HUNDREDTHS.size))
            for number, (name, place) in enumerate(places.items())
        }
        for name, oscar in self.oscars.items():
            oscar.settle_at(contacts[name].identifier, [], lambda: None)
            oscar.ring.learn(contacts.values())

    def ask(self, name: str, newcomer: int) -> RingPlace:
        environment = self.environments[name]
        environment.hand_over(newcomer, RingJoin(0, True), request=1)
        place = environment.outbox.pop().message
        assert isinstance(place, RingPlace)
        return place


def hundredths(place: RingPlace) -> float:
    return round(place.identifier / HUNDREDTHS.size, 3)


def test_a_newcomer_stands_half_way_to_the_successor_also_across_zero() -> None:
    assert hundredths(Ring(A=0.10, B=0.40, C=0.80).ask("A", 9)) == 0.25
    assert hundredths(Ring(A=0.10, B=0.40, C=0.80).ask("C", 9)) == 0.95
    assert hundredths(Ring(B=0.40, C=0.80).ask("B", 9)) == 0.60
    assert hundredths(Ring(B=0.40, C=0.80).ask("C", 9)) == 0.10


def test_a_peer_alone_is_its_own_successor() -> None:
    assert hundredths(Ring(A=0.10).ask("A", 9)) == 0.60


def test_two_newcomers_behind_one_peer_never_get_the_same_place() -> None:
    ring = Ring(A=0.10, B=0.40)
    assert [hundredths(ring.ask("A", newcomer)) for newcomer in (8, 9)] == [0.25, 0.175]


def test_where_a_gap_is_used_up_the_newcomer_is_sent_on_to_the_next_peer() -> None:
    ring = Ring(A=0.10, B=0.40)
    oscar = ring.oscars["A"]
    oscar.ring.learn([Contact(7, oscar.identifier + 1)])
    place = ring.ask("A", 9)
    assert place.own is None
    assert place.closer == Contact(7, oscar.identifier + 1)


def test_a_wave_of_joins_behind_one_peer_uses_a_bit_of_its_gap_each() -> None:
    ring = Ring(A=0.10, B=0.60)
    places = [ring.ask("A", newcomer).identifier for newcomer in range(10, 110)]
    assert len(set(places)) == 100
    assert all(one > other for one, other in pairwise(places))


def test_who_moves_behind_its_successor_keeps_the_new_place_when_it_leaves_the_old_one() -> None:
    ring = Ring(A=0.10, B=0.40, C=0.80)
    assert hundredths(ring.ask("B", 0)) == 0.60
    left = RingLeave(identifier=ring.oscars["A"].identifier)
    ring.environments["B"].hand_over(0, left)
    assert hundredths(ring.ask("B", 9)) == 0.50


def test_a_peer_refuses_links_beyond_twice_its_own() -> None:
    environment = FakeEnvironment(0)
    oscar = Oscar(environment, RingParameters(long_links=3), space=HUNDREDTHS)
    oscar.settle_at(1, [], lambda: None)
    for sender in range(1, 9):
        environment.hand_over(sender, LongLinkRequest(Contact(sender, sender)), request=sender)
    replies = [sent.message for sent in environment.outbox if isinstance(sent.message, LinkReply)]
    assert [reply.accepted for reply in replies] == [True] * 6 + [False] * 2
    environment.hand_over(3, LongLinkRequest(Contact(3, 3)), request=20)
    assert environment.outbox[-1].message == LinkReply(True, 1)


def network(seed: int, identifiers: str = "hashed") -> Lockstep:
    parameters = OscarParameters.model_validate(
        {"long_links": 5, "successors": 4, "identifiers": identifiers, "rewire": "10 s"}
    )

    def make(environment: FakeEnvironment) -> Lookups:
        return Lookups(environment, OSCAR.create(environment.channel("overlay"), parameters))

    world = Lockstep(make, range(PEERS), seed)
    world.start()
    for _ in range(30):
        world.round()
        for environment in world.environments.values():
            while environment.asked_for_contacts:
                environment.asked_for_contacts.pop()([0, 1, 2])
    return world


def oscar_at(world: Lockstep, peer: int) -> Oscar:
    found = world.environments[peer].life.channels["overlay"].component
    assert isinstance(found, Oscar)
    return found


def assert_ring_is_whole(world: Lockstep) -> None:
    order = sorted(world.protocols, key=lambda peer: oscar_at(world, peer).identifier)
    for peer, following in pairwise([*order, order[0]]):
        assert oscar_at(world, peer).ring.successors[0].peer == following
        before = oscar_at(world, following).ring.predecessor
        assert before is not None
        assert before.peer == peer


@settings(deadline=None, max_examples=3)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["hashed", "skewed"]))
def test_lookups_end_at_the_successor_of_the_key_before_and_after_crashes(
    seed: int, identifiers: str
) -> None:
    world = network(seed, identifiers)
    rng = random.Random(seed)
    assert_ring_is_whole(world)
    world.crash(rng.sample(range(PEERS), PEERS // 4))
    for _ in range(15):
        world.round()
    assert_ring_is_whole(world)
    places = {oscar_at(world, peer).identifier: peer for peer in world.protocols}
    for _ in range(20):
        key = rng.getrandbits(128)
        if identifiers == "skewed":
            key = skewed(key)
        home = places[min(places, key=lambda place: (place - key) % 2**128)]
        protocol = world.protocols[rng.choice(list(world.protocols))]
        assert isinstance(protocol, Lookups)
        protocol.lookup(1, key)
        world.exchange(only=[Routed])
        ends = [(peer, e.delivered[0]) for peer, e in world.environments.items() if e.delivered]
        for environment in world.environments.values():
            environment.delivered.clear()
        assert [peer for peer, _ in ends] == [home]
        assert isinstance(ends[0][1], Lookup)


@settings(deadline=None, max_examples=3)
@given(st.integers(0, 2**32 - 1))
def test_where_nobody_is_on_the_ring_any_more_it_is_begun_anew_and_is_one(seed: int) -> None:
    def make(environment: FakeEnvironment) -> Lookups:
        parameters = OscarParameters.model_validate({"long_links": 5, "successors": 4, "rewire": "10 s"})
        return Lookups(environment, OSCAR.create(environment.channel("overlay"), parameters))

    world = Lockstep(make, range(PEERS), seed)
    rng = random.Random(seed)
    for peer, protocol in world.protocols.items():
        protocol.start([(peer + 1) % PEERS])
    for _ in range(40):
        world.round()
        for environment in world.environments.values():
            while environment.asked_for_contacts:
                environment.asked_for_contacts.pop()(rng.sample(range(PEERS), 3))
    assert_ring_is_whole(world)


def test_a_peer_that_confirms_its_place_changes_nothing_where_it_is_known() -> None:
    world = network(5)
    oscar = oscar_at(world, 0)
    before = oscar.ring.predecessor
    assert before is not None
    neighbours = {peer: list(oscar_at(world, peer).ring.successors) for peer in world.protocols}
    for peer in range(1, PEERS):
        oscar._confirming._ask([peer])
        world.exchange(only=[RingJoin, RingPlace])
        assert oscar.ring.predecessor == before
        for other in world.protocols:
            assert oscar_at(world, other).ring.successors == neighbours[other]


def test_a_peer_that_is_nobodys_successor_asks_for_its_place() -> None:
    world = network(5)
    oscar = oscar_at(world, 0)
    before = oscar.ring.predecessor
    assert before is not None
    oscar_at(world, before.peer).ring.drop(0)
    oscar.ring.drop(before.peer)
    for _ in range(4):
        oscar._confirming.round()
    assert not world.environments[0].asked_for_contacts
    oscar._confirming.round()
    world.environments[0].asked_for_contacts.pop()([9])
    world.exchange(only=[RingJoin, RingPlace])
    assert oscar.ring.predecessor == before
    assert oscar_at(world, before.peer).ring.successors[0].peer == 0


@settings(deadline=None, max_examples=3)
@given(st.integers(0, 2**32 - 1))
def test_the_ring_is_whole_and_no_place_given_twice_after_peers_have_moved(seed: int) -> None:
    world = network(seed)
    rng = random.Random(seed)
    for peer in rng.sample(range(PEERS), PEERS):
        behind = oscar_at(
            world, rng.choice([oscar_at(world, peer).ring.successors[0].peer, rng.randrange(PEERS)])
        )
        oscar_at(world, peer).settle_behind(behind.environment.peer, lambda: None, lambda: None)
        if rng.random() < 0.3:
            world.exchange(only=[RingJoin, RingPlace, RingLeave])
    for _ in range(15):
        world.round()
    assert_ring_is_whole(world)
    assert len({oscar_at(world, peer).identifier for peer in world.protocols}) == PEERS


def test_of_two_peers_that_were_given_the_same_place_one_goes_behind_the_other() -> None:
    world = network(3)
    oscar = oscar_at(world, 0)
    other = oscar_at(world, oscar.ring.successors[2].peer)
    other.take_place(
        RingPlace(identifier=oscar.identifier, own=oscar.ring.predecessor, successors=oscar.ring.successors)
    )
    for _ in range(10):
        world.round()
    assert other.identifier != oscar.identifier
    assert_ring_is_whole(world)


def test_one_lost_answer_ends_neither_the_ring_nor_a_link() -> None:
    world = network(3)
    oscar = oscar_at(world, 0)
    environment = world.environments[0]
    successor, links = oscar.ring.successors[0], dict(oscar.links.out)
    oscar._check_links()
    oscar._stabilising.round()
    environment.outbox.clear()
    environment.advance(2.1)
    assert oscar.ring.successors[0] == successor
    assert oscar.links.out == links
    world.exchange()
    environment.outbox.clear()
    oscar._check_links()
    for _ in range(3):
        environment.outbox.clear()
        environment.advance(2.1)
    assert not set(oscar.links.out) & set(links)
    assert successor not in oscar.ring.successors


def test_long_links_are_as_many_as_asked_for_and_no_peer_has_too_many() -> None:
    world = network(7)
    assert all(len(oscar_at(world, peer).links.out) == 5 for peer in world.protocols)
    assert max(len(oscar_at(world, peer).links.incoming) for peer in world.protocols) <= 10


def test_skewed_identifiers_keep_the_order_and_differ() -> None:
    hashes = sorted(hash_of_peer(peer) for peer in range(10_000))
    places = [skewed(one) for one in hashes]
    assert places == sorted(set(places))
    assert places[5000] < 2**90
    assert 2**48 <= places[0] <= places[-1] < 2**128
