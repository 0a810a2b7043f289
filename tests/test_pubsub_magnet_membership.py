"""Interest-aware membership: samples go up the trees, views down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from fake_environment import FakeEnvironment, Lockstep
from magnet_world import FixedControl

from emulator.contract.protocol import Component, Contact
from emulator.messages.message import Message
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.pubsub.magnet.membership import InterestMembership
from emulator.protocols.pubsub.scribe.parameters import ScribeParameters
from trellis.v1.magnet import InterestSample, InterestsDown, InterestsUp
from trellis.v1.overlay import Profile

TOPIC = 3
ROUND = 5.0
SAMPLES = 3


class Chain(FixedControl):
    """An overlay in which each peer sends all on to the one before it; peer 0 is the home of everything."""

    def next_hop(self, key: int) -> Contact | None:
        before = self.environment.peer - 1
        return Contact(before, before) if before >= 0 else None


class Member(Component):
    """A peer's membership alone."""

    def __init__(self, environment: FakeEnvironment) -> None:
        super().__init__(environment)
        self.wanted: set[int] = set()
        self.membership = InterestMembership(
            environment.channel("membership"),
            Chain(environment.channel("control"), home=0),
            ScribeParameters(),
            SAMPLES,
            ROUND,
            self.wanted,
        )

    def start(self, contacts: Sequence[int]) -> None:
        self.membership.start()

    def stop(self, graceful: bool) -> None:
        self.membership.stop(graceful)

    def subscribe(self) -> None:
        self.wanted.add(TOPIC)
        self.membership.join(TOPIC)
        self.membership.tell(profile(self.environment.peer))

    def leave(self) -> None:
        self.wanted.discard(TOPIC)
        self.membership.leave(TOPIC)
        self.membership.tell(None)


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, peer, {TOPIC: 1.0})


class World:
    """Peers in a chain."""

    def __init__(self, peers: int) -> None:
        self.lockstep = Lockstep(Member, range(peers))
        self.lockstep.start()

    def member(self, peer: int) -> Member:
        found = self.lockstep.protocols[peer]
        assert isinstance(found, Member)
        return found

    def pass_time(self, seconds: int) -> list[Message]:
        """Let the time pass and return the messages that were sent meanwhile."""
        sent = []
        for _ in range(seconds):
            self.lockstep.round(1.0)
            sent += [message for _, _, message in self.lockstep.sent]
        return sent

    def seen(self, peer: int) -> set[int]:
        view = self.member(peer).membership.views.get(TOPIC)
        return set() if view is None else {profile.peer for profile in view.interests}


def test_within_one_round_all_know_a_newcomer_that_is_several_layers_below_the_home() -> None:
    world = World(6)
    for peer in (2, 5):
        world.member(peer).subscribe()
    world.pass_time(5 + int(ROUND) + 1)
    for peer in (2, 5):
        assert world.seen(peer) == {2, 5}


def test_a_peer_that_leaves_is_in_no_view_any_more() -> None:
    world = World(4)
    for peer in (1, 2, 3):
        world.member(peer).subscribe()
    world.pass_time(15)
    assert world.seen(1) == {1, 2, 3}
    world.member(3).leave()
    world.pass_time(15)
    assert world.seen(1) == {1, 2}


def test_who_comes_back_is_in_the_views_again() -> None:
    world = World(4)
    for peer in (1, 3):
        world.member(peer).subscribe()
    world.pass_time(15)
    world.member(3).leave()
    world.pass_time(15)
    assert world.seen(1) == {1}
    world.member(3).subscribe()
    world.pass_time(15)
    assert world.seen(1) == world.seen(3) == {1, 3}


def test_a_view_has_no_more_interests_than_it_may() -> None:
    world = World(8)
    for peer in range(8):
        world.member(peer).subscribe()
    world.pass_time(30)
    assert len(world.seen(0)) == SAMPLES
    assert all(world.seen(peer) == world.seen(0) for peer in range(8))


def test_a_sample_is_cut_to_a_uniform_choice() -> None:
    member = Member(FakeEnvironment(0, seed=1))
    membership = member.membership
    member.subscribe()
    below = range(1, 10)
    membership._below[TOPIC] = {peer: InterestSample(TOPIC, [profile(peer)]) for peer in below}
    drawn = Counter(one.peer for _ in range(3000) for one in membership._take_sample(TOPIC, below).interests)
    assert sum(drawn.values()) == 3000 * SAMPLES
    # 900 times each of ten, with a standard deviation of 25.
    assert sorted(drawn) == list(range(10))
    assert all(count == pytest.approx(900, abs=100) for count in drawn.values())


def test_a_view_is_one_object_for_all_peers_of_a_host() -> None:
    world = World(6)
    for peer in (1, 2, 4, 5):
        world.member(peer).subscribe()
    world.pass_time(15)
    views = [world.member(peer).membership.views[TOPIC] for peer in range(6)]
    assert len(views[0].interests) == SAMPLES
    assert all(view is views[0] for view in views)


def test_a_peer_knows_others_from_its_views_and_never_itself() -> None:
    world = World(3)
    for peer in (1, 2):
        world.member(peer).subscribe()
    world.pass_time(15)
    assert set(world.member(1).membership.known()) == {2}
    assert world.member(1).membership.subscriber(TOPIC) == 2


def test_nothing_is_sent_where_nothing_is_new() -> None:
    world = World(5)
    for peer in (1, 4):
        world.member(peer).subscribe()
    world.pass_time(20)
    assert not [m for m in world.pass_time(20) if isinstance(m, InterestsUp | InterestsDown)]


def test_a_new_child_has_the_view_within_a_second() -> None:
    world = World(4)
    world.member(1).subscribe()
    world.pass_time(15)
    world.member(3).wanted.add(TOPIC)
    world.member(3).membership.join(TOPIC)
    world.pass_time(3)
    assert world.seen(3) == {1}
