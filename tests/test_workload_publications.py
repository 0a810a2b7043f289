"""Publications: on topics by rate, from peers that are up and subscribed at that time."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.churn.sessions import Sessions
from emulator.workload.publications import Publications, draw_publications
from emulator.workload.subscriptions import Subscriptions

WINDOW = (40.0, 70.0)


def sessions_of(*rows: tuple[int, float, float]) -> Sessions:
    peer, start, end = zip(*rows, strict=True)
    return Sessions(np.array(peer, np.int32), np.array(start), np.array(end))


def subscriptions_of(topics: int, *rows: tuple[int, int, float, float]) -> Subscriptions:
    peer, topic, start, end = zip(*sorted(rows), strict=True)
    return Subscriptions(
        topics, np.array(peer, np.int32), np.array(topic, np.int32), np.array(start), np.array(end)
    )


def draw(
    events: int,
    rates: list[float],
    subscriptions: Subscriptions,
    sessions: Sessions,
    by_subscriber: bool = True,
) -> Publications:
    return draw_publications(
        events, by_subscriber, WINDOW, np.array(rates), subscriptions, sessions, np.random.default_rng(1)
    )


def test_times_are_sorted_and_spread_over_the_window() -> None:
    drawn = draw(3000, [1.0], subscriptions_of(1, (0, 0, 0, 80)), sessions_of((0, 0, 80)))
    assert (np.diff(drawn.at) >= 0).all()
    assert np.histogram(drawn.at, bins=3, range=WINDOW)[0] == pytest.approx([1000] * 3, rel=0.1)


def test_topics_are_drawn_by_rate_and_publishers_evenly() -> None:
    subscriptions = subscriptions_of(2, (0, 0, 0, 80), (1, 0, 0, 80), (2, 1, 0, 80))
    drawn = draw(4000, [3.0, 1.0], subscriptions, sessions_of((0, 0, 80), (1, 0, 80), (2, 0, 80)))
    assert (drawn.topic == 0).mean() == pytest.approx(0.75, abs=0.03)
    assert (drawn.publisher[drawn.topic == 0] == 0).mean() == pytest.approx(0.5, abs=0.04)
    assert set(drawn.publisher[drawn.topic == 1].tolist()) == {2}


def test_a_publisher_is_up_and_subscribed_at_that_time() -> None:
    subscriptions = subscriptions_of(2, (0, 0, 0, 55), (0, 1, 55, 80), (1, 0, 0, 80), (1, 1, 0, 80))
    sessions = sessions_of((0, 0, 45), (0, 50, 80), (1, 43, 60))
    drawn = draw(2000, [1.0, 1.0], subscriptions, sessions)
    for at, peer, topic in zip(drawn.at, drawn.publisher.tolist(), drawn.topic.tolist(), strict=True):
        if peer == 0:
            assert at < 45 or at >= 50
            assert topic == (0 if at < 55 else 1)
        else:
            assert 43 <= at < 60
    assert set(drawn.publisher[drawn.at >= 60].tolist()) == {0}


def test_any_peer_that_is_up_may_publish_if_asked() -> None:
    subscriptions = subscriptions_of(1, (0, 0, 0, 80))
    sessions = sessions_of((0, 0, 80), (1, 0, 80), (2, 0, 30))
    drawn = draw(500, [1.0], subscriptions, sessions, by_subscriber=False)
    assert set(drawn.publisher.tolist()) == {0, 1}


def test_another_topic_is_drawn_for_one_that_nobody_hears_however_rare_it_is() -> None:
    subscriptions = subscriptions_of(3, (0, 0, 0, 30), (1, 2, 0, 80))
    drawn = draw(20, [1.0, 1.0, 1e-12], subscriptions, sessions_of((0, 0, 80), (1, 0, 80)))
    assert set(drawn.topic.tolist()) == {2}
    assert set(drawn.publisher.tolist()) == {1}


def test_a_time_at_which_nobody_could_hear_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no peer that is up then subscribes to anything"):
        draw(20, [1.0], subscriptions_of(1, (0, 0, 0, 80)), sessions_of((0, 0, 30), (1, 0, 80)))


def test_no_events_need_no_audience() -> None:
    assert len(draw(0, [1.0], subscriptions_of(1, (0, 0, 0, 80)), sessions_of((0, 0, 1))).at) == 0
