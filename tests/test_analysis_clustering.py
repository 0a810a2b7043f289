"""What is measured of rings by interest, of trees and of popular topics, on tables made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import clustering

TRIALS = [("t", 10.0, 20.0)]


@pytest.fixture
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Four peers at a, b, c, d of a ring; peer 3 came from elsewhere, 1 goes on later, and 4 has left."""

    def table(rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
        return spark.createDataFrame(rows, columns)

    places = [(0, 1.0, "a"), (1, 1.0, "b"), (2, 1.0, "c"), (3, 1.0, "aa"), (3, 5.0, "d"), (4, 1.0, "ab")]
    places += [(1, 15.0, "f")]
    held = {0: (1, 2, 3), 1: (2, 3, 4), 2: (9,), 3: (1, 2, 3), 4: (1,)}
    return {
        "trials": table(TRIALS, "trial string, measure_start_s double, measure_end_s double"),
        "sessions": table(
            [("t", peer, 0.0, 8.0 if peer == 4 else 30.0) for peer in held],
            "trial string, peer int, start_s double, end_s double",
        ),
        "identifiers": table(
            [("t", peer, "interest", at, place, "clockwise") for peer, at, place in places]
            + [("t", peer, "control", 1.0, f"{9 - peer}", "ring") for peer in held],
            "trial string, peer int, channel string, at_s double, identifier string, space string",
        ),
        "subscriptions": table(
            [("t", peer, topic, 0.0, 30.0) for peer, topics in held.items() for topic in topics]
            + [("t", 2, 1, 12.0, 30.0)],
            "trial string, peer int, topic int, start_s double, end_s double",
        ),
        # Event 0 is about topic 2, which three have; 1 about 1; 2 about 9, which one has; 3 about nobody's.
        "operations": table(
            [
                *(("t", b"a", "publish", 0, 2), ("t", b"b", "publish", 1, 1), ("t", b"c", "publish", 2, 9)),
                *(("t", b"d", "publish", 3, 77), ("t", b"e", "subscribe", None, 2)),
            ],
            "trial string, trace binary, operation string, event int, topic int",
        ),
        "relays": table(
            [
                *(("t", 0, 3, "peer"), ("t", 1, 2, "peer"), ("t", 1, 0, "server")),
                *(("t", 2, 0, "peer"), ("t", 2, 1, "peer"), ("t", 3, 1, "peer")),
            ],
            "trial string, event int, peer int, role string",
        ),
        # Event 0 takes two hops to the root and two from there on, event 1 begins at the root.
        "hops": table(
            [
                *(("t", b"a", "Routed", 1, 1), ("t", b"a", "Multicast", 1, 2)),
                *(("t", b"a", "EventData", sender, hops) for sender, hops in ((2, 3), (3, 4), (None, 9))),
                *(("t", b"b", "EventData", 0, hops) for hops in (1, 2, 3, 4)),
                ("t", b"e", "EventData", 2, 20),
            ],
            "trial string, trace binary, message string, sender int, hops int",
        ),
        "handled": table(
            [("t", 1, 6, 2), ("t", 2, 4, 0), ("t", 77, 8, 8)],
            "trial string, topic int, copies bigint, unwanted_copies bigint",
        ),
        "links": table(
            [("t", "interest", peer, to, "long", "end") for peer, to in ((0, 1), (2, 1), (3, 1), (1, 2))]
            + [("t", "interest", 0, 1, "successor", "end"), ("t", "interest", 0, 3, "long", "start")],
            "trial string, channel string, peer int, neighbour int, kind string, moment string",
        ),
    }


def only(frame: DataFrame) -> float:
    (row,) = frame.collect()
    return float(row[1])


def test_neighbours_are_compared_where_they_stand_when_the_measuring_begins(
    tables: dict[str, DataFrame],
) -> None:
    # 0 and 1 share 2 of 4 topics, 1 and 2 as 2 and 3 none, and 3 and 0, across zero, all.
    assert only(clustering.ring_similarity(tables, "start")) == pytest.approx((0.5 + 0 + 0 + 1) / 4)


def test_neighbours_are_compared_where_they_stand_and_by_what_they_want_when_it_ends(
    tables: dict[str, DataFrame],
) -> None:
    # 2 has taken to topic 1 and shares one of four with 0 and with 3.
    # 1 stands between 3 and 0 now, and shares two of four with each.
    assert only(clustering.ring_similarity(tables, "end")) == pytest.approx((0.25 + 0.25 + 0.5 + 0.5) / 4)


def test_a_tree_is_as_deep_as_the_way_from_its_root_to_the_last_peer(tables: dict[str, DataFrame]) -> None:
    assert only(clustering.tree_depth(tables)) == (2 + 4) / 2


def test_relays_are_told_by_the_popularity_of_topics(
    tables: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = {"1_100": (1, 1), "101_300": (2, 3), "301_on": (4, None)}
    monkeypatch.setattr(clustering, "RANKS", classes)
    (row,) = clustering.relays_by_popularity(tables).collect()
    # By subscribers, and numbers: topics 2, 3, 1, 4, 9; the server does not count.
    assert row.asDict() == {
        "trial": "t",
        "relays_per_event_1_100": 1,
        "relays_per_event_101_300": 1,
        "relays_per_event_301_on": (2 + 1) / 2,
    }


def test_popularity_is_fitted_by_a_power_law(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "FITTED", (2, 4))
    # 16 topics of one subscriber are beyond the fit, as is the one of 8; 4 have at least 2, and 1 has 4.
    popularity = [8, *[4] * 3, *[2] * 12, *[1] * 16]
    rows = [("t", peer, topic, 0.0, 30.0) for topic, n in enumerate(popularity) for peer in range(n)]
    columns = "trial string, peer int, topic int, start_s double, end_s double"
    trials = spark.createDataFrame(TRIALS, "trial string, measure_start_s double, measure_end_s double")
    tables = {"subscriptions": spark.createDataFrame(rows, columns), "trials": trials}
    ranks, counts = np.arange(2, 17), np.array(popularity[1:16])
    slope = np.polyfit(np.log(counts), np.log(ranks), 1)[0]
    assert only(clustering.popularity_exponent(tables)) == pytest.approx(-slope)


def test_unwanted_copies_of_popular_topics_are_those_of_all_their_events(
    tables: dict[str, DataFrame],
) -> None:
    assert only(clustering.popular_overhead(tables)) == pytest.approx(0.2)


def test_the_largest_in_degree_is_told_in_times_of_the_mean(tables: dict[str, DataFrame]) -> None:
    assert only(clustering.in_degree(tables)) == pytest.approx(3 / (4 / 4))
