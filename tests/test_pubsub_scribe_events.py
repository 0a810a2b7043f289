"""Scribe, one peer at a time: events and groups."""

from __future__ import annotations

from scribe_peer import (
    HEARTBEAT,
    SELF,
    TOPIC,
    Peer,
    contact,
    forwarder,
    member,
)

from emulator.contract.protocol import Event
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import (
    GroupCreation,
    Multicast,
    RootAddress,
    RootReplica,
)


def test_an_event_goes_to_all_children_but_its_sender_one_hop_further() -> None:
    tested = forwarder(70, 71, 72)
    tested.hand(71, tested.event(hops=2))
    sent = tested.sent(EventData)
    assert sorted(peer for peer, _ in sent) == [70, 72]
    assert [message for _, message in sent] == [tested.event(hops=3)] * 2
    assert not tested.environment.delivered


def test_an_event_is_delivered_and_passed_on_once() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    assert tested.receivers(1) == [70]
    assert tested.receivers(1, sender=61) == []
    assert tested.environment.delivered == [Event(1, 9, TOPIC, payload=b"x", hops=2)]


def test_a_publisher_has_its_own_event_at_once_and_only_once() -> None:
    tested = member(parent=60)
    event = Event(1, SELF, TOPIC, payload=b"x")
    tested.scribe.publish(event)
    assert tested.environment.delivered == [event]
    tested.joined_by(70)
    tested.clear()
    tested.hand(60, tested.event(1, publisher=SELF))
    assert tested.environment.delivered == [event]
    assert [peer for peer, _ in tested.sent(EventData)] == [70]


def test_the_first_event_is_routed_and_the_next_ones_go_straight_to_the_root() -> None:
    tested = Peer({TOPIC: 60})
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]
    tested.hand(88, RootAddress(topic=TOPIC))
    tested.scribe.publish(Event(2, SELF, TOPIC, payload=b"x"))
    (sent,) = tested.environment.outbox
    assert (sent.peer, sent.message) == (88, Multicast(event=tested.event(2, hops=1, publisher=SELF)))
    tested.clear()
    tested.hand(88, RootAddress(topic=TOPIC), request=-sent.request)
    tested.environment.advance(60.0)
    assert not tested.sent(EventData)


def test_an_event_that_its_root_does_not_confirm_is_routed() -> None:
    tested = Peer({TOPIC: 60}, multicast_timeout="3 s")
    tested.hand(88, RootAddress(topic=TOPIC))
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    tested.clear()
    tested.environment.advance(2.9)
    assert not tested.sent(EventData)
    tested.environment.advance(0.2)
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]
    tested.scribe.publish(Event(2, SELF, TOPIC, payload=b"x"))
    assert [peer for peer, _ in tested.sent(EventData)] == [60]


def test_an_event_whose_root_is_unreachable_is_routed_at_once() -> None:
    tested = Peer({TOPIC: 60})
    tested.clear()
    tested.hand(88, RootAddress(topic=TOPIC))
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    (sent,) = tested.environment.outbox
    tested.clear()
    tested.environment.life.notice_unreachable(88, sent.request)
    tested.environment.advance(0.0)
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]


def test_the_root_sends_a_routed_event_down_and_tells_the_publisher_who_it_is() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.joined_by(70)
    tested.clear()
    tested.route_through(tested.event(1, hops=0, publisher=9), TOPIC, hops=3)
    assert [(sent.peer, sent.message, sent.channel) for sent in tested.environment.outbox] == [
        (9, RootAddress(topic=TOPIC), ""),
        (70, tested.event(1, hops=4, publisher=9), ""),
    ]
    assert [event.hops for event in tested.environment.delivered] == [3]


def test_the_root_confirms_a_multicast_to_its_publisher() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.clear()
    tested.hand(9, Multicast(event=tested.event(1, hops=1)), request=4)
    assert [(sent.peer, sent.message, sent.request) for sent in tested.environment.outbox] == [
        (9, RootAddress(topic=TOPIC), -4)
    ]
    assert [event.hops for event in tested.environment.delivered] == [1]


def test_the_root_tells_itself_nothing() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.clear()
    tested.scribe.publish(Event(1, SELF, TOPIC))
    assert not tested.environment.outbox
    assert len(tested.environment.delivered) == 1


def test_who_is_the_root_no_more_routes_a_multicast_on() -> None:
    tested = Peer()
    tested.joined_by(70)
    tested.clear()
    tested.hand(9, Multicast(event=tested.event(1, hops=1)), request=1)
    assert tested.sent(EventData) == [(70, tested.event(1, hops=2))]
    tested.overlay.lay(TOPIC, 60)
    tested.hand(9, Multicast(event=tested.event(2, hops=1)), request=2)
    assert [(sent.peer, sent.message) for sent in tested.environment.outbox] == [
        (60, tested.event(2, hops=1))
    ]


def test_a_root_that_came_back_confirms_nothing_before_it_has_joined() -> None:
    """It has no tree any more: the event would reach nobody."""
    tested = Peer(ready=False)
    tested.clear()
    tested.hand(9, Multicast(event=tested.event(1, hops=1)), request=4)
    assert not tested.environment.outbox
    tested.overlay.joined = True
    tested.joined_by(70)
    tested.clear()
    tested.route_through(tested.event(1), TOPIC)
    assert [child for child, _ in tested.sent(EventData)] == [70]


def test_routed_hops_add_to_those_before() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.route_through(tested.event(1, hops=1), TOPIC, hops=2)
    assert [event.hops for event in tested.environment.delivered] == [3]


def test_events_go_on_to_the_root_through_peers_in_the_tree() -> None:
    tested = member(parent=60)
    assert tested.route_through(tested.event(1), TOPIC)
    assert not tested.environment.delivered


def test_a_publication_waits_until_the_publisher_has_joined_the_overlay() -> None:
    tested = Peer({TOPIC: 60}, ready=False)
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    tested.environment.advance(3.0)
    assert not tested.sent(EventData)
    tested.overlay.joined = True
    tested.environment.advance(1.0)
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]


def test_the_first_to_join_is_the_creator() -> None:
    tested = Peer()
    tested.joined_by(70)
    tested.joined_by(71)
    assert tested.scribe.creator(TOPIC) == 70
    assert tested.scribe.creator(TOPIC + 1) is None


def test_a_group_is_created_at_its_root() -> None:
    tested = Peer({TOPIC: 60})
    tested.scribe.create(TOPIC)
    assert tested.sent(GroupCreation) == [(60, GroupCreation(topic=TOPIC, creator=SELF))]
    tested.overlay.lay(TOPIC, None)
    tested.scribe.create(TOPIC)
    tested.joined_by(70)
    assert tested.scribe.creator(TOPIC) == SELF


def test_the_k_closest_know_the_roots_groups() -> None:
    tested = Peer({2: 60}, closest=[1, 2, 3], root_replicas=2)
    for topic in (1, 2):
        tested.joined_by(70, topic=topic)
    tested.clear()
    tested.environment.advance(3 * HEARTBEAT)
    assert tested.sent(RootReplica) == [
        (1, RootReplica(topics=[1], creators=[70])),
        (2, RootReplica(topics=[1], creators=[70])),
    ]
    tested.overlay.closest[0] = 4
    tested.overlay.lay(2, 61)
    tested.environment.advance(HEARTBEAT)
    assert [peer for peer, _ in tested.sent(RootReplica)] == [4]


def test_who_left_and_came_back_within_a_period_is_told_the_groups_again() -> None:
    tested = Peer(closest=[1, 2, 3], root_replicas=2)
    tested.joined_by(70)
    tested.environment.advance(HEARTBEAT)
    tested.clear()
    tested.scribe.neighbour_changed(contact(2), joined=False)
    tested.scribe.neighbour_changed(contact(2), joined=True)
    tested.environment.advance(HEARTBEAT)
    assert [peer for peer, _ in tested.sent(RootReplica)] == [2]


def test_a_replica_that_becomes_the_root_knows_the_creator_and_passes_it_on() -> None:
    tested = Peer({TOPIC: 60})
    tested.hand(60, RootReplica(topics=[TOPIC], creators=[8]))
    tested.environment.advance(HEARTBEAT)
    assert not tested.sent(RootReplica)
    tested.overlay.lay(TOPIC, None)
    tested.joined_by(70)
    assert tested.scribe.creator(TOPIC) == 8
    tested.environment.advance(HEARTBEAT)
    assert {peer for peer, _ in tested.sent(RootReplica)} == {1, 2, 3}
