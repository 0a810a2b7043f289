"""Newscast: a view of fresh random peers."""

from __future__ import annotations

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profiles import make_profile
from trellis.v1.overlay import Contact, NewscastExchange, Profile

SELF = 50
VIEW = 4


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, 1000 + peer, {})


def newscast(environment: FakeEnvironment, view_size: int = VIEW) -> Newscast:
    own = profile(environment.peer)
    return Newscast(environment, lambda: own, view_size=view_size, period=1.0)


def exchange(ages_ms: dict[int, int], reply: bool = False) -> NewscastExchange:
    return NewscastExchange(
        reply=reply,
        profiles=[profile(peer) for peer in ages_ms],
        ages_ms=vec[i64](ages_ms.values()),
    )


def peers(view: list[Profile]) -> set[int]:
    return {profile.peer for profile in view}


def test_starts_by_asking_each_bootstrap_contact() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([5, 6])
    sent = environment.take(NewscastExchange)
    assert [peer for peer, _ in sent] == [5, 6]
    assert all(not message.reply for _, message in sent)
    assert [told.peer for told in sent[0][1].profiles] == [SELF]


@given(st.dictionaries(st.integers(1, 40), st.integers(0, 60_000), max_size=30))
def test_keeps_the_freshest(ages_ms: dict[int, int]) -> None:
    environment = FakeEnvironment(SELF)
    environment.advance(100.0)
    tested = newscast(environment)
    environment.hand_over(99, exchange(ages_ms))
    kept = peers(tested.view())
    assert len(kept) == min(VIEW, len(ages_ms))
    if kept != ages_ms.keys():
        oldest_kept = max(ages_ms[peer] for peer in kept)
        assert all(ages_ms[peer] >= oldest_kept for peer in ages_ms.keys() - kept)


def test_never_holds_itself() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    environment.hand_over(5, exchange({5: 0, SELF: 0, 7: 100}))
    assert peers(tested.view()) == {5, 7}


def test_answers_a_request_once_and_a_reply_never() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment)
    environment.hand_over(5, exchange({5: 0}))
    ((receiver, answer),) = environment.take(NewscastExchange)
    assert (receiver, answer.reply) == (5, True)
    environment.hand_over(6, exchange({6: 0}, reply=True))
    assert not environment.outbox


def test_an_answer_holds_what_was_known_before_the_request() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment)
    environment.hand_over(5, exchange({5: 0}))
    environment.outbox.clear()
    environment.hand_over(6, exchange({6: 0}))
    ((_, answer),) = environment.take(NewscastExchange)
    assert [told.peer for told in answer.profiles] == [SELF, 5]


def test_exchanges_with_one_peer_of_the_view_each_round() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    tested.start([5])
    environment.hand_over(5, exchange({5: 0, 6: 0, 7: 0}, reply=True))
    partners = set()
    environment.outbox.clear()
    for _ in range(30):
        environment.advance(1.0)
        ((partner, message),) = environment.take(NewscastExchange)
        assert not message.reply
        partners.add(partner)
    assert partners == {5, 6, 7}


def test_tells_how_old_its_knowledge_is() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment)
    environment.hand_over(5, exchange({5: 0, 6: 1500}))
    environment.outbox.clear()
    environment.advance(2.0)
    environment.hand_over(5, exchange({}))
    ((_, answer),) = environment.take(NewscastExchange)
    ages = {told.peer: age for told, age in zip(answer.profiles, answer.ages_ms, strict=True)}
    assert ages == {SELF: 0, 5: 2000, 6: 3500}


def test_asks_the_same_contacts_again_until_one_answers() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([5])
    environment.outbox.clear()
    environment.advance(1.0)
    assert [peer for peer, _ in environment.take(NewscastExchange)] == [5]
    assert not environment.asked_for_contacts


def test_asks_the_bootstrap_service_again_when_all_contacts_are_gone() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    tested.start([5, 6])
    environment.hand_over(5, exchange({5: 0}, reply=True))
    for peer in (5, 6):
        tested.on_unreachable(peer)
    environment.outbox.clear()
    environment.advance(1.0)
    assert not environment.outbox
    (answer,) = environment.asked_for_contacts
    answer([8])
    assert [peer for peer, _ in environment.take(NewscastExchange)] == [8]


def test_a_peer_that_is_alone_keeps_asking_for_others() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([])
    environment.advance(3.0)
    assert len(environment.asked_for_contacts) == 3
    assert not environment.outbox


def test_a_sample_is_drawn_from_the_view() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    environment.hand_over(5, exchange({5: 0, 6: 0, 7: 0}))
    drawn = [tested.sample(2) for _ in range(30)]
    assert all(len(set(sample)) == 2 for sample in drawn)
    assert {peer for sample in drawn for peer in sample} == {5, 6, 7}
    assert sorted(tested.sample(9)) == [5, 6, 7]


class Listener:
    def __init__(self) -> None:
        self.changes: list[tuple[Contact, bool]] = []

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self.changes.append((contact, joined))


def test_listeners_hear_of_who_enters_and_who_leaves_the_view() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment, view_size=1)
    listener = Listener()
    tested.add_listener(listener)
    environment.hand_over(5, exchange({5: 100}))
    environment.hand_over(6, exchange({6: 0}))
    environment.hand_over(6, exchange({6: 0}))
    environment.fail(6)
    five, six = Contact(5, 1005), Contact(6, 1006)
    assert listener.changes == [(five, True), (five, False), (six, True), (six, False)]


def test_a_newer_profile_replaces_the_older_in_the_view() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    newer = make_profile(5, 1, 1, 1005, {3: 1.0})
    environment.hand_over(6, exchange({5: 0}))
    environment.hand_over(6, NewscastExchange(True, [newer], vec[i64]([900])))
    assert tested.view() == [newer]
    environment.hand_over(6, exchange({5: 0}))
    assert tested.view() == [newer]


@pytest.mark.parametrize("rounds", [1, 5])
def test_what_is_told_is_passed_on_by_reference(rounds: int) -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment)
    message = exchange({5: 0})
    for _ in range(rounds):
        environment.hand_over(5, message)
    environment.outbox.clear()
    environment.hand_over(6, exchange({}))
    ((_, answer),) = environment.take(NewscastExchange)
    assert answer.profiles[1] is message.profiles[0]


def test_forgets_who_is_unreachable() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    environment.hand_over(5, exchange({5: 0, 6: 0}))
    tested.on_unreachable(5)
    assert peers(tested.view()) == {6}


def test_views_fill_and_everybody_is_known_to_somebody() -> None:
    world = Lockstep(lambda environment: newscast(environment, view_size=8), range(40))
    world.start()
    for _ in range(10):
        world.round()
    views = {peer: peers(protocol.view()) for peer, protocol in world.protocols.items()}  # type: ignore[attr-defined]
    assert all(len(view) == 8 and peer not in view for peer, view in views.items())
    assert set().union(*views.values()) == set(range(40))


def test_a_crashed_peer_fades_from_all_views() -> None:
    world = Lockstep(lambda environment: newscast(environment, view_size=8), range(30))
    world.start()
    for _ in range(10):
        world.round()
    world.crash([3])
    for _ in range(12):
        world.round()
    assert all(3 not in peers(protocol.view()) for protocol in world.protocols.values())  # type: ignore[attr-defined]
