"""One peer of Scribe on an overlay whose routes the test lays down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
from fake_environment import FakeEnvironment, hand_over
from google.protobuf.message import Message
from pydantic import BaseModel
from trellis.v1.overlay_pb2 import LookupRequest
from trellis.v1.pubsub_pb2 import EventData
from trellis.v1.scribe_pb2 import (
    GroupCreation,
    Multicast,
    RootAddress,
    RootReplica,
    TreeAcceptance,
    TreeHeartbeat,
    TreeJoin,
    TreeLeave,
)

from emulator.identifiers import distance, of_peer, of_topic
from emulator.protocol import Contact, Event, Handler, Overlay, RangeInterest, TopicInterest
from emulator.pubsub.scribe.parameters import over
from emulator.pubsub.scribe.scribe import Scribe

SELF = 50
HEARTBEAT = 4.0
SILENT = 3
JOIN_TIMEOUT = 1.0
TOPIC = 7
M = TypeVar("M", bound=Message)


class NoParameters(BaseModel):
    pass


class LaidOut(Overlay):
    """Every topic is routed to `hops[topic]`, or else ends here."""

    def __init__(self, environment: FakeEnvironment, hops: dict[int, int], closest: list[int]) -> None:
        self.environment = environment
        self.hops = hops
        self.closest = closest
        self.left: bool | None = None
        self.gone: list[int] = []

    def lay(self, topic: int, hop: int | None) -> None:
        self.hops.pop(topic, None)
        if hop is not None:
            self.hops[topic] = hop
        self.routes_version += 1

    def route(self, key: int, message: Message) -> None:
        assert self.application is not None
        hop = self.next_hop(key)
        if hop is None:
            self.application.deliver(key, message, SELF, 0)
        elif self.application.forward(key, message, hop, 0):
            self.environment.send(hop, message)

    def next_hop(self, key: int) -> int | None:
        return next((hop for topic, hop in self.hops.items() if of_topic(topic) == key), None)

    def neighbour_set(self, count: int) -> Sequence[int]:
        return self.closest[:count]

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"leaf": self.closest}

    def handlers(self) -> dict[type[Message], Handler]:
        return {LookupRequest: lambda sender, message: None}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self.environment.send(99, LookupRequest())

    def stop(self, graceful: bool) -> None:
        self.left = graceful
        self.environment.send(99, LookupRequest())

    def on_unreachable(self, peer: int) -> None:
        self.gone.append(peer)

    def gauges(self) -> dict[str, float]:
        return {"leaves": 1.0}


class Peer:
    """The peer under test in its world: topics are routed to the peer that `hops` says."""

    def __init__(
        self,
        hops: dict[int, int] | None = None,
        subscribed: Iterable[int] = (),
        closest: Sequence[int] = (1, 2, 3),
        **parameters: Any,
    ) -> None:
        self.environment = FakeEnvironment(SELF)
        self.overlay = LaidOut(self.environment, hops or {}, list(closest))
        given = {"heartbeat": "4 s", "silent_heartbeats": SILENT, "join_timeout": "1 s"} | parameters
        self.scribe = Scribe(
            self.environment, over(NoParameters).model_validate(given), lambda environment: self.overlay
        )
        for topic in subscribed:
            self.scribe.subscribe(TopicInterest(topic))
        self.scribe.start([Contact(1)])

    def hand(self, sender: int, message: Message) -> None:
        hand_over(self.scribe, sender, message)

    def route_through(self, message: Message, topic: int, hops: int = 1, origin: int = 9) -> bool:
        """The overlay's upcall for a message that came here; true if it goes on."""
        hop = self.overlay.next_hop(of_topic(topic))
        if hop is None:
            self.scribe.deliver(of_topic(topic), message, origin, hops)
            return False
        return self.scribe.forward(of_topic(topic), message, hop, hops)

    def joined_by(self, child: int, topic: int = TOPIC) -> bool:
        return self.route_through(TreeJoin(topic=topic, child=child), topic)

    def accepted_by(self, parent: int, *topics: int) -> None:
        for topic in topics or (TOPIC,):
            self.hand(parent, TreeAcceptance(topic=topic))

    def sent(self, kind: type[M]) -> list[tuple[int, M]]:
        return self.environment.take(kind)

    def clear(self) -> None:
        self.environment.outbox.clear()

    def event(self, number: int = 1, topic: int = TOPIC, hops: int = 2, publisher: int = 9) -> EventData:
        return EventData(event=number, topic=topic, publisher=publisher, hops=hops, payload=b"x")

    def receivers(self, number: int = 1, sender: int = 60, topic: int = TOPIC) -> list[int]:
        """Where an event that comes down the tree goes on to."""
        self.clear()
        self.hand(sender, self.event(number, topic))
        return sorted(peer for peer, _ in self.sent(EventData))


def member(parent: int = 60, **parameters: Any) -> Peer:
    """A subscriber with a parent."""
    tested = Peer({TOPIC: parent}, [TOPIC], **parameters)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def forwarder(*children: int, parent: int = 60) -> Peer:
    """A peer that is in the tree for its children alone."""
    tested = Peer({TOPIC: parent})
    for child in children:
        tested.joined_by(child)
    tested.accepted_by(parent)
    tested.clear()
    return tested


def nearer(topic: int, than: int = SELF, count: int = 1) -> list[int]:
    """Peers whose identifiers are closer to the topic."""
    away = distance(of_peer(than), of_topic(topic))
    return [peer for peer in range(1000, 2000) if distance(of_peer(peer), of_topic(topic)) < away][:count]


def further(topic: int) -> int:
    away = distance(of_peer(SELF), of_topic(topic))
    return next(peer for peer in range(1000, 2000) if distance(of_peer(peer), of_topic(topic)) > away)


# Joining


def test_a_subscription_routes_a_join_towards_the_topic() -> None:
    tested = Peer({TOPIC: 60})
    tested.scribe.subscribe(TopicInterest(TOPIC))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_subscription_made_before_the_start_is_joined_at_the_start() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC])
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_without_neighbours_a_join_waits_for_the_first_one() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC], closest=[])
    tested.environment.advance(5 * JOIN_TIMEOUT)
    assert not tested.sent(TreeJoin)
    assert not tested.scribe.gauges()["root_topics"]
    tested.overlay.closest.append(60)
    tested.scribe.update(60, joined=True)
    tested.environment.advance(0.0)
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_join_is_repeated_until_a_parent_accepts() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC])
    tested.clear()
    tested.environment.advance(JOIN_TIMEOUT)
    assert len(tested.sent(TreeJoin)) == 1
    tested.environment.advance(JOIN_TIMEOUT)
    assert len(tested.sent(TreeJoin)) == 1
    tested.accepted_by(60)
    tested.environment.advance(3 * JOIN_TIMEOUT)
    assert not tested.sent(TreeJoin)


def test_a_join_whose_next_hop_is_unreachable_takes_another_way_at_once() -> None:
    tested = Peer({TOPIC: 60, TOPIC + 1: 61}, [TOPIC, TOPIC + 1])
    tested.clear()
    tested.overlay.lay(TOPIC, 62)
    tested.scribe.on_unreachable(60)
    assert not tested.environment.outbox, "it would be in the trace of whatever failed to reach the hop"
    tested.environment.advance(0.0)
    assert tested.sent(TreeJoin) == [(62, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_join_waits_while_the_overlay_still_leads_to_the_unreachable_hop() -> None:
    """Otherwise it would be sent to the same hop as often as that can fail."""
    tested = Peer({TOPIC: 60}, [TOPIC])
    tested.clear()
    tested.scribe.on_unreachable(60)
    tested.environment.advance(0.0)
    assert not tested.sent(TreeJoin)
    tested.environment.advance(JOIN_TIMEOUT)
    assert len(tested.sent(TreeJoin)) == 1


def test_each_join_is_repeated_by_a_timer_of_its_own() -> None:
    """A timer fires in the trace of the subscription that set it."""
    tested = Peer({TOPIC: 60, TOPIC + 1: 61}, [TOPIC])
    tested.environment.advance(JOIN_TIMEOUT / 2)
    tested.scribe.subscribe(TopicInterest(TOPIC + 1))
    tested.clear()
    tested.environment.advance(JOIN_TIMEOUT / 2)
    assert [message.topic for _, message in tested.sent(TreeJoin)] == [TOPIC]
    tested.environment.advance(JOIN_TIMEOUT / 2)
    assert [message.topic for _, message in tested.sent(TreeJoin)] == [TOPIC + 1]


def test_the_first_peer_on_the_way_adopts_and_asks_for_itself() -> None:
    tested = Peer({TOPIC: 60})
    assert not tested.joined_by(70)
    assert tested.sent(TreeAcceptance) == [(70, TreeAcceptance(topic=TOPIC))]
    tested = Peer({TOPIC: 60})
    tested.joined_by(70)
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_peer_in_the_tree_adopts_and_asks_nobody() -> None:
    tested = forwarder(70)
    assert not tested.joined_by(71)
    assert not [message for _, message in tested.environment.outbox if isinstance(message, TreeJoin)]
    assert tested.receivers() == [70, 71]


def test_who_is_closest_is_the_root() -> None:
    tested = Peer()
    assert not tested.joined_by(70)
    assert [peer for peer, _ in tested.sent(TreeAcceptance)] == [70]
    assert tested.scribe.gauges()["root_topics"] == 1
    tested.environment.advance(10 * JOIN_TIMEOUT)
    assert not tested.sent(TreeJoin)


def test_a_second_parent_is_refused() -> None:
    tested = member(parent=60)
    tested.accepted_by(61)
    assert tested.sent(TreeLeave) == [(61, TreeLeave(topics=[TOPIC]))]
    tested.accepted_by(60)
    assert not tested.environment.outbox


def test_who_is_in_no_tree_refuses_a_parent() -> None:
    tested = Peer({TOPIC: 60})
    tested.accepted_by(60)
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[TOPIC]))]


# Leaving


def test_a_leaf_tells_its_parent_that_it_leaves() -> None:
    tested = member(parent=60)
    tested.scribe.unsubscribe(TopicInterest(TOPIC))
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[TOPIC]))]
    assert tested.receivers() == []
    assert not tested.environment.delivered


def test_a_member_with_children_stays_as_a_forwarder() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.scribe.unsubscribe(TopicInterest(TOPIC))
    assert not tested.sent(TreeLeave)
    assert tested.receivers() == [70]
    assert not tested.environment.delivered


def test_a_forwarder_whose_last_child_leaves_leaves_too() -> None:
    tested = forwarder(70, 71, parent=60)
    tested.hand(70, TreeLeave(topics=[TOPIC]))
    assert not tested.sent(TreeLeave)
    tested.hand(71, TreeLeave(topics=[TOPIC]))
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[TOPIC]))]


def test_a_member_whose_last_child_leaves_stays() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.hand(70, TreeLeave(topics=[TOPIC]))
    assert not tested.sent(TreeLeave)
    tested.receivers()
    assert len(tested.environment.delivered) == 1


def test_leaving_ends_a_join_under_way() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC])
    tested.clear()
    tested.scribe.unsubscribe(TopicInterest(TOPIC))
    tested.environment.advance(3 * JOIN_TIMEOUT)
    assert not tested.sent(TreeJoin)


def test_a_leave_of_a_stranger_changes_nothing() -> None:
    tested = member(parent=60)
    tested.hand(61, TreeLeave(topics=[TOPIC]))
    tested.hand(60, TreeLeave(topics=[TOPIC]))
    assert not tested.environment.outbox


def test_a_graceful_stop_tells_parents_and_children_after_the_overlays_goodbye() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.scribe.stop(graceful=True)
    assert tested.overlay.left is True
    assert tested.environment.outbox == [
        (99, LookupRequest()),
        (60, TreeLeave(topics=[TOPIC])),
        (70, TreeHeartbeat()),
    ]


def test_a_crash_tells_nobody() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.scribe.stop(graceful=False)
    assert not tested.sent(TreeLeave)


def test_a_child_whose_parent_stops_joins_anew() -> None:
    tested = member(parent=60)
    tested.overlay.lay(TOPIC, 61)
    tested.hand(60, TreeHeartbeat())
    assert tested.sent(TreeJoin) == [(61, TreeJoin(topic=TOPIC, child=SELF))]


# Heartbeats and repair


def test_one_heartbeat_a_period_tells_a_neighbour_of_all_shared_trees() -> None:
    tested = Peer({1: 60, 2: 60, 3: 70}, [1, 2, 3])
    tested.accepted_by(60, 1, 2)
    tested.accepted_by(70, 3)
    tested.joined_by(60, topic=3)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    beats = dict(tested.sent(TreeHeartbeat))
    assert beats == {
        60: TreeHeartbeat(children=[3], parents=[1, 2]),
        70: TreeHeartbeat(parents=[3]),
    }


def test_heartbeats_that_say_the_same_are_the_same_message() -> None:
    tested = member()
    tested.environment.advance(2 * HEARTBEAT)
    first, second = (message for _, message in tested.sent(TreeHeartbeat))
    assert first is second


def test_an_event_stands_for_a_heartbeat_that_says_nothing_new() -> None:
    tested = forwarder(70, 71)
    tested.hand(60, TreeHeartbeat(children=[TOPIC]))
    tested.environment.advance(HEARTBEAT)
    tested.receivers(1)
    tested.hand(71, TreeLeave(topics=[TOPIC]))
    tested.joined_by(71)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert sorted(peer for peer, _ in tested.sent(TreeHeartbeat)) == [60, 71]
    tested.environment.advance(HEARTBEAT)
    assert sorted(peer for peer, _ in tested.sent(TreeHeartbeat)) == [60, 70, 71]


def keep_alive(tested: Peer, beats: Mapping[int, TreeHeartbeat], periods: int) -> None:
    for _ in range(periods):
        for peer, beat in beats.items():
            tested.hand(peer, beat)
        tested.environment.advance(HEARTBEAT)


def test_a_silent_parent_is_suspected_and_another_one_asked() -> None:
    tested = member(parent=nearer(TOPIC)[0])
    tested.overlay.lay(TOPIC, 61)
    tested.environment.advance((SILENT - 1) * HEARTBEAT)
    assert not tested.sent(TreeJoin)
    tested.environment.advance(2 * HEARTBEAT)
    assert tested.sent(TreeJoin)[0] == (61, TreeJoin(topic=TOPIC, child=SELF))


@pytest.mark.parametrize(
    "word", [TreeHeartbeat(children=[TOPIC]), EventData(event=1, topic=TOPIC, publisher=9)]
)
def test_a_parent_that_speaks_is_kept(word: Message) -> None:
    tested = member(parent=60)
    keep_alive(tested, {60: word}, 3 * SILENT)  # type: ignore[dict-item]
    assert not tested.sent(TreeJoin)


def test_a_parent_that_does_not_know_the_child_is_left() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1, 2)
    tested.clear()
    tested.hand(60, TreeHeartbeat(children=[1]))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=2, child=SELF))]


def test_an_unreachable_parent_is_replaced_at_once() -> None:
    tested = member(parent=60)
    tested.overlay.lay(TOPIC, 61)
    tested.scribe.on_unreachable(60)
    assert tested.overlay.gone == [60]
    assert tested.sent(TreeJoin) == [(61, TreeJoin(topic=TOPIC, child=SELF))]


def test_the_root_fails_over_to_who_is_the_closest_now() -> None:
    tested = member(parent=60)
    tested.overlay.lay(TOPIC, None)
    tested.scribe.on_unreachable(60)
    assert tested.scribe.gauges()["root_topics"] == 1


def test_an_unreachable_child_is_dropped_and_with_it_what_was_for_it_alone() -> None:
    tested = forwarder(70, parent=60)
    tested.scribe.on_unreachable(70)
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[TOPIC]))]
    tested = forwarder(70, 71)
    tested.scribe.on_unreachable(70)
    assert tested.receivers() == [71]


def test_a_child_that_is_silent_is_dropped() -> None:
    tested = forwarder(70, 71)
    keep_alive(tested, {60: TreeHeartbeat(children=[TOPIC]), 71: TreeHeartbeat(parents=[TOPIC])}, SILENT + 2)
    assert tested.receivers() == [71]


def test_a_child_that_does_not_refresh_a_topic_is_dropped_from_its_tree_alone() -> None:
    tested = Peer()
    tested.joined_by(70, topic=1)
    tested.joined_by(70, topic=2)
    keep_alive(tested, {70: TreeHeartbeat(parents=[2])}, SILENT - 1)
    assert tested.receivers(1, topic=1) == [70]
    keep_alive(tested, {70: TreeHeartbeat(parents=[2])}, 3)
    assert tested.receivers(2, topic=1) == []
    assert tested.receivers(3, topic=2) == [70]


def test_a_refresh_adopts_a_child_that_was_forgotten() -> None:
    tested = Peer({TOPIC: 60})
    tested.hand(70, TreeHeartbeat(parents=[TOPIC]))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]
    assert tested.receivers() == [70]


def test_who_takes_this_peer_for_its_child_is_told_otherwise_each_time() -> None:
    tested = Peer({TOPIC: 60})
    for _ in range(2):
        tested.hand(60, TreeHeartbeat(children=[TOPIC]))
        assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[TOPIC]))]


def test_a_leave_that_was_lost_is_told_again() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1, 2)
    beat = TreeHeartbeat(children=[1, 2])
    tested.hand(60, beat)
    tested.scribe.unsubscribe(TopicInterest(2))
    tested.clear()
    tested.hand(60, beat)
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=[2]))]


def test_the_next_heartbeat_tells_what_has_changed() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1)
    tested.environment.advance(HEARTBEAT)
    tested.accepted_by(60, 2)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert tested.sent(TreeHeartbeat) == [(60, TreeHeartbeat(parents=[1, 2]))]


def test_a_root_asks_a_closer_peer_as_soon_as_it_appears() -> None:
    tested = Peer()
    tested.joined_by(70)
    tested.clear()
    (closer,) = nearer(TOPIC)
    tested.overlay.lay(TOPIC, closer)
    tested.scribe.update(closer, joined=True)
    assert tested.sent(TreeJoin) == [(closer, TreeJoin(topic=TOPIC, child=SELF))]
    assert not tested.scribe.gauges()["root_topics"]
    assert tested.receivers() == [70]


def test_a_root_notices_at_its_heartbeat_that_routes_lead_on() -> None:
    tested = Peer()
    tested.joined_by(70)
    tested.clear()
    tested.overlay.lay(TOPIC, 61)
    tested.environment.advance(HEARTBEAT)
    assert (61, TreeJoin(topic=TOPIC, child=SELF)) in tested.sent(TreeJoin)


def test_who_is_now_the_closest_becomes_the_root_and_leaves_its_parent() -> None:
    tested = forwarder(70, parent=60)
    tested.overlay.lay(TOPIC, None)
    keep_alive(tested, {60: TreeHeartbeat(children=[TOPIC])}, 1)
    assert (60, TreeLeave(topics=[TOPIC])) in tested.sent(TreeLeave)
    assert tested.scribe.gauges()["root_topics"] == 1


def test_a_closer_parent_is_kept_when_routes_change() -> None:
    parent, other = nearer(TOPIC, count=2)
    tested = member(parent=parent)
    tested.overlay.lay(TOPIC, other)
    tested.environment.advance(HEARTBEAT)
    assert not tested.sent(TreeJoin)


def test_a_parent_that_leads_away_is_kept_only_while_the_route_does() -> None:
    away = further(TOPIC)
    tested = member(parent=away)
    keep_alive(tested, {away: TreeHeartbeat(children=[TOPIC])}, 1)
    assert not tested.sent(TreeJoin)
    tested.overlay.lay(TOPIC, 61)
    keep_alive(tested, {away: TreeHeartbeat(children=[TOPIC])}, 1)
    assert (61, TreeJoin(topic=TOPIC, child=SELF)) in tested.environment.outbox
    assert (away, TreeLeave(topics=[TOPIC])) in tested.environment.outbox


def test_a_parent_that_asks_its_own_child_is_adopted_and_no_parent_any_more() -> None:
    tested = member(parent=60)
    assert not tested.joined_by(60)
    assert tested.environment.outbox == [(60, TreeAcceptance(topic=TOPIC))]
    tested.clear()
    tested.environment.advance(JOIN_TIMEOUT)
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


# Events


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
    assert tested.sent(Multicast) == [(88, Multicast(event=tested.event(2, hops=1, publisher=SELF)))]
    tested.environment.advance(60.0)
    assert not tested.sent(EventData)


def test_an_event_that_its_root_did_not_get_is_routed() -> None:
    tested = Peer({TOPIC: 60}, multicast_timeout="3 s")
    tested.hand(88, RootAddress(topic=TOPIC))
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    tested.clear()
    tested.environment.advance(1.0)
    tested.scribe.on_unreachable(88)
    tested.environment.advance(2.0)
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]
    tested.scribe.publish(Event(2, SELF, TOPIC, payload=b"x"))
    assert [peer for peer, _ in tested.sent(EventData)] == [60]


def test_the_root_sends_a_routed_event_down_and_tells_the_publisher_who_it_is() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.joined_by(70)
    tested.clear()
    tested.route_through(tested.event(1, hops=0, publisher=9), TOPIC, hops=3)
    assert tested.environment.outbox == [
        (9, RootAddress(topic=TOPIC)),
        (70, tested.event(1, hops=4, publisher=9)),
    ]
    assert [event.hops for event in tested.environment.delivered] == [3]


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
    tested.hand(9, Multicast(event=tested.event(1, hops=1)))
    assert tested.sent(EventData) == [(70, tested.event(1, hops=2))]
    tested.overlay.lay(TOPIC, 60)
    tested.hand(9, Multicast(event=tested.event(2, hops=1)))
    assert tested.sent(EventData) == [(60, tested.event(2, hops=1))]


def test_routed_hops_add_to_those_before() -> None:
    tested = Peer(subscribed=[TOPIC])
    tested.route_through(tested.event(1, hops=1), TOPIC, hops=2)
    assert [event.hops for event in tested.environment.delivered] == [3]


def test_events_go_on_to_the_root_through_peers_in_the_tree() -> None:
    tested = member(parent=60)
    assert tested.route_through(tested.event(1), TOPIC)
    assert not tested.environment.delivered


def test_a_publication_waits_for_the_first_neighbour() -> None:
    tested = Peer({TOPIC: 60}, closest=[])
    tested.scribe.publish(Event(1, SELF, TOPIC, payload=b"x"))
    tested.environment.advance(3.0)
    assert not tested.sent(EventData)
    tested.overlay.closest.append(60)
    tested.environment.advance(1.0)
    assert tested.sent(EventData) == [(60, tested.event(1, hops=0, publisher=SELF))]


# Groups


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


# The rest


def test_it_counts_the_trees_that_it_is_in_for_others() -> None:
    tested = Peer({1: 60, 2: 60}, [1])
    tested.joined_by(70, topic=1)
    tested.joined_by(70, topic=2)
    tested.joined_by(71, topic=3)
    assert tested.scribe.gauges() == {
        "leaves": 1.0,
        "relayed_topics": 2.0,
        "root_topics": 1.0,
        "tree_children": 3.0,
    }
    assert tested.scribe.neighbours() == {"leaf": [1, 2, 3]}


def test_it_refuses_what_is_no_topic() -> None:
    tested = Peer()
    with pytest.raises(TypeError, match="RangeInterest"):
        tested.scribe.subscribe(RangeInterest({}))
    with pytest.raises(TypeError, match="none"):
        tested.scribe.publish(Event(1, SELF))
