"""What gradients are worth, what filters cost, and how many links peers have, counted by hand."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from analysis.measures.by_topic import BY_TOPIC
from analysis.measures.degrees import degrees
from analysis.measures.filters import filter_traffic
from analysis.measures.gradients import filters_kept, gradients

STATES = "trial string, moment string, peer int, name string, value double"


def told(spark: SparkSession, counts: dict[tuple[int, str], float], moment: str = "end") -> dict[str, float]:
    """Return the measures of what peers tell of themselves."""
    rows = [("t", moment, peer, name, float(value)) for (peer, name), value in counts.items()]
    rows += [("t", "start", 0, "directed_0", 1000.0), ("t", "start", 0, "filter_bytes", 1e6)]
    found: dict[str, float] = {}
    tables = {"states": spark.createDataFrame(rows, STATES)}
    for query in (filters_kept, gradients):
        for row in query(tables).collect():
            found |= {name: value for name, value in row.asDict().items() if name != "trial"}
    return found


def test_false_gradients_and_their_recovery_are_shares_over_all_peers_and_levels(spark: SparkSession) -> None:
    found = told(spark, {
        (0, "directed_0"): 10, (1, "directed_0"): 6, (0, "directed_1"): 20, (0, "directed_2"): 64,
        (0, "astray_0"): 1, (1, "astray_0"): 1, (0, "astray_1"): 0, (0, "astray_2"): 8,
        (0, "recovered_0"): 1, (0, "recovered_1"): 0, (0, "recovered_2"): 4,
        (0, "filter_bytes"): 3072, (1, "filter_bytes"): 9216,
    })  # fmt: skip
    assert found == {
        "gradients_false": 10 / 100,
        "gradients_recovered": 5 / 10,
        "gradients_false_0": 2 / 16,
        "gradients_false_1": 0,
        "gradients_false_2": 8 / 64,
        "filter_bytes_max": 9216,
    }
    assert set(found) <= set(BY_TOPIC.measures)


def test_levels_below_the_papers_three_count_with_all(spark: SparkSession) -> None:
    counts = {
        (0, "directed_0"): 50.0,
        (0, "directed_4"): 25.0,
        (0, "directed_12"): 25.0,
        (0, "astray_0"): 1.0,
    }
    found = told(spark, counts | {(0, "astray_4"): 3.0, (0, "astray_12"): 6.0, (0, "recovered_12"): 5.0})
    assert (found["gradients_false"], found["gradients_recovered"]) == (10 / 100, 5 / 10)
    assert (found["gradients_false_0"], found["gradients_false_2"]) == (1 / 50, None)


def test_where_no_gradient_was_followed_none_is_false(spark: SparkSession) -> None:
    nothing = {
        (0, f"{name}_{level}"): 0.0 for name in ("directed", "astray", "recovered") for level in (0, 1)
    }
    found = told(spark, nothing)
    assert found["gradients_false"] is None and found["gradients_recovered"] is None
    assert "gradients_false" not in told(spark, {(0, "degree"): 3.0, (0, "astray"): 1.0})


def test_filters_are_told_in_bytes_a_second_and_peer(spark: SparkSession) -> None:
    messages = [("t", "GradientUpdate", 600), ("t", "GradientUpdate", 200), ("t", "NewscastExchange", 5000)]
    (row,) = filter_traffic({
        "messages": spark.createDataFrame(messages, "trial string, message string, bytes bigint"),
        "traffic": spark.createDataFrame([("t", 20.0), ("t", 5.0), ("t", 15.0)], "trial string, up_s double"),
    }).collect()  # fmt: skip
    assert row.filter_bytes_per_s == 800 / 40


def test_peers_with_many_neighbours_are_counted_over_all_channels(spark: SparkSession) -> None:
    links = [("t", "end", 0, channel, n) for n in range(201) for channel in "ab"]
    links += [("t", "end", 1, "a" if n % 2 else "b", n) for n in range(200)]
    links += [("t", "end", 2, "a", n) for n in range(16)] + [("t", "end", 3, "a", n) for n in range(15)]
    links += [("t", "start", 3, "a", n) for n in range(900)]
    columns = "trial string, moment string, peer int, channel string, neighbour int"
    (row,) = degrees({"links": spark.createDataFrame(links, columns)}).collect()
    assert row.neighbours_above_200 == 1 / 4
    assert row.neighbours_above_15 == 3 / 4
    assert row.neighbours_sd == pytest.approx(92.5, abs=0.1)
