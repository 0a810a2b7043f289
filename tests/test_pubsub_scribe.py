"""Scribe, one peer at a time: joining and leaving trees."""

from __future__ import annotations

import pytest
from scribe_peer import (
    JOIN_TIMEOUT,
    SELF,
    TOPIC,
    Peer,
    contact,
    forwarder,
    member,
    topics,
)

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Event, RangeInterest, TopicInterest
from trellis.v1.overlay import LookupRequest
from trellis.v1.scribe import (
    TreeAcceptance,
    TreeHeartbeat,
    TreeJoin,
    TreeLeave,
)


def test_a_subscription_routes_a_join_towards_the_topic() -> None:
    tested = Peer({TOPIC: 60})
    tested.scribe.subscribe(TopicInterest(TOPIC))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_subscription_made_before_the_start_is_joined_at_the_start() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC])
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_join_waits_until_the_peer_has_joined_the_overlay() -> None:
    tested = Peer({TOPIC: 60}, [TOPIC], ready=False)
    tested.environment.advance(5 * JOIN_TIMEOUT)
    tested.scribe.neighbour_changed(contact(60), joined=True)
    tested.environment.advance(0.0)
    assert not tested.sent(TreeJoin)
    assert not tested.scribe.gauges()["root_topics"]
    tested.overlay.joined = True
    tested.scribe.neighbour_changed(contact(61), joined=True)
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
    tested.fail(60)
    assert not tested.environment.outbox, "it would be in the trace of whatever failed to reach the hop"
    tested.environment.advance(0.0)
    assert tested.sent(TreeJoin) == [(62, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_join_waits_while_the_overlay_still_leads_to_the_unreachable_hop() -> None:
    """Otherwise it would be sent to the same hop as often as that can fail."""
    tested = Peer({TOPIC: 60}, [TOPIC])
    tested.clear()
    tested.fail(60)
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
    assert tested.sent(TreeAcceptance) == [(70, TreeAcceptance(topic=TOPIC, identifier=hash_of_peer(SELF)))]
    tested = Peer({TOPIC: 60})
    tested.joined_by(70)
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]


def test_a_peer_in_the_tree_adopts_and_asks_nobody() -> None:
    tested = forwarder(70)
    assert not tested.joined_by(71)
    assert not tested.sent(TreeJoin)
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
    assert tested.sent(TreeLeave) == [(61, TreeLeave(topics=topics(TOPIC)))]
    tested.accepted_by(60)
    assert not tested.environment.outbox


def test_who_is_in_no_tree_refuses_a_parent() -> None:
    tested = Peer({TOPIC: 60})
    tested.accepted_by(60)
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(TOPIC)))]


def test_a_leaf_tells_its_parent_that_it_leaves() -> None:
    tested = member(parent=60)
    tested.scribe.unsubscribe(TopicInterest(TOPIC))
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(TOPIC)))]
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
    tested.hand(70, TreeLeave(topics=topics(TOPIC)))
    assert not tested.sent(TreeLeave)
    tested.hand(71, TreeLeave(topics=topics(TOPIC)))
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(TOPIC)))]


def test_a_member_whose_last_child_leaves_stays() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.hand(70, TreeLeave(topics=topics(TOPIC)))
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
    tested.hand(61, TreeLeave(topics=topics(TOPIC)))
    tested.hand(60, TreeLeave(topics=topics(TOPIC)))
    assert not tested.environment.outbox


def test_a_graceful_stop_tells_parents_and_children_after_the_overlays_goodbye() -> None:
    tested = member(parent=60)
    tested.joined_by(70)
    tested.clear()
    tested.scribe.stop(graceful=True)
    assert tested.overlay.left is True
    assert [(sent.peer, sent.message, sent.channel) for sent in tested.environment.outbox] == [
        (99, LookupRequest(), "overlay"),
        (60, TreeLeave(topics=topics(TOPIC)), ""),
        (70, TreeHeartbeat(), ""),
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


def test_it_counts_the_trees_that_it_is_in_for_others() -> None:
    tested = Peer({1: 60, 2: 60}, [1])
    tested.joined_by(70, topic=1)
    tested.joined_by(70, topic=2)
    tested.joined_by(71, topic=3)
    assert tested.scribe.gauges() == {
        "relayed_topics": 2.0,
        "root_topics": 1.0,
        "tree_children": 3.0,
    }


def test_it_refuses_what_is_no_topic() -> None:
    tested = Peer()
    with pytest.raises(TypeError, match="RangeInterest"):
        tested.scribe.subscribe(RangeInterest({}))
    with pytest.raises(TypeError, match="none"):
        tested.scribe.publish(Event(1, SELF))
