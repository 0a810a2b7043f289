"""What is measured of rings by interest, of trees and of popular topics, on tables made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import clustering

TRIALS = [("t", 10.0, 20.0)]


@pytest.fixture
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Four peers at a, b, c, d of a ring; peer 3 came from elsewhere, and peer 4 has left before."""

    def table(rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
        return spark.createDataFrame(rows, columns)

    places = [(0, 1.0, "a"), (1, 1.0, "b"), (2, 1.0, "c"), (3, 1.0, "aa"), (3, 5.0, "d"), (4, 1.0, "ab")]
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
        "deliveries": table(
            [("t", 1, 2), ("t", 1, 5), ("t", 2, 3), ("t", 2, None)], "trial string, event int, hops int"
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
    assert only(clustering.ring_similarity(tables)) == pytest.approx((0.5 + 0 + 0 + 1) / 4)


def test_a_tree_is_as_deep_as_its_deepest_delivery(tables: dict[str, DataFrame]) -> None:
    assert only(clustering.tree_depth(tables)) == 4.0


def test_unwanted_copies_of_popular_topics_are_those_of_all_their_events(
    tables: dict[str, DataFrame],
) -> None:
    assert only(clustering.popular_overhead(tables)) == pytest.approx(0.2)


def test_the_largest_in_degree_is_told_in_times_of_the_mean(tables: dict[str, DataFrame]) -> None:
    assert only(clustering.in_degree(tables)) == pytest.approx(3 / (4 / 4))
