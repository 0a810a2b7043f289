"""What is due to peers that have just joined, and what is not, counted by hand."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures.coverage import hit_ratio_after_joins
from analysis.tables.deliveries import _expected, due

PUBLISHED = 100.0
SINCE = {1: 60.0, 2: 10.0, 3: 9.9, 4: 1.5, 5: 0.0, 10: 9.9, 11: 10.0, 13: 9.9}
"""Peers to which the event is due, and how long ago they had joined (s)."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """One event by peer 0, at 100 s; the trial ends at 150 s."""
    until = {13: 105.0}  # leaves as early as it may, and gives its subscription up then
    stays = [(peer, PUBLISHED - since, until.get(peer, 150.0)) for peer, since in SINCE.items()]
    others = [
        (0, 0.0, 150.0),  # the publisher
        (6, 100.1, 150.0),  # joins too late
        (7, 50.0, 104.9),  # leaves too early
        (8, 50.0, 150.0),  # subscribed 5 s ago
        (9, 98.0, 150.0),  # gives its subscription up too early
        (12, None, None),  # never came up
    ]
    asked = {8: (95.0, 150.0), 9: (98.0, 104.0), 4: (98.5, 150.0), 11: (90.0, 150.0), 13: (0.0, 105.0)}
    subscriptions = [("t", 5, peer, *asked.get(peer, (0.0, 150.0))) for peer, *_ in stays + others]
    subscriptions += [("t", 5, 3, 0.0, 150.0), ("t", 6, 1, 0.0, 150.0)]
    made = [(peer, True) for peer in (1, 3, 5, 6)] + [(2, False), (11, False)]
    frame = spark.createDataFrame
    return {
        "trials": frame([("t", 150.0)], "trial string, trial_end_s double"),
        "operations": frame(
            [("t", b"1", "publish", 0, 5, 7, PUBLISHED)],
            "trial string, trace binary, operation string, peer int, topic int, event int, at_s double",
        ),
        "sessions": frame(
            [("t", *session) for session in stays + others],
            "trial string, peer int, start_s double, end_s double",
        ),
        "subscriptions": frame(
            subscriptions, "trial string, topic int, peer int, start_s double, end_s double"
        ),
        "interests": frame([], "trial string, event int, peer int, expected boolean"),
        "deliveries": frame(
            [("t", 7, *one) for one in made], "trial string, event int, peer int, delivered boolean"
        ),
    }


def test_an_event_is_due_from_the_join_on_to_who_stays(tables: dict[str, DataFrame]) -> None:
    rows = due(tables).collect()
    assert {row.peer: row.since_join_s for row in rows} == pytest.approx(SINCE)
    assert len(rows) == len(SINCE), "two clients of one peer are owed an event once"


def test_an_event_counts_from_ten_seconds_after_the_join_on(tables: dict[str, DataFrame]) -> None:
    assert {row.peer for row in _expected(tables).collect()} == {1, 2, 11}


def test_deliveries_are_told_apart_by_the_time_since_the_join(tables: dict[str, DataFrame]) -> None:
    (row,) = hit_ratio_after_joins(tables).collect()
    found = {name: value for name, value in row.asDict().items() if name != "trial"}
    assert found == {
        **{"due_after_0_s": 2, "hit_ratio_after_0_s": 1 / 2},
        **{"due_after_2_s": 0, "hit_ratio_after_2_s": None},
        **{"due_after_5_s": 3, "hit_ratio_after_5_s": 1 / 3},
        **{"due_after_10_s": 2, "hit_ratio_after_10_s": 0},
        **{"due_after_20_s": 0, "hit_ratio_after_20_s": None},
        **{"due_after_30_s": 0, "hit_ratio_after_30_s": None},
        **{"due_after_60_s": 1, "hit_ratio_after_60_s": 1},
    }
