"""One peer of the small world: routing, heartbeats, and who leaves its table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.gossip.profiles import make_profile, newer
from emulator.identifiers import RING, hash_of_peer
from emulator.messages.message import Message
from emulator.overlays.small_world import Link, SmallWorld
from emulator.overlays.small_world_parameters import SmallWorldParameters
from trellis.v1.overlay import Contact, Goodbye, NewscastExchange, Profile, Routed, TManExchange
from trellis.v1.pubsub import EventData, ProfileExchange, Proposals

SELF = 50
SPACE, distance = RING.size, RING.distance
KEYS = st.integers(0, SPACE - 1)
PEERS = st.sets(st.integers(100, 400), max_size=20)


class Application:
    """Takes note of the upcalls; `passes` says what `forward` answers."""

    def __init__(self) -> None:
        self.passes = True
        self.forwarded: list[tuple[int, Message, int]] = []
        self.delivered: list[tuple[int, Message, Contact, int]] = []
        self.changes: list[tuple[int, bool]] = []

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((key, message, next_hop))
        return self.passes

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        self.delivered.append((key, message, origin, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        assert contact.identifier == hash_of_peer(contact.peer)
        self.changes.append((contact.peer, joined))


def profile(peer: int, version: int = 1, topics: Iterable[int] = (), session: int = 0) -> Profile:
    return make_profile(peer, session, version, hash_of_peer(peer), dict.fromkeys(topics, 1.0))


def contact(peer: int) -> Contact:
    return Contact(peer, hash_of_peer(peer))


class Peer:
    """The overlay under test in its world."""

    def __init__(self, **parameters: Any) -> None:
        self.environment = FakeEnvironment(SELF)
        self.proposals = Proposals()
        self.overlay = SmallWorld(
            self.environment,
            SmallWorldParameters.model_validate({"routing_table": 40, "view": 40} | parameters),
            small_world_links=2,
            proposals=lambda: self.proposals,
        )
        self.application = Application()
        self.overlay.carry(self.application, EventData)
        self.overlay.start([])

    def hear_from(self, peers: Iterable[int], reply: bool = True) -> None:
        for peer in peers:
            self.environment.hand_over(peer, ProfileExchange(reply, profile(peer)))

    def hear_of(self, peers: Iterable[int], age: float = 0.0, teller: int = 999) -> None:
        """Another peer's table says that these were heard from `age` seconds ago."""
        profiles = [profile(peer) for peer in peers]
        ages = vec[i64]([int(age * 1000)] * len(profiles))
        self.environment.hand_over(teller, TManExchange(True, profiles, ages))

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
    return Routed(key, contact(origin), hops, EventData(event=1, topic=2, publisher=3))


def hop_of(overlay: SmallWorld, key: int) -> int | None:
    hop = overlay.next_hop(key)
    assert hop is None or hop.identifier == hash_of_peer(hop.peer)
    return None if hop is None else hop.peer


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
        other.environment.hand_over(300, answer)
    assert len(answers) == 1
    assert not other.environment.outbox


def test_who_sends_a_profile_is_an_incoming_link() -> None:
    tested = knowing([101])
    tested.hear_from([200])
    assert tested.overlay.neighbours()["incoming"] == [200]
    assert {link.profile.peer for link in tested.overlay.links()} == {101, 200}


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
    assert 200 not in tested.overlay.neighbours()["incoming"]


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
    tested.environment.hand_over(leaver, Goodbye())
    assert all(link.profile.peer != leaver for link in tested.overlay.links())
    assert leaver not in tested.table()
    assert hop_of(tested.overlay, hash_of_peer(leaver)) != leaver
    assert ((leaver, False) in tested.application.changes) == (not incoming)


def test_an_unreachable_peer_is_dropped_at_once() -> None:
    tested = knowing([101, 102])
    tested.environment.fail(101)
    assert tested.table() == {102}
    assert hop_of(tested.overlay, hash_of_peer(101)) != 101
    assert (101, False) in tested.application.changes


def test_an_unreachable_peer_does_not_come_back_by_older_hearsay() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.environment.fail(101)
    tested.rounds(1)
    tested.hear_of([101], age=1.5)
    assert 101 not in tested.table()


def test_an_unreachable_peer_comes_back_when_heard_of_later() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.environment.fail(101)
    tested.rounds(2)
    tested.hear_of([101], age=0.5)
    assert 101 in tested.table()


def test_an_unreachable_peer_comes_back_when_it_speaks() -> None:
    tested = knowing([101, 102])
    tested.environment.fail(101)
    tested.rounds(1)
    tested.hear_from([101])
    tested.hear_of([102])
    assert 101 in tested.table()


def test_an_unreachable_peer_leaves_the_random_sample() -> None:
    tested = Peer()
    told = NewscastExchange(True, [profile(101)], vec[i64]([0]))
    tested.environment.hand_over(101, told, channel="newscast")
    tested.environment.fail(101)
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


def link_to(tested: Peer, peer: int) -> Link:
    (link,) = [link for link in tested.overlay.links() if link.profile.peer == peer]
    return link


def test_what_a_neighbour_says_last_is_its_profile() -> None:
    tested = Peer()
    for version, topic in ((1, 5), (2, 6)):
        said = profile(101, version, [topic])
        tested.environment.hand_over(101, ProfileExchange(True, said))
        assert link_to(tested, 101).profile is said


def test_a_newer_profile_in_hearsay_replaces_a_neighbours() -> None:
    tested = knowing([101])
    newer, older = profile(101, 2, session=1), profile(101, 9, session=0)
    for told in (newer, older):
        tested.environment.hand_over(999, TManExchange(True, [told], vec[i64]([0])))
        assert link_to(tested, 101).profile is newer


def test_links_have_a_version_that_changes_with_who_they_are_and_what_they_say() -> None:
    tested = knowing([101])
    version = tested.overlay.links_version

    def changed() -> bool:
        nonlocal version
        before, version = version, tested.overlay.links_version
        return version != before

    heartbeat = ProfileExchange(True, profile(101))
    tested.environment.hand_over(101, heartbeat)
    assert changed()
    tested.environment.hand_over(101, heartbeat)
    tested.environment.hand_over(101, ProfileExchange(True, profile(101)))
    assert not changed()
    tested.environment.hand_over(101, ProfileExchange(True, profile(101), Proposals(hops=vec[i64]([1]))))
    assert changed()
    tested.hear_from([200])
    assert changed()
    assert tested.overlay.neighbours()["incoming"] == [200]
    tested.environment.fail(200)
    assert changed()
    tested.hear_of([201])
    assert changed()
    tested.environment.fail(101)
    assert changed()


def test_what_a_silent_neighbour_said_counts_no_more_after_two_and_a_half_rounds() -> None:
    tested = knowing([101, 102])
    tested.hear_from([101, 102])
    for _ in range(4):
        tested.hear_from([102])
        tested.rounds(1)
    assert link_to(tested, 101).said is None
    assert link_to(tested, 102).said is not None
    version = tested.overlay.links_version
    tested.hear_from([101])
    assert link_to(tested, 101).said is not None
    assert tested.overlay.links_version != version


def test_a_heartbeat_is_the_same_object_as_long_as_it_says_the_same() -> None:
    tested = knowing([101])
    said = []
    for change in (False, False, True, False):
        if change:
            tested.proposals = Proposals(hops=vec[i64]([1]))
        tested.environment.outbox.clear()
        tested.hear_from([101])
        tested.rounds(1)
        ((_, message),) = tested.environment.take(ProfileExchange)
        said.append(message)
    assert said[0] is said[1]
    assert said[1] is not said[2]
    assert said[2] is said[3]
    assert said[3].proposals is tested.proposals
    tested.overlay.describe({4: 1.0})
    tested.rounds(1)
    ((_, message),) = tested.environment.take(ProfileExchange)
    assert message.profile == profile(SELF, 2, [4])


def test_a_dropped_neighbour_counts_as_long_as_it_may_count_on_this_peer() -> None:
    tested = Peer(routing_table=4)
    near = sorted(range(100, 200), key=lambda peer: distance(hash_of_peer(SELF), hash_of_peer(peer)))
    far, close = near[40:44], near[:4]
    tested.hear_of(far)
    tested.hear_from(far)
    tested.hear_of(close)
    dropped = set(far) - tested.table()
    assert dropped
    assert dropped <= set(tested.overlay.neighbours()["incoming"])
    tested.rounds(7)
    assert not dropped & {link.profile.peer for link in tested.overlay.links()}


def test_its_identifier_is_taken_when_it_starts_and_told_in_its_profile() -> None:
    tested = Peer()
    assert tested.environment.fake.identifiers == {"": hash_of_peer(SELF)}
    assert tested.overlay.profile.identifier == tested.overlay.identifier == hash_of_peer(SELF)


def test_a_later_session_has_a_newer_profile() -> None:
    sessions = []
    for session in (0, 4):
        overlay = SmallWorld(FakeEnvironment(3, session=session), SmallWorldParameters(), small_world_links=1)
        sessions.append(overlay.profile)
    assert newer(sessions[1], sessions[0])


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
