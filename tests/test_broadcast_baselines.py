"""Flooding, push gossip and anti-entropy: who is sent what, and that all peers get it."""

from __future__ import annotations

from typing import Any

import pytest
from fake_environment import FakeEnvironment, Lockstep

from emulator.contract.protocol import Contact, Event
from emulator.contract.registry import SYSTEMS
from trellis.v1.broadcast import AntiEntropyDigest, AntiEntropyRequest, BroadcastEvent
from trellis.v1.cyclon import CyclonWelcome


def one(system: str, *neighbours: int, **fields: Any) -> tuple[FakeEnvironment, Any]:
    """Make peer 0, whose view of Cyclon has these peers."""
    found = SYSTEMS[system]
    environment = FakeEnvironment(0)
    protocol: Any = found.create(environment, found.parameters.model_validate(fields))
    protocol.start([])
    for peer in neighbours:
        environment.hand_over(1, CyclonWelcome(peer, 0), "membership")
    return environment, protocol


def copy(number: int, hops: int = 1) -> BroadcastEvent:
    return BroadcastEvent(number, 9, hops, b"abc")


def test_flooding_sends_a_new_message_to_all_neighbours_but_the_sender_and_delivers_it_once() -> None:
    environment, protocol = one("flood-cyclon", 1, 2, 3)
    for _ in range(2):
        environment.hand_over(2, copy(5, hops=3))
    assert [(peer, message.hops) for peer, message in environment.take(BroadcastEvent)] == [(1, 4), (3, 4)]
    assert environment.delivered == [Event(5, 9, payload=b"abc", hops=3)]
    protocol.neighbour_changed(Contact(3), False)
    protocol.publish(Event(6, 0, payload=b"x"))
    assert [peer for peer, _ in environment.take(BroadcastEvent)] == [1, 2]


def test_push_gossip_sends_to_a_few_random_peers_in_each_of_its_rounds() -> None:
    environment, _ = one("push-gossip-cyclon", *range(1, 11), fanout=3, rounds=2, period="0.5 s")
    for _ in range(2):
        environment.hand_over(2, copy(5))
    first = {peer for peer, _ in environment.take(BroadcastEvent)}
    environment.advance(0.6)
    second = {peer for peer, _ in environment.take(BroadcastEvent)}
    environment.advance(5.0)
    assert environment.take(BroadcastEvent) == []
    assert len(first) == len(second) == 3
    assert first != second


def test_anti_entropy_tells_a_random_peer_what_it_has() -> None:
    environment, protocol = one("anti-entropy-cyclon", 1)
    protocol.publish(Event(6, 0, payload=b"x"))
    environment.advance(0.6)
    assert environment.take(AntiEntropyDigest) == [(1, AntiEntropyDigest([6], True, True))]


def test_a_digest_is_answered_with_what_its_sender_lacks_and_a_request_for_what_is_new() -> None:
    for pull, push in ((True, True), (True, False), (False, True)):
        environment, protocol = one("anti-entropy-cyclon")
        protocol.publish(Event(6, 0, payload=b"x"))
        environment.hand_over(4, AntiEntropyDigest([7], pull, push))
        sent = [(each.peer, each.message) for each in environment.fake.empty_outbox()]
        pulled = [(4, BroadcastEvent(6, 0, 1, b"x"))] if pull else []
        assert sent == pulled + ([(4, AntiEntropyRequest([7]))] if push else [])


def test_a_request_is_answered_with_the_messages_that_are_still_here() -> None:
    environment, protocol = one("anti-entropy-cyclon", keep="10 s")
    protocol.publish(Event(6, 0, payload=b"x"))
    environment.advance(15.0)
    environment.fake.empty_outbox()
    environment.hand_over(4, AntiEntropyRequest([6, 7]))
    assert environment.take(BroadcastEvent) == [(4, BroadcastEvent(6, 0, 1, b"x"))]
    environment.advance(6.0)
    environment.hand_over(4, AntiEntropyRequest([6]))
    assert environment.take(BroadcastEvent) == []


def test_a_message_is_offered_for_a_time_and_never_delivered_again_after_it() -> None:
    environment, _ = one("anti-entropy-cyclon", keep="10 s")
    environment.hand_over(2, copy(5))
    environment.advance(11.0)
    environment.fake.empty_outbox()
    environment.hand_over(4, AntiEntropyDigest([], True, False))
    assert environment.take(BroadcastEvent) == []
    environment.advance(30.0)
    environment.hand_over(4, AntiEntropyDigest([5], False, True))
    assert environment.take(AntiEntropyRequest) == []
    environment.hand_over(2, copy(5))
    assert len(environment.delivered) == 1


@pytest.mark.parametrize(
    "system", ["flood-hyparview", "flood-cyclon", "push-gossip-newscast", "anti-entropy-cyclon"]
)
def test_all_peers_get_a_message(system: str) -> None:
    found = SYSTEMS[system]
    period = {"membership": {"period": "1 s"}}
    parameters = found.parameters.model_validate(period)
    world = Lockstep(lambda environment: found.create(environment, parameters), range(30))
    world.start(contacts=2)
    for _ in range(10):
        world.round()
    protocols: Any = world.protocols
    protocols[3].publish(Event(0, 3, payload=b"abc"))
    for _ in range(8):
        world.round()
    got = {peer: len(environment.delivered) for peer, environment in world.environments.items()}
    assert got == {peer: int(peer != 3) for peer in range(30)}
