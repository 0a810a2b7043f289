"""Hop by hop: acknowledgements, time-outs, ways around a silent hop, no delivery twice."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment, hand_over
from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import Goodbye, LookupRequest, Routed
from trellis.v1.pastry_pb2 import HopAck, LeafSetProbe, Ping, Pong

from emulator import identifiers
from emulator.overlays.pastry import Pastry, PastryParameters


class Recorder:
    """An application that keeps what reaches it, and stops what it is told to."""

    def __init__(self) -> None:
        self.delivered: list[tuple[int, int, int]] = []
        self.forwarded: list[tuple[int, int]] = []
        self.lets_pass = True

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((next_hop, hops))
        return self.lets_pass

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.delivered.append((message.number, origin, hops))

    def update(self, peer: int, joined: bool) -> None:
        pass


class Peer:
    """Peer 0, ready, which knows a few others."""

    def __init__(self, *known: int, **parameters: Any) -> None:
        self.environment = FakeEnvironment(0)
        self.pastry = Pastry(self.environment, PastryParameters.model_validate(parameters))
        self.application = Recorder()
        self.pastry.application = self.application
        self.pastry.start([])
        for peer in known:
            self.take(peer, LeafSetProbe(reply=True))
        self.environment.outbox.clear()

    def take(self, sender: int, message: Message) -> None:
        hand_over(self.pastry, sender, message)

    def routed(self) -> list[tuple[int, Routed]]:
        return self.environment.take(Routed)

    def acknowledge(self, hop: int, routed: Routed) -> None:
        self.take(hop, HopAck(origin=routed.origin, sequence=routed.sequence, hops=routed.hops))


def routed(key: int, number: int = 7, *, origin: int = 9, sequence: int = 1, hops: int = 1) -> Routed:
    return Routed(
        key=identifiers.encode(key),
        origin=origin,
        hops=hops,
        type="LookupRequest",
        payload=LookupRequest(number=number).SerializeToString(),
        sequence=sequence,
    )


MINE = identifiers.of_peer(0)
OTHERS = identifiers.of_peer(1)


def test_the_first_peer_delivers_to_itself() -> None:
    peer = Peer()
    peer.pastry.route(OTHERS, LookupRequest(number=7))
    assert peer.application.delivered == [(7, 0, 0)]


def test_a_message_goes_to_the_closest_peer_and_counts_its_hops() -> None:
    peer = Peer(1, 2)
    peer.take(2, routed(OTHERS, hops=3))
    assert [(hop, message.hops, message.origin) for hop, message in peer.routed()] == [(1, 4, 9)]
    assert peer.application.forwarded == [(1, 3)]


def test_the_application_can_stop_a_message() -> None:
    peer = Peer(1)
    peer.application.lets_pass = False
    peer.take(1, routed(OTHERS))
    assert not peer.routed()


def test_a_hop_acknowledges_what_it_receives() -> None:
    peer = Peer(1)
    peer.take(1, routed(MINE, origin=9, sequence=5, hops=2))
    assert peer.environment.take(HopAck) == [(1, HopAck(origin=9, sequence=5, hops=2))]


def test_a_copy_is_acknowledged_but_not_handled_again() -> None:
    peer = Peer(1)
    for _ in range(2):
        peer.take(1, routed(MINE))
    assert len(peer.environment.take(HopAck)) == 2
    assert peer.application.delivered == [(7, 9, 1)]


def test_a_message_that_comes_by_two_ways_is_delivered_once() -> None:
    peer = Peer(1, 2)
    peer.take(1, routed(MINE, hops=2))
    peer.take(2, routed(MINE, hops=3))
    assert peer.application.delivered == [(7, 9, 2)]


def test_a_message_that_comes_round_goes_on_again() -> None:
    peer = Peer(1, 2)
    peer.take(2, routed(OTHERS, hops=1))
    peer.take(2, routed(OTHERS, hops=4))
    assert [message.hops for _, message in peer.routed()] == [2, 5]


def test_what_was_handled_is_forgotten_in_time() -> None:
    peer = Peer(1)
    peer.take(1, routed(MINE))
    peer.environment.advance(31)
    peer.take(1, routed(MINE, sequence=2))
    peer.environment.advance(31)
    peer.take(1, routed(MINE, sequence=3))
    peer.take(1, routed(MINE))
    assert len(peer.application.delivered) == 4


def test_an_acknowledged_message_is_not_sent_again() -> None:
    peer = Peer(1)
    peer.pastry.route(OTHERS, LookupRequest())
    [(hop, message)] = peer.routed()
    peer.acknowledge(hop, message)
    peer.environment.advance(20)
    assert not peer.routed()


def test_a_silent_root_gets_copies_at_growing_intervals_before_the_next_closest() -> None:
    peer = Peer(1, 2, heartbeat="1000 s")
    start = peer.environment.now
    key = identifiers.of_peer(1)
    peer.pastry.route(key, LookupRequest(number=7))
    times = []
    while not peer.application.delivered and len(times) < 4:
        sent = peer.routed()
        times += [(round(peer.environment.now - start, 2), hop) for hop, _ in sent]
        peer.environment.advance(0.25)
        if sent and sent[0][0] == 2:
            break
    closest_but_one = min((0, 2), key=lambda p: identifiers.distance(identifiers.of_peer(p), key))
    assert times[:3] == [(0.0, 1), (0.5, 1), (1.5, 1)]
    peer.environment.advance(4)
    if closest_but_one == 0:
        assert peer.application.delivered == [(7, 0, 0)]
    else:
        assert times[3:] == [(3.5, 2)]


def test_a_hop_that_is_not_the_root_is_passed_over_at_once_and_probed() -> None:
    peer = Peer(*range(1, 60), leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    leaves = set(peer.pastry.neighbours()["leaf"])
    entry = next(p for p in peer.pastry.neighbours()["routing table"] if p not in leaves)
    peer.pastry.route(identifiers.of_peer(entry), LookupRequest())
    [(first, _)] = peer.routed()
    assert first == entry
    peer.environment.advance(0.6)
    pinged = [to for to, message in peer.environment.outbox if isinstance(message, Ping)]
    [(second, message)] = peer.routed()
    assert second != entry and message.hops == 1
    assert pinged == [entry]


def test_a_suspect_that_answers_stays() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.6)
    sent = peer.environment.outbox.copy()
    assert [to for to, message in sent if isinstance(message, LeafSetProbe)] == [1]
    peer.take(1, LeafSetProbe(reply=True))
    peer.acknowledge(*next((to, message) for to, message in sent if isinstance(message, Routed)))
    peer.take(1, LeafSetProbe(reply=True))  # the search for more leaves
    peer.environment.advance(30)
    assert peer.pastry.neighbours()["leaf"] == [1]


def test_a_hop_that_was_heard_from_meanwhile_is_not_suspected() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.environment.advance(1)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.4)
    peer.take(1, Ping())
    peer.environment.outbox.clear()
    peer.environment.advance(0.2)
    assert [type(message) for _, message in peer.environment.outbox] == [Routed]


def test_a_suspect_is_asked_three_times_before_it_is_dead() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.5 + 8.9)
    assert peer.pastry.neighbours()["leaf"] == [1]
    assert len(peer.environment.take(LeafSetProbe)) == 3
    peer.environment.advance(0.2)
    assert peer.pastry.neighbours()["leaf"] == []


def test_a_refused_connection_is_enough() -> None:
    peer = Peer(1, 2)
    peer.environment.advance(4)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.routed()
    peer.pastry.on_unreachable(1)
    peer.environment.advance(0)
    assert 1 not in peer.pastry.neighbours()["leaf"]
    assert peer.application.delivered or [hop for hop, _ in peer.routed()] == [2]


def test_a_refusal_from_before_a_peer_came_back_is_checked() -> None:
    peer = Peer(1)
    peer.pastry.on_unreachable(1)
    assert peer.pastry.neighbours()["leaf"] == [1]
    assert [to for to, _ in peer.environment.take(LeafSetProbe)] == [1]


def test_a_time_out_is_learnt_from_acknowledgements() -> None:
    peer = Peer(1, heartbeat="1000 s")
    for _ in range(40):
        peer.pastry.route(OTHERS, LookupRequest())
        [(hop, message)] = peer.routed()
        peer.environment.advance(0.02)
        peer.acknowledge(hop, message)
    peer.pastry.route(OTHERS, LookupRequest())
    assert len(peer.routed()) == 1
    peer.environment.advance(0.11)
    assert not peer.routed()
    peer.environment.advance(0.02)
    assert len(peer.routed()) == 1


def test_a_goodbye_sends_what_is_on_its_way_around() -> None:
    peer = Peer(1, 2, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest(number=7))
    peer.routed()
    peer.take(1, Goodbye())
    peer.environment.advance(0)
    assert peer.application.delivered or [hop for hop, _ in peer.routed()] == [2]
    assert peer.pastry.neighbours()["leaf"] == [2]


def test_a_peer_that_lost_everybody_delivers_when_it_has_joined_again() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest(number=7))
    peer.take(1, Goodbye())
    peer.environment.advance(0)
    assert not peer.application.delivered
    peer.environment.asked_for_contacts.pop()([])
    peer.environment.advance(0)
    assert peer.application.delivered == [(7, 0, 0)]


def test_a_peer_that_has_not_joined_is_no_root_yet() -> None:
    environment = FakeEnvironment(0)
    pastry = Pastry(environment, PastryParameters())
    application = Recorder()
    pastry.application = application
    pastry.start([environment.self_contact])
    hand_over(pastry, 1, routed(MINE))
    assert environment.take(HopAck) and not application.delivered
    environment.advance(6)
    environment.asked_for_contacts.pop()([])
    environment.advance(0)
    assert application.delivered == [(7, 9, 1)]


def test_what_was_kept_in_vain_makes_room() -> None:
    environment = FakeEnvironment(0)
    pastry = Pastry(environment, PastryParameters())
    application = Recorder()
    pastry.application = application
    pastry.start([environment.self_contact])
    for sequence in range(1000):
        hand_over(pastry, 1, routed(MINE, sequence=sequence))
    environment.advance(31)
    hand_over(pastry, 1, routed(MINE, 8, sequence=1000))
    environment.asked_for_contacts.pop()([])
    environment.advance(0)
    assert application.delivered == [(8, 9, 1)]


def test_a_ping_tells_whether_a_peer_has_joined() -> None:
    peer = Peer()
    peer.take(1, Ping())
    assert peer.environment.take(Pong) == [(1, Pong(ready=True))]
