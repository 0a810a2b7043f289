"""Newscast: a view of fresh random peers."""

from __future__ import annotations

from collections.abc import Iterable

from fake_environment import FakeEnvironment, Lockstep, hand_over
from hypothesis import given
from hypothesis import strategies as st
from trellis.v1.overlay_pb2 import NewscastExchange

from emulator.gossip.descriptor import Descriptor, decode
from emulator.gossip.newscast import Newscast
from emulator.protocol import Contact

SELF = 50
VIEW = 4


def newscast(environment: FakeEnvironment, view_size: int = VIEW) -> Newscast:
    own = Descriptor.make(environment.self_contact.peer, 1, {})
    return Newscast(environment, lambda: own, view_size=view_size, period=1.0)


def exchange(ages_ms: dict[int, int], reply: bool = False) -> NewscastExchange:
    return NewscastExchange(
        reply=reply,
        profiles=[Descriptor.make(peer, 1, {}).encoded for peer in ages_ms],
        ages_ms=list(ages_ms.values()),
    )


def peers(view: Iterable[tuple[float, Descriptor]]) -> set[int]:
    return {descriptor.peer for _, descriptor in view}


def test_starts_by_asking_each_bootstrap_contact() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([Contact(5), Contact(6)])
    sent = environment.take(NewscastExchange)
    assert [peer for peer, _ in sent] == [5, 6]
    assert all(not message.reply for _, message in sent)
    assert [decode(profile).peer for profile in sent[0][1].profiles] == [SELF]


@given(st.dictionaries(st.integers(1, 40), st.integers(0, 60_000), max_size=30))
def test_keeps_the_freshest(ages_ms: dict[int, int]) -> None:
    environment = FakeEnvironment(SELF)
    environment.now = 100.0
    tested = newscast(environment)
    hand_over(tested, 99, exchange(ages_ms))
    kept = peers(tested.sample())
    assert len(kept) == min(VIEW, len(ages_ms))
    if kept != ages_ms.keys():
        oldest_kept = max(ages_ms[peer] for peer in kept)
        assert all(ages_ms[peer] >= oldest_kept for peer in ages_ms.keys() - kept)


def test_never_holds_itself() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    hand_over(tested, 5, exchange({5: 0, SELF: 0, 7: 100}))
    assert peers(tested.sample()) == {5, 7}


def test_answers_a_request_once_and_a_reply_never() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    hand_over(tested, 5, exchange({5: 0}))
    ((receiver, answer),) = environment.take(NewscastExchange)
    assert (receiver, answer.reply) == (5, True)
    hand_over(tested, 6, exchange({6: 0}, reply=True))
    assert not environment.outbox


def test_an_answer_holds_what_was_known_before_the_request() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    hand_over(tested, 5, exchange({5: 0}))
    environment.outbox.clear()
    hand_over(tested, 6, exchange({6: 0}))
    ((_, answer),) = environment.take(NewscastExchange)
    assert [decode(profile).peer for profile in answer.profiles] == [SELF, 5]


def test_exchanges_with_one_peer_of_the_view_each_round() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    tested.start([Contact(5)])
    hand_over(tested, 5, exchange({5: 0, 6: 0, 7: 0}, reply=True))
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
    tested = newscast(environment)
    hand_over(tested, 5, exchange({5: 0, 6: 1500}))
    environment.outbox.clear()
    environment.advance(2.0)
    hand_over(tested, 5, exchange({}))
    ((_, answer),) = environment.take(NewscastExchange)
    ages = {decode(profile).peer: age for profile, age in zip(answer.profiles, answer.ages_ms, strict=True)}
    assert ages == {SELF: 0, 5: 2000, 6: 3500}


def test_asks_the_same_contacts_again_until_one_answers() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([Contact(5)])
    environment.outbox.clear()
    environment.advance(1.0)
    assert [peer for peer, _ in environment.take(NewscastExchange)] == [5]
    assert not environment.asked_for_contacts


def test_asks_the_bootstrap_service_again_when_all_contacts_are_gone() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    tested.start([Contact(5), Contact(6)])
    hand_over(tested, 5, exchange({5: 0}, reply=True))
    for peer in (5, 6):
        tested.on_unreachable(peer)
    environment.outbox.clear()
    environment.advance(1.0)
    assert not environment.outbox
    (answer,) = environment.asked_for_contacts
    answer([Contact(8)])
    assert [peer for peer, _ in environment.take(NewscastExchange)] == [8]


def test_a_peer_that_is_alone_keeps_asking_for_others() -> None:
    environment = FakeEnvironment(SELF)
    newscast(environment).start([])
    environment.advance(3.0)
    assert len(environment.asked_for_contacts) == 3
    assert not environment.outbox


def test_forgets_who_is_unreachable() -> None:
    environment = FakeEnvironment(SELF)
    tested = newscast(environment)
    hand_over(tested, 5, exchange({5: 0, 6: 0}))
    tested.on_unreachable(5)
    assert peers(tested.sample()) == {6}


def test_views_fill_and_everybody_is_known_to_somebody() -> None:
    world = Lockstep(lambda environment: newscast(environment, view_size=8), range(40))
    world.start()
    for _ in range(10):
        world.round()
    views = {peer: peers(protocol.sample()) for peer, protocol in world.protocols.items()}  # type: ignore[attr-defined]
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
    assert all(3 not in peers(protocol.sample()) for protocol in world.protocols.values())  # type: ignore[attr-defined]
