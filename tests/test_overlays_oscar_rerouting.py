"""OSCAR sends a message on once for each time that the network says it failed, and each arrives once."""

from __future__ import annotations

from emulator.contract.identifiers import ClockwiseRing
from emulator.contract.protocol import Lookup
from emulator.protocols.overlays.lookups import Lookups
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.testing.fake_environment import FakeEnvironment
from trellis.v1.oscar import RouteEnd
from trellis.v1.overlay import Contact, LookupRequest, Routed

HOPS = [Contact(1, 10), Contact(2, 20), Contact(3, 30)]
KEY = 25
"""A key on the way to which peer 2 is the next hop, then peer 1, from peer 0 at identifier 0."""


def peer_at_zero() -> tuple[FakeEnvironment, Lookups]:
    """Return peer 0, which knows the other three."""
    environment = FakeEnvironment(0)
    oscar = Oscar(environment.channel("overlay"), RingParameters(), space=ClockwiseRing(8))
    lookups = Lookups(environment, oscar)
    oscar.settle_at(0, [], lambda: None)
    oscar.ring.learn(HOPS)
    oscar.links.out[2] = HOPS[1]
    oscar.ring_changed()
    environment.outbox.clear()
    return environment, lookups


def sent_on(environment: FakeEnvironment) -> list[tuple[int, int]]:
    """Return the receivers of what was routed since the last look, and the numbers of the lookups."""
    found = []
    for peer, routed in environment.take(Routed):
        assert isinstance(routed.message, LookupRequest)
        found.append((peer, routed.message.number))
    return found


def came(number: int, sequence: int, key: int = KEY) -> Routed:
    return Routed(key, Contact(9, 200), 3, LookupRequest(number), sequence)


def hand_over(environment: FakeEnvironment, routed: Routed) -> None:
    environment.hand_over(3, routed, "overlay", request=7)


def test_what_had_arrived_is_not_sent_again_when_the_next_hop_goes_later() -> None:
    environment, _ = peer_at_zero()
    hand_over(environment, came(1, 1))
    assert sent_on(environment) == [(2, 1)]
    environment.fail(2)
    environment.advance(0.0)
    assert sent_on(environment) == []


def test_what_failed_and_what_went_the_same_way_after_it_goes_another_way() -> None:
    environment, _ = peer_at_zero()
    requests = []
    for number in (1, 2, 3):
        hand_over(environment, came(number, number))
        requests.append(environment.outbox[-1].request)
        environment.advance(0.1)
    environment.take(Routed)
    environment.life.notice_unreachable(2, requests[1])
    environment.advance(0.0)
    assert sorted(sent_on(environment)) == [(1, 2), (1, 3)]
    environment.life.notice_unreachable(2, requests[2])
    environment.advance(0.0)
    assert sent_on(environment) == []


def test_a_second_copy_of_a_message_ends_at_its_home_without_a_delivery() -> None:
    environment, _ = peer_at_zero()
    for _ in range(2):
        hand_over(environment, came(1, 1, key=0))
    assert environment.take(RouteEnd) == [(9, RouteEnd(1))] * 2
    assert environment.delivered == [Lookup(1, 9, 0, 3)]


def test_an_origin_sends_its_message_again_until_it_has_word_that_it_is_home() -> None:
    environment, lookups = peer_at_zero()
    lookups.lookup(1, KEY)
    lookups.lookup(2, KEY)
    (_, first), (_, second) = environment.take(Routed)
    assert first.sequence != second.sequence
    environment.hand_over(3, RouteEnd(first.sequence), "overlay")
    environment.advance(5.0)
    assert environment.take(Routed) == [(2, second)]
    environment.advance(60.0)
    assert sent_on(environment) == [(2, 2)]


def test_an_origin_that_is_the_home_sends_nothing_again() -> None:
    environment, lookups = peer_at_zero()
    lookups.lookup(1, 0)
    environment.advance(20.0)
    assert sent_on(environment) == []
    assert environment.delivered == [Lookup(1, 0, 0, 0)]


def test_messages_of_a_peer_that_came_back_are_not_taken_for_those_of_its_earlier_life() -> None:
    environment = FakeEnvironment(0, session=1)
    oscar = Oscar(environment.channel("overlay"), RingParameters(), space=ClockwiseRing(8))
    lookups = Lookups(environment, oscar)
    oscar.settle_at(0, [], lambda: None)
    oscar.ring.learn(HOPS)
    lookups.lookup(1, KEY)
    assert environment.take(Routed)[0][1].sequence > 1 << 20


def test_who_is_not_on_the_ring_refuses_what_comes_for_its_earlier_life() -> None:
    environment = FakeEnvironment(0, session=1)
    oscar = Oscar(environment.channel("overlay"), RingParameters(), space=ClockwiseRing(8))
    Lookups(environment, oscar)
    oscar.settle_at(0, [5], lambda: None)
    environment.outbox.clear()
    hand_over(environment, came(1, 1, key=0))
    assert environment.delivered == []
    assert environment.take(RouteEnd) == [(3, RouteEnd(0))]


def test_what_is_refused_goes_another_way_and_who_refused_is_no_neighbour_any_more() -> None:
    environment, _ = peer_at_zero()
    hand_over(environment, came(1, 1))
    request = environment.outbox[-1].request
    assert sent_on(environment) == [(2, 1)]
    environment.hand_over(2, RouteEnd(0), "overlay", request=-request)
    assert sent_on(environment) == [(1, 1)]


def test_an_own_message_waits_until_its_peer_is_on_the_ring() -> None:
    environment = FakeEnvironment(0)
    oscar = Oscar(environment.channel("overlay"), RingParameters(), space=ClockwiseRing(8))
    lookups = Lookups(environment, oscar)
    lookups.lookup(1, 0)
    environment.advance(1.0)
    assert environment.delivered == []
    oscar.settle_at(0, [], lambda: None)
    environment.advance(0.0)
    assert environment.delivered == [Lookup(1, 0, 0, 0)]
    environment.advance(20.0)
    assert len(environment.delivered) == 1
