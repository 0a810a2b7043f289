"""Hop by hop: acknowledgements, time-outs, ways around a silent hop, no delivery twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fake_environment import FakeEnvironment

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.contract.protocol import Component
from emulator.messages.message import Message
from emulator.protocols.overlays.pastry import Pastry, PastryParameters
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, Routed
from trellis.v1.pastry import HopAck, JoinRequest, LeafSetProbe, Ping, Pong


class Recorder:
    """An application that keeps what reaches it, and stops what it is told to."""

    def __init__(self) -> None:
        self.delivered: list[tuple[int, int, int]] = []
        self.forwarded: list[tuple[int, int]] = []
        self.lets_pass = True

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        self.forwarded.append((next_hop, hops))
        return self.lets_pass

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.delivered.append((message.number, origin.peer, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        pass


class Peer:
    """Peer 0, ready unless it is given contacts, which knows a few others."""

    def __init__(
        self, *known: int, session: int = 0, contacts: tuple[int, ...] = (), **parameters: Any
    ) -> None:
        self.environment = FakeEnvironment(0, session=session)
        self.pastry = Pastry(self.environment, PastryParameters.model_validate(parameters))
        self.application = Recorder()
        self.pastry.carry(self.application, LookupRequest)
        self.pastry.start(contacts)
        for peer in known:
            self.meet(peer)
        # They know no others, so there is nothing left to ask them.
        while self.answer_probes():
            pass
        self.environment.outbox.clear()

    def meet(self, peer: int) -> None:
        """A peer comes and knows nobody."""
        self.environment.hand_over(peer, LeafSetProbe(identifier=hash_of_peer(peer)), request=1)

    def answer_probes(self) -> int:
        """Let all peers that are probed answer that they know nobody, and return how many were probed."""
        probes = [sent for sent in self.environment.outbox if is_probe(sent.message) and sent.request > 0]
        self.environment.outbox[:] = [sent for sent in self.environment.outbox if sent not in probes]
        for sent in probes:
            reply = LeafSetProbe(identifier=hash_of_peer(sent.peer))
            self.environment.hand_over(sent.peer, reply, request=-sent.request)
        return len(probes)

    def take(self, sender: int, message: Message, request: int = 0) -> None:
        self.environment.hand_over(sender, message, request=request)

    def receive(self, sender: int, routed: Routed) -> None:
        """A hop sends what is acknowledged."""
        self.take(sender, routed, request=1)

    def routed(self) -> list[tuple[int, Routed]]:
        """Return the routed messages that were sent; `acknowledge` answers the last of them."""
        sent = [each for each in self.environment.outbox if isinstance(each.message, Routed)]
        self.environment.outbox.clear()
        self.requests = [each.request for each in sent]
        return [(each.peer, each.message) for each in sent if isinstance(each.message, Routed)]

    def acknowledge(self, hop: int, refused: bool = False) -> None:
        self.take(hop, HopAck(refused=refused), request=-self.requests[-1])

    def leaves(self) -> list[int]:
        return list(self.pastry.neighbours()["leaf"])

    def probed(self) -> list[int]:
        """Return the peers that were sent a probe of the leaf set."""
        return [sent.peer for sent in self.environment.outbox if is_probe(sent.message) and sent.request > 0]


def is_probe(message: Message) -> bool:
    return isinstance(message, LeafSetProbe)


def routed(key: int, number: int = 7, *, origin: int = 9, sequence: int = 1, hops: int = 1) -> Routed:
    return Routed(
        key=key,
        origin=Contact(origin, hash_of_peer(origin)),
        hops=hops,
        message=LookupRequest(number),
        sequence=sequence,
    )


def distance(peer: int, key: int) -> int:
    return RING.distance(hash_of_peer(peer), key)


MINE = hash_of_peer(0)
OTHERS = hash_of_peer(1)


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


def test_what_was_refused_goes_around() -> None:
    peer = Peer(1, 2)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.routed()
    peer.acknowledge(1, refused=True)
    assert peer.application.delivered or [hop for hop, _ in peer.routed()] == [2]


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


def test_an_acknowledged_message_is_not_sent_again() -> None:
    peer = Peer(1)
    peer.pastry.route(OTHERS, LookupRequest())
    [(hop, _)] = peer.routed()
    peer.acknowledge(hop)
    peer.environment.advance(20)
    assert not peer.routed()


def test_a_silent_root_gets_copies_at_growing_intervals_before_the_next_closest() -> None:
    peer = Peer(1, 2, heartbeat="1000 s")
    start = peer.environment.now
    key = hash_of_peer(1)
    peer.pastry.route(key, LookupRequest(number=7))
    times = []
    while not peer.application.delivered and len(times) < 4:
        sent = peer.routed()
        times += [(round(peer.environment.now - start, 2), hop) for hop, _ in sent]
        peer.environment.advance(0.25)
        if sent and sent[0][0] == 2:
            break
    closest_but_one = min((0, 2), key=lambda p: distance(p, key))
    assert times[:3] == [(0.0, 1), (0.5, 1), (1.5, 1)]
    peer.environment.advance(4)
    if closest_but_one == 0:
        assert peer.application.delivered == [(7, 0, 0)]
    else:
        assert times[3:] == [(3.5, 2)]


def test_the_next_closest_to_a_silent_root_gets_as_many_copies() -> None:
    peer = Peer(1, 2, heartbeat="1000 s")
    key = next(k for k in map(hash_of_peer, range(9, 99)) if distance(1, k) < distance(2, k) < distance(0, k))
    peer.pastry.route(key, LookupRequest(7))
    sent: list[tuple[float, int]] = []
    for step in range(29):
        sent += [(step / 4, hop) for hop, _ in peer.routed()]
        peer.environment.advance(0.25)
    assert sent == [(0.0, 1), (0.5, 1), (1.5, 1), (3.5, 2), (4.0, 2), (5.0, 2)]
    assert peer.application.delivered == [(7, 0, 0)]


def test_a_hop_that_is_not_the_root_is_passed_over_at_once_and_probed() -> None:
    peer = Peer(*range(1, 60), leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    leaves = set(peer.leaves())
    entry = next(p for p in peer.pastry.neighbours()["routing table"] if p not in leaves)
    peer.pastry.route(hash_of_peer(entry), LookupRequest())
    [(first, _)] = peer.routed()
    assert first == entry
    peer.environment.advance(0.6)
    pinged = [sent.peer for sent in peer.environment.outbox if isinstance(sent.message, Ping)]
    [(second, message)] = peer.routed()
    assert second != entry and message.hops == 1
    assert pinged == [entry]


def test_a_suspect_that_answers_stays() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.6)
    assert peer.probed() == [1]
    while peer.answer_probes():  # the search for more leaves comes next
        pass
    peer.routed()
    peer.acknowledge(1)
    peer.environment.advance(30)
    assert peer.leaves() == [1]


def test_an_entry_that_was_suspected_is_routed_to_again_when_it_answers() -> None:
    peer = Peer(*range(1, 60), leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    entry = next(p for p in peer.pastry.neighbours()["routing table"] if p not in peer.leaves())
    peer.pastry.route(hash_of_peer(entry), LookupRequest())
    peer.environment.advance(0.6)
    hop = peer.pastry.next_hop(hash_of_peer(entry))
    assert hop is None or hop.peer != entry
    [ping] = [sent for sent in peer.environment.outbox if isinstance(sent.message, Ping)]
    peer.take(entry, Pong(identifier=hash_of_peer(entry), ready=True), request=-ping.request)
    assert peer.pastry.next_hop(hash_of_peer(entry)) == Contact(entry, hash_of_peer(entry))


def test_a_hop_that_was_heard_from_meanwhile_is_not_suspected() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.environment.advance(1)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.4)
    peer.take(1, Ping(), request=1)
    peer.environment.outbox.clear()
    peer.environment.advance(0.2)
    assert [type(sent.message) for sent in peer.environment.outbox] == [Routed]


def test_a_suspect_is_asked_three_times_before_it_is_dead() -> None:
    peer = Peer(1, heartbeat="1000 s")
    peer.pastry.route(OTHERS, LookupRequest())
    peer.environment.advance(0.5 + 8.9)
    assert peer.leaves() == [1]
    assert len(peer.environment.take(LeafSetProbe)) == 3
    peer.environment.advance(0.2)
    assert peer.leaves() == []


def test_a_refused_connection_is_enough() -> None:
    peer = Peer(1, 2)
    peer.environment.advance(4)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.routed()
    peer.environment.fail(1)
    peer.environment.advance(0)
    assert 1 not in peer.leaves()
    assert peer.application.delivered or [hop for hop, _ in peer.routed()] == [2]


def test_a_refusal_from_before_a_peer_came_back_is_checked() -> None:
    peer = Peer(1)
    peer.environment.fail(1)
    assert peer.leaves() == [1]
    assert peer.probed() == [1]


def test_a_time_out_is_learnt_from_acknowledgements() -> None:
    peer = Peer(1, heartbeat="1000 s")
    for _ in range(40):
        peer.pastry.route(OTHERS, LookupRequest())
        [(hop, _)] = peer.routed()
        peer.environment.advance(0.02)
        peer.acknowledge(hop)
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
    assert peer.leaves() == [2]


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


def test_the_acknowledgement_of_a_copy_is_no_sample_of_the_round_trip() -> None:
    peer = Peer(1, heartbeat="1000 s")
    for _ in range(2):
        peer.pastry.route(OTHERS, LookupRequest())
        assert len(peer.routed()) == 1
        peer.environment.advance(0.45)
        assert not peer.routed(), (
            "the time-out is the first one still, because it is not known which copy came"
        )
        peer.environment.advance(0.1)
        assert len(peer.routed()) == 1
        peer.acknowledge(1)
