"""Cyclon exchanges entries with the oldest neighbour, and newcomers take the places of others."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment, Lockstep

from emulator.protocols.gossip.cyclon import Cyclon
from emulator.protocols.gossip.cyclon_parameters import CyclonParameters
from trellis.v1.cyclon import CyclonJoin, CyclonShuffle, CyclonShuffleReply, CyclonWalk, CyclonWelcome


def one(entries: dict[int, int], **fields: Any) -> tuple[FakeEnvironment, Cyclon]:
    """Make peer 0 with these entries in its view, ages by peer."""
    environment = FakeEnvironment(0)
    membership = Cyclon(environment, CyclonParameters.model_validate(fields))
    membership.start([])
    for peer, age in entries.items():
        environment.hand_over(1, CyclonWelcome(peer, age))
    environment.fake.empty_outbox()
    return environment, membership


def view(membership: Any) -> set[int]:
    return set(membership.neighbours()["view"])


def test_a_shuffle_goes_to_the_oldest_entry_which_leaves_the_view() -> None:
    environment, membership = one({1: 3, 2: 9, 3: 0}, view=4, shuffle=3)
    environment.advance(10.0)
    ((peer, shuffle),) = environment.take(CyclonShuffle)
    assert peer == 2
    assert (shuffle.peers[0], shuffle.ages[0]) == (0, 0)
    assert dict(zip(shuffle.peers[1:], shuffle.ages[1:], strict=True)) == {1: 4, 3: 1}
    assert view(membership) == {1, 3}


def test_a_reply_fills_empty_places_and_then_those_of_entries_that_were_sent() -> None:
    environment, membership = one({1: 3, 2: 9, 3: 0, 4: 0}, view=4, shuffle=3)
    environment.advance(6.0)
    (sent,) = environment.fake.empty_outbox()
    kept = {1, 3, 4} - set(sent.message.peers)
    environment.hand_over(2, CyclonShuffleReply([0, 5, 6, 7], [0, 1, 1, 1]), request=-sent.request)
    assert view(membership) == kept | {5, 6, 7}


def test_who_is_asked_answers_with_entries_of_its_own_and_makes_nothing_older() -> None:
    environment, membership = one({1: 3, 2: 9}, view=2, shuffle=2)
    environment.hand_over(7, CyclonShuffle([7, 8], [0, 2]), request=1)
    ((peer, reply),) = environment.take(CyclonShuffleReply)
    assert (peer, dict(zip(reply.peers, reply.ages, strict=True))) == (7, {1: 3, 2: 9})
    assert view(membership) == {7, 8}


def test_a_join_starts_as_many_walks_as_a_view_has_entries() -> None:
    environment, _ = one({1: 0, 2: 0}, view=5, shuffle=2, walk=4)
    environment.hand_over(9, CyclonJoin())
    walks = environment.take(CyclonWalk)
    assert [(walk.newcomer, walk.steps) for _, walk in walks] == [(9, 3)] * 5


def test_where_a_walk_ends_the_newcomer_takes_the_place_of_an_entry_and_gets_that() -> None:
    environment, membership = one({1: 5, 2: 5}, view=2, shuffle=2)
    environment.hand_over(1, CyclonWalk(9, 0))
    ((peer, welcome),) = environment.take(CyclonWelcome)
    assert peer == 9
    assert {welcome.peer} | view(membership) == {1, 2, 9}
    assert (welcome.age, len(view(membership))) == (5, 2)


def test_a_peer_with_room_keeps_its_entries_and_gives_its_own() -> None:
    environment, membership = one({1: 5}, view=2, shuffle=2)
    environment.hand_over(1, CyclonWalk(9, 0))
    ((_, welcome),) = environment.take(CyclonWelcome)
    assert (welcome.peer, welcome.age) == (0, 0)
    assert view(membership) == {1, 9}


def test_views_fill_up_and_forget_who_crashed() -> None:
    parameters = CyclonParameters.model_validate({"view": 8, "shuffle": 4, "period": "1 s"})
    found = Lockstep(lambda environment: Cyclon(environment, parameters), range(50))
    found.start(contacts=1)
    for _ in range(20):
        found.round()
    assert all(len(view(membership)) >= 7 for membership in found.protocols.values())
    found.crash(range(25))
    for _ in range(40):
        found.round()
    assert all(view(membership) <= set(range(25, 50)) for membership in found.protocols.values())
    assert all(view(membership) for membership in found.protocols.values())


def test_a_newcomer_knows_its_introducer_even_if_its_join_is_lost() -> None:
    environment = FakeEnvironment(0)
    membership = Cyclon(environment, CyclonParameters())
    membership.start([4, 5])
    assert [peer for peer, _ in environment.take(CyclonJoin)] == [4]
    environment.advance(6.0)
    assert [peer for peer, _ in environment.take(CyclonShuffle)] == [4]
