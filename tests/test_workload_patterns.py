"""The paper's subscription patterns, publication rates, and changing interests."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.experiment.file.spec import TrialSpec
from emulator.workload.changes import replace_topics
from emulator.workload.draw_subscriptions import change_subscriptions, draw_subscriptions
from emulator.workload.patterns import distinct
from emulator.workload.problems import workload_problems
from emulator.workload.spec import BucketPattern, PowerLaw, Uniform
from emulator.workload.subscriptions import held_throughout
from emulator.workload.topic_rates import draw_rates


def pattern(kind: str, **fields: int) -> BucketPattern:
    return BucketPattern.model_validate({"kind": kind, **fields})


def drawn(source: BucketPattern, peers: int) -> np.ndarray[Any, Any]:
    """Return the topics of each peer, a row each."""
    return draw_subscriptions(source, peers, 80.0, np.random.default_rng(1)).topic.reshape(peers, -1)


def buckets_of(row: np.ndarray[Any, Any], size: int) -> list[int]:
    return sorted(Counter((row // size).tolist()).values())


@pytest.mark.parametrize(("kind", "counts"), [("low", [10] * 5), ("high", [25] * 2)])
def test_correlated_patterns_take_equal_parts_of_a_few_buckets(kind: str, counts: list[int]) -> None:
    for row in drawn(pattern(kind), 200):
        assert len(set(row.tolist())) == 50
        assert buckets_of(row, 50) == counts


@pytest.mark.parametrize("kind", ["random", "low", "high"])
def test_all_topics_are_equally_popular(kind: str) -> None:
    topics = drawn(pattern(kind, topics=500, buckets=10), 4000)
    followers = np.bincount(topics.ravel(), minlength=500)
    assert followers.sum() == 4000 * 50
    assert followers.mean() == 400
    assert followers.min() > 300
    assert followers.max() < 500


@settings(deadline=None)
@given(rows=st.integers(0, 20), choices=st.integers(1, 30), data=st.data())
def test_distinct_numbers_are_distinct_and_in_range(rows: int, choices: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, choices))
    drawn = distinct(rows, choices, size, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert drawn.shape == (rows, size)
    for row in drawn.tolist():
        assert len(set(row)) == size
        assert set(row) <= set(range(choices))


def test_every_set_of_distinct_numbers_is_equally_likely() -> None:
    sets = Counter(frozenset(row) for row in distinct(30_000, 5, 2, np.random.default_rng(1)).tolist())
    assert len(sets) == 10
    assert min(sets.values()) > 2800
    assert max(sets.values()) < 3200


@pytest.mark.parametrize(
    ("kind", "fields", "key", "problem"),
    [
        ("low", {"per_peer": 12}, "per_peer", "a peer's 5 buckets. Make it a multiple of 5"),
        ("high", {"per_peer": 25}, "per_peer", "25 topics do not divide"),
        ("high", {"per_peer": 102}, "per_peer", "51 topics from each of a peer's 2 bucket"),
        ("random", {"topics": 40}, "per_peer", "a bucket has only 40"),
        ("low", {"buckets": 4}, "buckets", "4, but with low correlation a peer has 5"),
        ("low", {"topics": 4999}, "buckets", "4999 topics do not divide into 100"),
    ],
)
def test_patterns_that_cannot_be_drawn_are_told(
    kind: str, fields: dict[str, int], key: str, problem: str
) -> None:
    ((found_key, found),) = pattern(kind, **fields).problems()
    assert found_key == key
    assert problem in found


def test_patterns_that_just_fit_are_allowed() -> None:
    for kind, fields in [("random", {"topics": 50}), ("high", {"per_peer": 100}), ("low", {"buckets": 5})]:
        assert pattern(kind, **fields).problems() == []
        drawn(pattern(kind, **fields), 5)


def test_rates_add_up_to_the_events_of_the_measure_phase() -> None:
    random = np.random.default_rng(1)
    uniform = draw_rates(Uniform(), 100, 400, 20.0, random)
    assert uniform == pytest.approx(np.full(100, 0.2))
    skewed = draw_rates(PowerLaw(kind="power-law", alpha=2.0), 100, 400, 20.0, random)
    assert skewed.sum() * 20.0 == pytest.approx(400)
    ordered = np.sort(skewed)[::-1]
    assert ordered[0] / ordered[9] == pytest.approx(100)
    assert skewed.argmax() != 0
    assert (draw_rates(Uniform(), 10, 0, 20.0, random) > 0).all()


def test_a_share_of_each_peers_topics_is_replaced_within_their_buckets() -> None:
    source = pattern("high")
    held = draw_subscriptions(source, 50, 80.0, np.random.default_rng(1))
    changed = change_subscriptions(held, source, 0.2, (40.0, 70.0), Random(1))
    assert len(changed.peer) == 50 * 60
    for peer in range(50):
        mine = changed.peer == peer
        topic, start, end = changed.topic[mine], changed.start[mine], changed.end[mine]
        assert len(set(topic.tolist())) == 60
        assert sorted(start[start > 0]) == sorted(end[end < 80])
        assert len(start[start > 0]) == 10
        assert ((start == 0) | (start >= 40)).all()
        assert ((end == 80) | (end <= 70)).all()
        for time in (0.0, 45.0, 79.0):
            assert buckets_of(topic[(start <= time) & (time < end)], 50) == [25, 25]


def test_a_share_of_less_than_a_topic_is_met_on_average() -> None:
    peer = np.repeat(np.arange(4000, dtype=np.int32), 3)
    held = held_throughout(100, peer, np.tile(np.array([1, 5, 9], np.int32), 4000), 80.0)
    changed = replace_topics(held, 0.1, 100, False, (40.0, 70.0), Random(1))
    assert len(changed.peer) - len(peer) == pytest.approx(1200, rel=0.08)


def test_a_peer_that_holds_every_topic_but_its_own_changes_nothing() -> None:
    held = held_throughout(3, np.array([1, 1], np.int32), np.array([0, 2], np.int32), 80.0)
    changed = replace_topics(held, 1.0, 3, True, (40.0, 70.0), Random(1))
    assert changed.topic.tolist() == [0, 2]
    assert changed.end.tolist() == [80.0, 80.0]


def test_too_few_topics_to_change_to_are_told() -> None:
    full = {"subscriptions": {"kind": "high", "per_peer": 52}, "changes": {"share": 0.1}}
    spec = TrialSpec.model_validate({"system": {"name": "vitis"}, "peers": 10, "workload": full})
    ((key, problem),) = workload_problems(spec)
    assert key == "workload.changes.share"
    assert "26 of the 50 topics" in problem


def test_without_changes_nothing_is_drawn() -> None:
    source = pattern("low")
    held = draw_subscriptions(source, 5, 80.0, np.random.default_rng(1))
    assert change_subscriptions(held, source, 0.0, (40.0, 70.0), Random(1)) is held
