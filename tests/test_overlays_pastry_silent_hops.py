"""Hops that are silent, refuse or leave: copies, time-outs, and ways around them."""

from __future__ import annotations

from pastry_hop import OTHERS, Peer, distance

from emulator.contract.identifiers import hash_of_peer
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, Routed
from trellis.v1.pastry import LeafSetProbe, Ping, Pong


def test_what_was_refused_goes_around() -> None:
    peer = Peer(1, 2)
    peer.pastry.route(OTHERS, LookupRequest())
    peer.routed()
    peer.acknowledge(1, refused=True)
    assert peer.application.delivered or [hop for hop, _ in peer.routed()] == [2]


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
