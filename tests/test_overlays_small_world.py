"""One peer of the small world: routing, heartbeats, and who leaves its table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from fake_environment import FakeEnvironment, hand_over
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from trellis.v1.overlay_pb2 import Goodbye, NewscastExchange, Routed, TManExchange
from trellis.v1.pubsub_pb2 import EventData, ProfileExchange

from emulator.gossip.descriptor import Descriptor
from emulator.identifiers import SPACE, decode, distance, encode, of_peer
from emulator.overlays.small_world import SmallWorld, SmallWorldParameters

SELF = 50
KEYS = st.integers(0, SPACE - 1)
PEERS = st.sets(st.integers(100, 400), max_size=20)


class Application:
    """Takes note of the upcalls; `passes` says what `forward` answers."""

    def __init__(self) -> None:
        self.passes = True
        self.forwarded: list[tuple[int, Message, int]] = []
        self.delivered: list[tuple[int, Message, int, int]] = []
        self.changes: list[tuple[int, bool]] = []

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((key, message, next_hop))
        return self.passes

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        self.delivered.append((key, message, origin, hops))

    def update(self, peer: int, joined: bool) -> None:
        self.changes.append((peer, joined))


class Peer:
    """The overlay under test in its world."""

    def __init__(self, **parameters: Any) -> None:
        self.environment = FakeEnvironment(SELF)
        own = Descriptor.make(SELF, 1, {})
        self.overlay = SmallWorld(
            self.environment,
            SmallWorldParameters.model_validate({"routing_table": 40, "view": 40} | parameters),
            small_world_links=2,
            own=lambda: own,
            make_profile=lambda reply: ProfileExchange(reply=reply, profile=own.encoded, revision=1),
            round_begins=lambda: None,
        )
        self.application = Application()
        self.overlay.application = self.application
        self.overlay.start([])

    def hear_from(self, peers: Iterable[int], revision: int = 1, reply: bool = True) -> None:
        for peer in peers:
            profile = Descriptor.make(peer, revision, {}).encoded
            hand_over(self.overlay, peer, ProfileExchange(reply=reply, profile=profile, revision=revision))

    def hear_of(self, peers: Iterable[int], age: float = 0.0, teller: int = 999) -> None:
        """Another peer's table says that these were heard from `age` seconds ago."""
        profiles = [Descriptor.make(peer, 1, {}).encoded for peer in peers]
        ages = [int(age * 1000)] * len(profiles)
        hand_over(self.overlay, teller, TManExchange(reply=True, profiles=profiles, ages_ms=ages))

    def table(self) -> set[int]:
        kinds = self.overlay.neighbours()
        return {peer for kind, peers in kinds.items() if kind != "incoming" for peer in peers}

    def rounds(self, count: int) -> None:
        self.environment.advance(float(count))

    def sent(self, kind: type[Message]) -> list[int]:
        return sorted(peer for peer, _ in self.environment.take(kind))


def knowing(peers: Iterable[int], **parameters: Any) -> Peer:
    peer = Peer(**parameters)
    peer.hear_of(peers)
    return peer


def routed(key: int, hops: int = 3, origin: int = 9) -> Routed:
    event = EventData(event=1, topic=2, publisher=3)
    payload = event.SerializeToString()
    return Routed(key=encode(key), origin=origin, hops=hops, type="EventData", payload=payload)


@given(PEERS, st.lists(KEYS, min_size=1, max_size=20))
def test_next_hop_is_the_closest_known_peer(known: set[int], keys: list[int]) -> None:
    tested = knowing(known)
    for key in keys * 2:
        hop = tested.overlay.next_hop(key)
        away = distance(of_peer(SELF if hop is None else hop), key)
        assert away == min(distance(of_peer(peer), key) for peer in {SELF, *known})


@given(PEERS)
def test_next_hop_is_right_up_to_the_border_between_two_peers(known: set[int]) -> None:
    tested = knowing(known)
    ring = sorted(of_peer(peer) for peer in {SELF, *known})
    for index, after in enumerate(ring):
        before = ring[index - 1]
        half_way = before + (after - before) % SPACE // 2
        for key in ((half_way + step) % SPACE for step in (-1, 0, 1, 2)):
            hop = tested.overlay.next_hop(key)
            away = distance(of_peer(SELF if hop is None else hop), key)
            assert away == min(distance(identifier, key) for identifier in ring)


@given(PEERS, PEERS, st.lists(KEYS, min_size=1, max_size=10))
def test_next_hop_forgets_who_is_gone(known: set[int], gone: set[int], keys: list[int]) -> None:
    tested = knowing(known)
    for key in keys:
        tested.overlay.next_hop(key)
    for peer in gone:
        tested.overlay.on_unreachable(peer)
    for key in keys:
        hop = tested.overlay.next_hop(key)
        away = distance(of_peer(SELF if hop is None else hop), key)
        assert away == min(distance(of_peer(peer), key) for peer in {SELF, *(known - gone)})


def test_routes_version_changes_with_the_neighbours() -> None:
    tested = knowing([101, 102])
    versions = [tested.overlay.routes_version]
    tested.hear_of([103])
    versions.append(tested.overlay.routes_version)
    tested.overlay.on_unreachable(101)
    versions.append(tested.overlay.routes_version)
    assert len(set(versions)) == 3
    tested.hear_of([103])
    assert tested.overlay.routes_version == versions[-1]


def test_routes_to_the_next_hop_and_asks_the_application_first() -> None:
    tested = knowing([101, 102, 103])
    event = EventData(event=1, topic=2, publisher=3)
    tested.overlay.route(of_peer(102), event)
    ((hop, message),) = tested.environment.take(Routed)
    assert hop == 102
    assert (decode(message.key), message.origin, message.hops) == (of_peer(102), SELF, 1)
    assert EventData.FromString(message.payload) == event
    assert tested.application.forwarded == [(of_peer(102), event, 102)]


def test_the_forward_upcall_can_stop_a_message() -> None:
    tested = knowing([101, 102, 103])
    tested.application.passes = False
    hand_over(tested.overlay, 9, routed(of_peer(102)))
    assert len(tested.application.forwarded) == 1
    assert not tested.environment.take(Routed)
    assert not tested.application.delivered


def test_passes_on_and_counts_the_hop() -> None:
    tested = knowing([101, 102, 103])
    hand_over(tested.overlay, 9, routed(of_peer(102), hops=3, origin=7))
    ((hop, message),) = tested.environment.take(Routed)
    assert (hop, message.hops, message.origin) == (102, 4, 7)


def test_a_route_ends_at_the_closest_peer() -> None:
    tested = knowing([101, 102, 103])
    hand_over(tested.overlay, 9, routed(of_peer(SELF), hops=3, origin=7))
    ((key, message, origin, hops),) = tested.application.delivered
    assert (key, origin, hops) == (of_peer(SELF), 7, 3)
    assert message == EventData(event=1, topic=2, publisher=3)
    assert not tested.application.forwarded


def test_each_round_all_neighbours_get_the_profile() -> None:
    tested = knowing([101, 102, 103])
    tested.environment.outbox.clear()
    tested.rounds(1)
    assert tested.sent(ProfileExchange) == [101, 102, 103]


def test_a_profile_from_a_stranger_is_answered_exactly_once() -> None:
    tested = Peer()
    tested.hear_from([200], reply=False)
    ((receiver, answer),) = tested.environment.take(ProfileExchange)
    assert (receiver, answer.reply) == (200, True)


def test_an_answer_is_not_answered() -> None:
    tested = Peer()
    tested.hear_from([200], reply=True)
    assert not tested.environment.outbox


def test_a_neighbours_heartbeat_is_not_answered() -> None:
    tested = knowing([101])
    tested.environment.outbox.clear()
    tested.hear_from([101], reply=False)
    assert not tested.environment.outbox


def test_two_peers_do_not_play_ping_pong() -> None:
    """One has the other as neighbour, the other does not: a heartbeat causes one answer and no more."""
    one, other = Peer(), Peer()
    one.hear_from([200], reply=False)
    answers = one.environment.take(ProfileExchange)
    for _, answer in answers:
        hand_over(other.overlay, 300, answer)
    assert len(answers) == 1
    assert not other.environment.outbox


def test_who_sends_a_profile_is_an_incoming_link() -> None:
    tested = knowing([101])
    tested.hear_from([200])
    assert tested.overlay.neighbours()["incoming"] == [200]
    assert tested.overlay.links().keys() == {101, 200}


def test_silent_neighbours_are_dropped_after_their_time() -> None:
    tested = knowing([101, 102], stale_after=5)
    for _ in range(5):
        tested.hear_from([101])
        tested.rounds(1)
    assert tested.table() == {101, 102}
    tested.hear_from([101])
    tested.rounds(1)
    assert tested.table() == {101}
    assert (102, False) in tested.application.changes


def test_silent_incoming_links_are_dropped_too() -> None:
    tested = knowing([101], stale_after=5)
    tested.hear_from([200])
    for _ in range(6):
        tested.hear_from([101])
        tested.rounds(1)
    assert 200 not in tested.overlay.links()


def test_a_peer_heard_of_long_ago_is_no_neighbour() -> None:
    tested = Peer(stale_after=5)
    tested.rounds(10)
    tested.hear_of([101], age=6.0)
    tested.hear_of([102], age=4.0)
    assert tested.table() == {102}


@pytest.mark.parametrize("incoming", [False, True])
def test_goodbye_drops_at_once(incoming: bool) -> None:
    tested = knowing([101])
    if incoming:
        tested.hear_from([200])
    leaver = 200 if incoming else 101
    hand_over(tested.overlay, leaver, Goodbye())
    assert leaver not in tested.overlay.links()
    assert leaver not in tested.table()
    assert tested.overlay.next_hop(of_peer(leaver)) != leaver
    assert ((leaver, False) in tested.application.changes) == (not incoming)


def test_an_unreachable_peer_is_dropped_at_once() -> None:
    tested = knowing([101, 102])
    tested.overlay.on_unreachable(101)
    assert tested.table() == {102}
    assert tested.overlay.next_hop(of_peer(101)) != 101
    assert (101, False) in tested.application.changes


def test_an_unreachable_peer_does_not_come_back_by_older_hearsay() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.overlay.on_unreachable(101)
    tested.rounds(1)
    tested.hear_of([101], age=1.5)
    assert 101 not in tested.table()


def test_an_unreachable_peer_comes_back_when_heard_of_later() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.overlay.on_unreachable(101)
    tested.rounds(2)
    tested.hear_of([101], age=0.5)
    assert 101 in tested.table()


def test_an_unreachable_peer_comes_back_when_it_speaks() -> None:
    tested = knowing([101, 102])
    tested.overlay.on_unreachable(101)
    tested.rounds(1)
    tested.hear_from([101])
    tested.hear_of([102])
    assert 101 in tested.table()


def test_an_unreachable_peer_leaves_the_random_sample() -> None:
    tested = Peer()
    profiles = [Descriptor.make(101, 1, {}).encoded]
    hand_over(tested.overlay, 101, NewscastExchange(reply=True, profiles=profiles, ages_ms=[0]))
    tested.overlay.on_unreachable(101)
    tested.rounds(1)
    assert tested.table() == set()
    assert not tested.environment.outbox


def test_a_graceful_stop_says_goodbye_in_both_directions() -> None:
    tested = knowing([101])
    tested.hear_from([200])
    tested.environment.outbox.clear()
    tested.overlay.stop(graceful=True)
    assert tested.sent(Goodbye) == [101, 200]


def test_a_crash_says_nothing() -> None:
    tested = knowing([101])
    tested.environment.outbox.clear()
    tested.overlay.stop(graceful=False)
    assert not tested.environment.outbox


def test_itself_is_never_a_neighbour() -> None:
    tested = knowing([SELF, 101])
    tested.rounds(1)
    assert tested.table() == {101}


@given(st.sets(st.integers(100, 400), max_size=60), st.integers(4, 12))
def test_the_table_is_never_larger_than_asked(known: set[int], size: int) -> None:
    tested = knowing(known, routing_table=size)
    tested.rounds(1)
    assert len(tested.table()) == min(size, len(known))


def test_a_newer_profile_of_a_neighbour_replaces_the_older() -> None:
    tested = Peer()
    own_topics = Descriptor.make(101, 1, {5: 1.0})
    changed = Descriptor.make(101, 2, {6: 1.0})
    for revision, descriptor in enumerate((own_topics, changed)):
        message = ProfileExchange(reply=True, profile=descriptor.encoded, revision=revision)
        hand_over(tested.overlay, 101, message)
        assert tested.overlay.links()[101].descriptor == descriptor
