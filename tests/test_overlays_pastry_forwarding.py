"""Hop by hop: acknowledgements, time-outs, ways around a silent hop, no delivery twice."""

from __future__ import annotations

from collections.abc import Sequence

from pastry_hop import MINE, OTHERS, Peer, routed

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Component
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, Routed
from trellis.v1.pastry import HopAck, JoinRequest, Ping, Pong


def test_the_first_peer_delivers_to_itself() -> None:
    peer = Peer()
    peer.pastry.route(OTHERS, LookupRequest(number=7))
    assert peer.application.delivered == [(7, 0, 0)]


def test_a_message_goes_to_the_closest_peer_and_counts_its_hops() -> None:
    peer = Peer(1, 2)
    peer.receive(2, routed(OTHERS, hops=3))
    assert [(hop, message.hops, message.origin) for hop, message in peer.routed()] == [
        (1, 4, Contact(9, hash_of_peer(9)))
    ]
    assert peer.application.forwarded == [(1, 3)]


def test_the_application_can_stop_a_message() -> None:
    peer = Peer(1)
    peer.application.lets_pass = False
    peer.receive(1, routed(OTHERS))
    assert not peer.routed()


def test_a_hop_acknowledges_what_it_receives() -> None:
    peer = Peer(1)
    peer.take(1, routed(MINE), request=5)
    assert [tuple(sent) for sent in peer.environment.outbox] == [(1, HopAck(), "", -5)]


def test_a_peer_that_is_joining_refuses_join_requests() -> None:
    peer = Peer(contacts=(1,))
    peer.receive(1, Routed(key=OTHERS, origin=Contact(2, OTHERS), hops=1, message=JoinRequest(), sequence=1))
    assert peer.environment.take(HopAck) == [(1, HopAck(refused=True))]


def test_a_copy_is_acknowledged_but_not_handled_again() -> None:
    peer = Peer(1)
    for _ in range(2):
        peer.receive(1, routed(MINE))
    assert len(peer.environment.take(HopAck)) == 2
    assert peer.application.delivered == [(7, 9, 1)]


def test_a_message_that_comes_by_two_ways_is_delivered_once() -> None:
    peer = Peer(1, 2)
    peer.receive(1, routed(MINE, hops=2))
    peer.receive(2, routed(MINE, hops=3))
    assert peer.application.delivered == [(7, 9, 2)]


def test_a_message_that_comes_round_goes_on_again() -> None:
    peer = Peer(1, 2)
    peer.receive(2, routed(OTHERS, hops=1))
    peer.receive(2, routed(OTHERS, hops=4))
    assert [message.hops for _, message in peer.routed()] == [2, 5]


def test_what_was_handled_is_forgotten_in_time() -> None:
    peer = Peer(1)
    peer.receive(1, routed(MINE))
    peer.environment.advance(31)
    peer.receive(1, routed(MINE, sequence=2))
    peer.environment.advance(31)
    peer.receive(1, routed(MINE, sequence=3))
    peer.receive(1, routed(MINE))
    assert len(peer.application.delivered) == 4


def test_a_peer_that_lost_everybody_delivers_when_it_has_joined_again() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest(number=7))
    peer.take(1, Goodbye())
    peer.environment.advance(0)
    assert not peer.application.delivered
    peer.environment.asked_for_contacts.pop()([])
    peer.environment.advance(0)
    assert peer.application.delivered == [(7, 0, 0)]


def test_a_goodbye_is_told_to_all_components_of_the_peer() -> None:
    told: list[int] = []

    class Above(Component):
        def start(self, contacts: Sequence[int]) -> None:
            pass

        def stop(self, graceful: bool) -> None:
            pass

        def on_unreachable(self, peer: int) -> None:
            told.append(peer)

    peer = Peer(1, 2)
    Above(peer.environment.channel("above"))
    peer.take(1, Goodbye())
    assert told == [1]


def test_a_peer_that_has_not_joined_is_no_root_yet() -> None:
    peer = Peer(contacts=(1,))
    peer.receive(1, routed(MINE))
    assert peer.environment.take(HopAck) and not peer.application.delivered
    peer.environment.advance(6)
    peer.environment.asked_for_contacts.pop()([])
    peer.environment.advance(0)
    assert peer.application.delivered == [(7, 9, 1)]


def test_what_was_kept_in_vain_makes_room() -> None:
    peer = Peer(contacts=(1,))
    for sequence in range(1000):
        peer.receive(1, routed(MINE, sequence=sequence))
    peer.environment.advance(31)
    peer.receive(1, routed(MINE, 8, sequence=1000))
    peer.environment.asked_for_contacts.pop()([])
    peer.environment.advance(0)
    assert peer.application.delivered == [(8, 9, 1)]


def test_a_ping_tells_whether_a_peer_has_joined() -> None:
    peer = Peer()
    peer.take(1, Ping(), request=1)
    assert peer.environment.take(Pong) == [(1, Pong(identifier=MINE, ready=True))]
    joining = Peer(contacts=(1,))
    joining.take(1, Ping(), request=1)
    assert joining.environment.take(Pong) == [(1, Pong(identifier=MINE, ready=False))]


def test_numbers_of_messages_do_not_repeat_in_the_next_session() -> None:
    numbers = []
    for session in (0, 1):
        peer = Peer(1, session=session)
        for _ in range(3):
            peer.pastry.route(OTHERS, LookupRequest())
        numbers += [message.sequence for _, message in peer.routed()]
    assert len(set(numbers)) == 6
