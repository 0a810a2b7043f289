"""Scribe, one peer at a time: heartbeats, and trees that heal."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from scribe_peer import (
    HEARTBEAT,
    JOIN_TIMEOUT,
    SELF,
    SILENT,
    TOPIC,
    Peer,
    beat,
    contact,
    forwarder,
    further,
    member,
    nearer,
    topics,
)

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Message, TopicInterest
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import (
    TreeAcceptance,
    TreeHeartbeat,
    TreeJoin,
    TreeLeave,
)


def test_one_heartbeat_a_period_tells_a_neighbour_of_all_shared_trees() -> None:
    tested = Peer({1: 60, 2: 60, 3: 70}, [1, 2, 3])
    tested.accepted_by(60, 1, 2)
    tested.accepted_by(70, 3)
    tested.joined_by(60, topic=3)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert dict(tested.sent(TreeHeartbeat)) == {
        60: beat(children=[3], parents=[1, 2], sender=SELF),
        70: beat(parents=[3]),
    }


def test_a_neighbour_that_leaves_one_tree_stays_the_parent_in_another() -> None:
    tested = Peer({1: 60, 2: 70}, [1])
    tested.accepted_by(60, 1)
    tested.joined_by(60, topic=2)
    tested.accepted_by(70, 2)
    tested.hand(60, TreeLeave(topics=topics(2)))
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert [peer for peer, _ in tested.sent(TreeHeartbeat)] == [60]
    tested.environment.advance(SILENT * HEARTBEAT)
    assert tested.sent(TreeJoin), "the parent is silent, so another one is asked"


def test_heartbeats_that_say_the_same_are_the_same_message() -> None:
    tested = member()
    tested.environment.advance(2 * HEARTBEAT)
    first, second = (message for _, message in tested.sent(TreeHeartbeat))
    assert first is second


def test_an_event_stands_for_a_heartbeat_that_says_nothing_new() -> None:
    tested = forwarder(70, 71)
    tested.hand(60, beat(children=[TOPIC]))
    tested.environment.advance(HEARTBEAT)
    tested.receivers(1)
    tested.hand(71, TreeLeave(topics=topics(TOPIC)))
    tested.joined_by(71)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert sorted(peer for peer, _ in tested.sent(TreeHeartbeat)) == [60, 71]
    tested.environment.advance(HEARTBEAT)
    assert sorted(peer for peer, _ in tested.sent(TreeHeartbeat)) == [60, 70, 71]


def keep_alive(tested: Peer, words: Mapping[int, Message], periods: int) -> None:
    for _ in range(periods):
        for peer, word in words.items():
            tested.hand(peer, word)
        tested.environment.advance(HEARTBEAT)


def test_a_silent_parent_is_suspected_and_another_one_asked() -> None:
    tested = member(parent=nearer(TOPIC)[0])
    tested.overlay.lay(TOPIC, 61)
    tested.environment.advance((SILENT - 1) * HEARTBEAT)
    assert not tested.sent(TreeJoin)
    tested.environment.advance(2 * HEARTBEAT)
    assert tested.sent(TreeJoin)[0] == (61, TreeJoin(topic=TOPIC, child=SELF))


@pytest.mark.parametrize("word", [beat(children=[TOPIC]), EventData(event=1, topic=TOPIC, publisher=9)])
def test_a_parent_that_speaks_is_kept(word: Message) -> None:
    tested = member(parent=60)
    keep_alive(tested, {60: word}, 3 * SILENT)
    assert not tested.sent(TreeJoin)


def test_a_parent_that_does_not_know_the_child_is_left() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1, 2)
    tested.clear()
    tested.hand(60, beat(children=[1]))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=2, child=SELF))]


def test_an_unreachable_parent_is_replaced_at_once() -> None:
    tested = member(parent=60)
    tested.overlay.lay(TOPIC, 61)
    tested.fail(60)
    assert tested.sent(TreeJoin) == [(61, TreeJoin(topic=TOPIC, child=SELF))]


def test_the_root_fails_over_to_who_is_the_closest_now() -> None:
    tested = member(parent=60)
    tested.overlay.lay(TOPIC, None)
    tested.fail(60)
    assert tested.scribe.gauges()["root_topics"] == 1


def test_an_unreachable_child_is_dropped_and_with_it_what_was_for_it_alone() -> None:
    tested = forwarder(70, parent=60)
    tested.fail(70)
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(TOPIC)))]
    tested = forwarder(70, 71)
    tested.fail(70)
    assert tested.receivers() == [71]


def test_a_child_that_is_silent_is_dropped() -> None:
    tested = forwarder(70, 71)
    keep_alive(tested, {60: beat(children=[TOPIC]), 71: beat(parents=[TOPIC])}, SILENT + 2)
    assert tested.receivers() == [71]


def test_a_child_that_does_not_refresh_a_topic_is_dropped_from_its_tree_alone() -> None:
    tested = Peer()
    tested.joined_by(70, topic=1)
    tested.joined_by(70, topic=2)
    keep_alive(tested, {70: beat(parents=[2])}, SILENT - 1)
    assert tested.receivers(1, topic=1) == [70]
    keep_alive(tested, {70: beat(parents=[2])}, 3)
    assert tested.receivers(2, topic=1) == []
    assert tested.receivers(3, topic=2) == [70]


def test_a_refresh_adopts_a_child_that_was_forgotten() -> None:
    tested = Peer({TOPIC: 60})
    tested.hand(70, beat(parents=[TOPIC]))
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]
    assert tested.receivers() == [70]


def test_who_takes_this_peer_for_its_child_is_told_otherwise_each_time() -> None:
    tested = Peer({TOPIC: 60})
    for _ in range(2):
        tested.hand(60, beat(children=[TOPIC]))
        assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(TOPIC)))]


def test_a_leave_that_was_lost_is_told_again() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1, 2)
    tested.hand(60, beat(children=[1, 2]))
    tested.scribe.unsubscribe(TopicInterest(2))
    tested.clear()
    tested.hand(60, beat(children=[1, 2]))
    assert tested.sent(TreeLeave) == [(60, TreeLeave(topics=topics(2)))]


def test_the_next_heartbeat_tells_what_has_changed() -> None:
    tested = Peer({1: 60, 2: 60}, [1, 2])
    tested.accepted_by(60, 1)
    tested.environment.advance(HEARTBEAT)
    tested.accepted_by(60, 2)
    tested.clear()
    tested.environment.advance(HEARTBEAT)
    assert tested.sent(TreeHeartbeat) == [(60, beat(parents=[1, 2]))]


def test_a_root_asks_a_closer_peer_as_soon_as_it_appears() -> None:
    tested = Peer()
    tested.joined_by(70)
    tested.clear()
    (closer,) = nearer(TOPIC)
    tested.overlay.lay(TOPIC, closer)
    tested.scribe.neighbour_changed(contact(closer), joined=True)
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
    keep_alive(tested, {60: beat(children=[TOPIC])}, 1)
    assert (60, TreeLeave(topics=topics(TOPIC))) in tested.sent(TreeLeave)
    assert tested.scribe.gauges()["root_topics"] == 1


def test_who_becomes_the_closest_because_a_neighbour_went_is_the_root_before_its_heartbeat() -> None:
    tested = forwarder(70, parent=60)
    tested.overlay.lay(TOPIC, None)
    tested.overlay.tell_change(contact(61), False)
    assert tested.scribe.gauges()["root_topics"] == 1
    assert (60, TreeLeave(topics=topics(TOPIC))) in tested.sent(TreeLeave)


def test_a_closer_parent_is_kept_when_routes_change() -> None:
    parent, other = nearer(TOPIC, count=2)
    tested = member(parent=parent)
    tested.overlay.lay(TOPIC, other)
    tested.environment.advance(HEARTBEAT)
    assert not tested.sent(TreeJoin)


def test_a_parent_that_leads_away_is_kept_only_while_the_route_does() -> None:
    away = further(TOPIC)
    tested = member(parent=away)
    keep_alive(tested, {away: beat(children=[TOPIC], sender=away)}, 1)
    assert not tested.sent(TreeJoin)
    tested.overlay.lay(TOPIC, 61)
    keep_alive(tested, {away: beat(children=[TOPIC], sender=away)}, 1)
    sent = [(sent.peer, sent.message) for sent in tested.environment.outbox]
    assert (61, TreeJoin(topic=TOPIC, child=SELF)) in sent
    assert (away, TreeLeave(topics=topics(TOPIC))) in sent


def test_a_parent_that_moves_away_from_the_topic_is_left() -> None:
    """Its heartbeats tell where it is now."""
    (parent,) = nearer(TOPIC)
    tested = member(parent=parent)
    tested.overlay.lay(TOPIC, 61)
    keep_alive(tested, {parent: beat(children=[TOPIC], sender=parent)}, 1)
    assert not tested.sent(TreeJoin)
    keep_alive(tested, {parent: beat(children=[TOPIC], sender=further(TOPIC))}, 1)
    assert (61, TreeJoin(topic=TOPIC, child=SELF)) in tested.sent(TreeJoin)


def test_a_peer_that_moves_tells_its_children() -> None:
    tested = forwarder(70)
    tested.environment.advance(HEARTBEAT)
    tested.clear()
    tested.overlay.move_to(hash_of_peer(61))
    tested.environment.advance(HEARTBEAT)
    assert dict(tested.sent(TreeHeartbeat))[70] == beat(children=[TOPIC], sender=61)


def test_a_parent_that_asks_its_own_child_is_adopted_and_no_parent_any_more() -> None:
    tested = member(parent=60)
    assert not tested.joined_by(60)
    (sent,) = tested.environment.outbox
    assert (sent.peer, sent.message) == (60, TreeAcceptance(topic=TOPIC, identifier=hash_of_peer(SELF)))
    tested.clear()
    tested.environment.advance(JOIN_TIMEOUT)
    assert tested.sent(TreeJoin) == [(60, TreeJoin(topic=TOPIC, child=SELF))]
