"""One peer of the small world: where it routes to, and its place."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from small_world_peer import SELF, Peer, contact, hop_of, knowing

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from trellis.v1.overlay import Routed
from trellis.v1.pubsub import EventData

SPACE, distance = RING.size, RING.distance
KEYS = st.integers(0, SPACE - 1)
PEERS = st.sets(st.integers(100, 400), max_size=20)


def routed(key: int, hops: int = 3, origin: int = 9) -> Routed:
    return Routed(key, contact(origin), hops, EventData(event=1, topic=2, publisher=3))


@given(PEERS, st.lists(KEYS, min_size=1, max_size=20))
def test_next_hop_is_the_closest_known_peer(known: set[int], keys: list[int]) -> None:
    tested = knowing(known)
    for key in keys * 2:
        hop = hop_of(tested.overlay, key)
        away = distance(hash_of_peer(SELF if hop is None else hop), key)
        assert away == min(distance(hash_of_peer(peer), key) for peer in {SELF, *known})


@given(PEERS)
def test_next_hop_is_right_up_to_the_border_between_two_peers(known: set[int]) -> None:
    tested = knowing(known)
    ring = sorted(hash_of_peer(peer) for peer in {SELF, *known})
    for index, after in enumerate(ring):
        before = ring[index - 1]
        half_way = before + (after - before) % SPACE // 2
        for key in ((half_way + step) % SPACE for step in (-1, 0, 1, 2)):
            hop = hop_of(tested.overlay, key)
            away = distance(hash_of_peer(SELF if hop is None else hop), key)
            assert away == min(distance(identifier, key) for identifier in ring)


@given(PEERS, PEERS, st.lists(KEYS, min_size=1, max_size=10))
def test_next_hop_forgets_who_is_gone(known: set[int], gone: set[int], keys: list[int]) -> None:
    tested = knowing(known)
    for key in keys:
        hop_of(tested.overlay, key)
    for peer in gone:
        tested.environment.fail(peer)
    for key in keys:
        hop = hop_of(tested.overlay, key)
        away = distance(hash_of_peer(SELF if hop is None else hop), key)
        assert away == min(distance(hash_of_peer(peer), key) for peer in {SELF, *(known - gone)})


def test_routes_version_changes_with_the_neighbours() -> None:
    tested = knowing([101, 102])
    versions = [tested.overlay.routes_version]
    tested.hear_of([103])
    versions.append(tested.overlay.routes_version)
    tested.environment.fail(101)
    versions.append(tested.overlay.routes_version)
    assert len(set(versions)) == 3
    tested.hear_of([103])
    assert tested.overlay.routes_version == versions[-1]


def test_routes_to_the_next_hop_and_asks_the_application_first() -> None:
    tested = knowing([101, 102, 103])
    event = EventData(event=1, topic=2, publisher=3)
    tested.overlay.route(hash_of_peer(102), event)
    ((hop, message),) = tested.environment.take(Routed)
    assert hop == 102
    assert (message.key, message.origin, message.hops) == (hash_of_peer(102), contact(SELF), 1)
    assert message.message is event
    assert tested.application.forwarded == [(hash_of_peer(102), event, 102)]


def test_the_forward_upcall_can_stop_a_message() -> None:
    tested = knowing([101, 102, 103])
    tested.application.passes = False
    tested.environment.hand_over(9, routed(hash_of_peer(102)))
    assert len(tested.application.forwarded) == 1
    assert not tested.environment.take(Routed)
    assert not tested.application.delivered


def test_passes_on_and_counts_the_hop() -> None:
    tested = knowing([101, 102, 103])
    tested.environment.hand_over(9, routed(hash_of_peer(102), hops=3, origin=7))
    ((hop, message),) = tested.environment.take(Routed)
    assert (hop, message.hops, message.origin) == (102, 4, contact(7))


def test_a_route_ends_at_the_closest_peer() -> None:
    tested = knowing([101, 102, 103])
    tested.environment.hand_over(9, routed(hash_of_peer(SELF), hops=3, origin=7))
    ((key, message, origin, hops),) = tested.application.delivered
    assert (key, origin, hops) == (hash_of_peer(SELF), contact(7), 3)
    assert message == EventData(event=1, topic=2, publisher=3)
    assert not tested.application.forwarded


def test_its_identifier_is_taken_when_it_starts_and_told_in_its_profile() -> None:
    tested = Peer()
    assert tested.environment.fake.identifiers == {"": hash_of_peer(SELF)}
    assert tested.overlay.profile.identifier == tested.overlay.identifier == hash_of_peer(SELF)


def test_is_ready_when_it_is_the_first_or_has_a_neighbour() -> None:
    assert Peer().overlay.ready
    overlay = SmallWorld(FakeEnvironment(3), SmallWorldParameters(), small_world_links=1)
    overlay.start([5])
    assert not overlay.ready
    assert knowing([101]).overlay.ready


def test_its_neighbour_set_is_the_closest_peers_that_it_knows() -> None:
    tested = knowing(range(100, 120))
    by_distance = sorted(range(100, 120), key=lambda peer: distance(hash_of_peer(SELF), hash_of_peer(peer)))
    assert tested.overlay.neighbour_set(4) == [contact(peer) for peer in by_distance[:4]]
