"""OPT: coverage, links that full peers refuse, and flooding among subscribers alone."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from fake_environment import FakeEnvironment, Lockstep
from opt_peer import opt, profile

from emulator.compact.bit_sets import bit_set
from emulator.contract.protocol import Event, TopicInterest
from emulator.protocols.pubsub.opt.directory import Directory
from emulator.protocols.pubsub.opt.links import Link
from trellis.v1.opt import (
    DirectoryQuery,
    InterestExchange,
    TopicDirectoryAnswer,
    TopicLinkAnswer,
    TopicLinkHeartbeat,
    TopicLinkRequest,
)
from trellis.v1.overlay import Profile
from trellis.v1.pubsub import Notification

PEERS = 40


TOPICS = 12


def interests() -> dict[int, list[int]]:
    draw = random.Random(3)
    return {peer: sorted(draw.sample(range(TOPICS), 4)) for peer in range(PEERS)}


def settled(rounds: int = 25, **parameters: object) -> Lockstep:
    asked = interests()
    world = Lockstep(lambda each: opt(each, asked[each.peer], **parameters), range(PEERS))
    world.start()
    for _ in range(rounds):
        world.round()
    return world


def links(world: Lockstep) -> dict[int, set[int]]:
    return {peer: set(one.neighbours()["topic"]) for peer, one in world.protocols.items()}


def component(found: Mapping[int, set[int]], members: set[int], start: int) -> set[int]:
    seen, new = {start}, {start}
    while new:
        new = {n for peer in new for n in found[peer] & members} - seen
        seen |= new
    return seen


@pytest.mark.parametrize("knowledge", ["full", "gossip"])
def test_without_a_bound_every_topic_is_one_overlay(knowledge: str) -> None:
    world = settled(knowledge=knowledge)
    found, asked = links(world), interests()
    assert all(peer in found[n] for peer, those in found.items() for n in those)
    for topic in range(TOPICS):
        members = {peer for peer in asked if topic in asked[peer]}
        assert component(found, members, min(members)) == members
        for peer in members:
            assert len(found[peer] & members) >= min(3, len(members) - 1)


def test_random_choice_covers_each_topic_with_links_that_both_ends_count() -> None:
    world = settled(knowledge="full", greedy=0, random=2)
    asked = interests()
    kept: dict[int, dict[int, Link]] = {
        peer: one._links.links  # type: ignore[attr-defined]
        for peer, one in world.protocols.items()
    }
    assert all(link.is_random for those in kept.values() for link in those.values())
    for topic in range(TOPICS):
        members = {peer for peer in asked if topic in asked[peer]}
        for peer in members:
            assert len(kept[peer].keys() & members) >= min(2, len(members) - 1)


def test_greedy_links_do_not_count_as_random_and_random_ones_count_for_both() -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1, 2], greedy=1, random=1)
    environment.hand_over(5, TopicLinkRequest(profile(5, 1, 2), False), request=1)
    environment.hand_over(6, TopicLinkRequest(profile(6, 1), True), request=2)
    assert {peer: link.is_random for peer, link in tested._links.links.items()} == {5: False, 6: True}
    assert tested.gauges()["uncovered_topics"] == 1, "topic 2 lacks a random link"
    environment.fail(5)
    assert tested.gauges()["uncovered_topics"] == 1, "topic 1 has its greedy link by the random one"
    environment.fail(6)
    assert tested.gauges()["uncovered_topics"] == 2


@pytest.mark.parametrize("asked_at_random", [True, False])
def test_the_end_that_is_asked_learns_whether_the_link_is_random(asked_at_random: bool) -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1], greedy=int(not asked_at_random), random=1)
    tested.start([])
    environment.hand_over(5, InterestExchange(True, [profile(5, 1)]))
    environment.outbox.clear()
    environment.advance(1.0)
    (sent,) = [sent for sent in environment.outbox if isinstance(sent.message, TopicLinkRequest)]
    assert isinstance(sent.message, TopicLinkRequest)
    assert sent.message.random == asked_at_random
    environment.hand_over(5, TopicLinkAnswer(profile(5, 1)), request=-sent.request)
    assert tested._links.links[5].is_random == asked_at_random


def test_a_silent_directory_keeps_nobody_from_choosing_or_asking_again() -> None:
    environment = FakeEnvironment(1)
    opt(environment, [1], knowledge="full", directory=0, request_timeout="2 s", retry="1 s").start([])
    (first,) = environment.outbox
    environment.hand_over(0, TopicDirectoryAnswer(1, [profile(5, 1)]), request=-first.request)
    environment.outbox.clear()
    environment.advance(1.0)
    assert [type(sent.message) for sent in environment.outbox] == [DirectoryQuery]
    environment.advance(1.0)
    assert [type(sent.message) for sent in environment.outbox] == [DirectoryQuery], "one question at a time"
    environment.outbox.clear()
    environment.advance(1.0)
    assert [type(sent.message) for sent in environment.outbox] == [TopicLinkRequest], "among those it knows"
    for _ in range(2):
        environment.outbox.clear()
        environment.advance(1.0)
        (query,) = [sent for sent in environment.outbox if isinstance(sent.message, DirectoryQuery)]
        environment.life.notice_unreachable(0, query.request)


def test_who_stops_knows_nobody_any_more() -> None:
    for knowledge in ("gossip", "full"):
        world = settled(3, knowledge=knowledge)
        stopped = world.protocols[5]
        assert stopped._knowledge.candidates()  # type: ignore[attr-defined]
        stopped.stop(True)
        assert not stopped._knowledge.candidates()  # type: ignore[attr-defined]
        if knowledge == "gossip":
            assert not stopped._knowledge._newscast.view()  # type: ignore[attr-defined]


def test_a_full_peer_refuses() -> None:
    world = settled(knowledge="full", degree=4)
    degrees = [len(those) for those in links(world).values()]
    assert max(degrees) == 4
    environment = FakeEnvironment(0)
    tested = opt(environment, [1], degree=1)
    environment.hand_over(5, TopicLinkRequest(profile(5, 1)), request=1)
    environment.hand_over(6, TopicLinkRequest(profile(6, 1)), request=2)
    environment.hand_over(7, TopicLinkRequest(profile(7, 2)), request=3)
    accepted = [answer.profile is not None for _, answer in environment.take(TopicLinkAnswer)]
    assert accepted == [True, False, False]
    assert list(tested.neighbours()["topic"]) == [5]


def test_the_next_peer_is_asked_when_the_last_one_has_answered() -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1, 2, 3], greedy=1, random=0)
    tested.start([])
    known = {5: profile(5, 1), 6: profile(6, 1), 7: profile(7, 1, 2), 8: profile(8, 3)}
    environment.hand_over(5, InterestExchange(True, list(known.values())))
    environment.outbox.clear()
    asked = []
    environment.advance(1.0)
    while requests := [sent for sent in environment.outbox if isinstance(sent.message, TopicLinkRequest)]:
        (sent,) = requests
        environment.outbox.clear()
        refuses = sent.peer == 7
        asked.append(sent.peer)
        answer = TopicLinkAnswer() if refuses else TopicLinkAnswer(known[sent.peer])
        environment.hand_over(sent.peer, answer, request=-sent.request)
    assert asked[0] == 7
    assert sorted(asked[1:]) in ([5, 8], [6, 8])


def test_who_knows_by_a_directory_chooses_when_it_has_answered() -> None:
    environment = FakeEnvironment(1)
    opt(environment, [1], knowledge="full", directory=0).start([])
    (first,) = environment.outbox
    environment.hand_over(0, TopicDirectoryAnswer(1, [profile(5, 1)]), request=-first.request)
    environment.outbox.clear()
    environment.advance(1.0)
    (query,) = environment.outbox
    assert isinstance(query.message, DirectoryQuery)
    environment.outbox.clear()
    environment.hand_over(0, TopicDirectoryAnswer(2, [profile(6, 1)]), request=-query.request)
    (asked,) = environment.outbox
    assert isinstance(asked.message, TopicLinkRequest)


def test_whoever_finds_nobody_to_ask_seeks_again_when_something_changes() -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1, 2], greedy=1, random=0, retry="4 s", stale_after=3)
    tested.start([])

    def asked_in(seconds: int) -> list[int]:
        """Return who is asked; everybody refuses but peer 6."""
        found = []
        for _ in range(seconds):
            environment.outbox.clear()
            environment.advance(1.0)
            for sent in list(environment.outbox):
                if isinstance(sent.message, TopicLinkRequest):
                    found.append(sent.peer)
                    accepts = sent.peer == 6
                    answer = TopicLinkAnswer(profile(6, 1)) if accepts else TopicLinkAnswer()
                    environment.hand_over(sent.peer, answer, request=-sent.request)
        return found

    environment.hand_over(5, InterestExchange(True, [profile(5, 1)]))
    assert asked_in(3) == [5]
    assert asked_in(3) == [5], "after the time for which a refusal counts"
    environment.hand_over(5, InterestExchange(True, [profile(6, 1)]))
    assert asked_in(1) == [6], "a peer that became known"
    assert asked_in(2) == []
    environment.hand_over(5, InterestExchange(True, [profile(7, 2)]))
    assert asked_in(1) == [7]
    again = set(asked_in(6))
    assert 7 in again
    assert again & {5, 6}, "the neighbour was silent and is lost"


def test_an_event_floods_among_its_subscribers_alone() -> None:
    world = settled(knowledge="full")
    asked = interests()
    publisher = next(peer for peer in asked if 7 in asked[peer])
    world.protocols[publisher].publish(Event(1, publisher, 7))  # type: ignore[attr-defined]
    world.sent = []
    world.exchange()
    members = {peer for peer in asked if 7 in asked[peer]}
    got = {peer for peer, each in world.environments.items() if each.delivered}
    assert got - {publisher} == members - {publisher}
    assert {to for _, to, message in world.sent if isinstance(message, Notification)} <= members


def test_a_silent_neighbour_is_dropped_and_replaced() -> None:
    world = settled(knowledge="gossip")
    world.crash(range(0, PEERS, 4))
    for _ in range(20):
        world.round()
    found, asked = links(world), interests()
    assert all(n in found for those in found.values() for n in those)
    for topic in range(TOPICS):
        members = {peer for peer in found if topic in asked[peer]}
        assert component(found, members, min(members)) == members


def test_a_neighbour_that_changes_its_topics_covers_others() -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1, 2], greedy=1, random=0)
    environment.hand_over(5, TopicLinkRequest(profile(5, 1)), request=1)
    assert tested.gauges()["uncovered_topics"] == 1
    environment.hand_over(5, TopicLinkHeartbeat(profile(5, 1, 2)))
    assert tested.gauges()["uncovered_topics"] == 0
    tested.subscribe(TopicInterest(3))
    assert tested.gauges()["uncovered_topics"] == 1


def test_the_directory_tells_what_is_new_and_who_is_gone() -> None:
    directory = Directory(lifetime=5.0)
    assert directory.answer(DirectoryQuery(profile(1, 0)), 0.0).profiles == []  # type: ignore[union-attr]
    first = directory.answer(DirectoryQuery(profile(2, 0, 1)), 1.0)
    assert first is not None
    assert [each.peer for each in first.profiles] == [1]
    directory.answer(DirectoryQuery(profile(3, 1)), 2.0)
    second = directory.answer(DirectoryQuery(profile(2, 0, 1), first.serial), 5.5)
    assert second is not None
    assert ([each.peer for each in second.profiles], second.gone) == ([3], [1])
    third = directory.answer(DirectoryQuery(profile(2, 0, 1), second.serial), 6.0)
    assert third is not None
    assert (third.profiles, third.gone) == ([], [])


def answered(directory: Directory, query: DirectoryQuery, now: float) -> TopicDirectoryAnswer:
    answer = directory.answer(query, now)
    assert answer is not None
    return answer


def test_the_directory_forgets_who_is_long_gone_and_has_each_peer_once() -> None:
    directory = Directory(lifetime=5.0)
    for second in range(200):
        asker = Profile(peer=second % 40, version=second, topics=bit_set([second % 3]))
        directory.answer(DirectoryQuery(asker), float(second))
    assert len(directory._gone) <= 11
    assert sum(len(came) for came in directory._came.values()) == len(directory._profiles) <= 6


def test_a_peer_that_missed_departures_is_told_everything_anew() -> None:
    directory = Directory(lifetime=5.0)
    answered(directory, DirectoryQuery(profile(1, 0)), 0.0)
    first = answered(directory, DirectoryQuery(profile(2, 0)), 0.0)
    for second in range(6, 30, 4):
        answered(directory, DirectoryQuery(profile(3, 0)), float(second))
    back = answered(directory, DirectoryQuery(profile(2, 0), first.serial), 30.0)
    assert (back.anew, [each.peer for each in back.profiles], back.gone) == (True, [3], [])
    after = answered(directory, DirectoryQuery(profile(2, 0), back.serial), 31.0)
    assert (after.anew, after.profiles, after.gone) == (False, [], [])


def test_who_asked_an_earlier_life_of_the_directory_is_told_everything_anew() -> None:
    directory = Directory(lifetime=5.0)
    for peer in (1, 3, 4):
        first = answered(directory, DirectoryQuery(profile(peer, 0)), 1.0)
    back = Directory(lifetime=5.0, session=1)
    answered(back, DirectoryQuery(profile(2, 0)), 2.0)
    again = answered(back, DirectoryQuery(profile(4, 0), first.serial), 3.0)
    assert again.anew
    assert [each.peer for each in again.profiles] == [2]
    assert not answered(back, DirectoryQuery(profile(4, 0), again.serial), 4.0).anew


def test_of_two_full_peers_that_ask_each_other_at_once_each_accepts() -> None:
    environment = FakeEnvironment(0)
    tested = opt(environment, [1], greedy=1, random=0, degree=1)
    tested.start([])
    environment.hand_over(5, InterestExchange(True, [profile(5, 1)]))
    environment.advance(1.0)
    assert [peer for peer, _ in environment.take(TopicLinkRequest)] == [5]
    for other in (6, 5):
        environment.hand_over(other, TopicLinkRequest(profile(other, 1)), request=1)
    answers = {peer: answer.profile is not None for peer, answer in environment.take(TopicLinkAnswer)}
    assert answers == {6: False, 5: True}
    assert list(tested.neighbours()["topic"]) == [5]
