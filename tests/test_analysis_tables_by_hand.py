"""Rows of tables and measures that no recorded trial tells apart from what is nearly right."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures.coverage import reach_by_topic
from analysis.measures.successors import wrong_successors
from analysis.otlp.message_kinds import EVENT
from analysis.tables.costs import costs, operation_traffic
from analysis.tables.deliveries import deliveries
from analysis.tables.installations import installations


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


def test_the_hit_ratio_by_topic_weighs_topics_alike_however_many_events_they_have(
    spark: SparkSession,
) -> None:
    made = [(1, 0, True), (1, 1, False), (1, 1, False), (1, 1, False), (2, 2, True)]
    rows = [(True, topic, event, delivered) for topic, event, delivered in made]
    (found,) = reach_by_topic(
        {"deliveries": table(spark, rows, "expected boolean, topic int, event int, delivered boolean")}
    ).collect()
    assert found.hit_ratio_by_topic == pytest.approx((1 / 4 + 1) / 2)


def test_a_publisher_receives_nothing_and_what_was_not_delivered_has_no_hops(spark: SparkSession) -> None:
    """Peer 0 publishes and gets a copy back; a copy for peer 2 is lost on its last hop to the application."""
    handled = [(7, 0, None, None, 2, 1, 0, 0), (7, 1, 12.0, 1, 1, 1, 0, 1), (7, 2, None, None, 3, 1, 0, 0)]
    columns = (
        "event int, peer int, delivered_s double, hops int, fewest_hops int, copies bigint, "
        "unwanted_copies bigint, deliveries bigint"
    )
    rows = deliveries(
        {
            "handled": table(spark, handled, columns),
            "interests": table(spark, [(7, 1, True), (7, 2, True)], "event int, peer int, expected boolean"),
            "publications": table(
                spark, [(7, 5, 0, 10.0)], "event int, topic int, publisher int, at_s double"
            ),
            "operations": table(
                spark,
                [(b"1", "publish", 0, 5, 7, 10.0)],
                "trace binary, operation string, peer int, topic int, event int, at_s double",
            ),
            "subscriptions": table(spark, [], "topic int, peer int, start_s double, end_s double"),
            "sessions": table(spark, [], "peer int, start_s double, end_s double"),
            "trials": table(spark, [(50.0,)], "trial_end_s double"),
        }
    ).collect()
    assert {row.peer: (row.delivered, row.fewest_hops) for row in rows} == {1: (True, 1), 2: (False, None)}


def test_a_successor_is_right_by_the_identifier_that_its_peer_took_last(spark: SparkSession) -> None:
    """Peer 0 moves from 6, between peers 1 and 2, to 9, behind both."""
    taken = [("", 0, 1.0, "6"), ("", 0, 5.0, "9"), ("", 1, 1.0, "5"), ("", 2, 1.0, "7")]
    links = [("start", "successor", "", peer, other, 10.0) for peer, other in ((1, 2), (2, 0), (0, 1))]
    (found,) = wrong_successors(
        {
            "identifiers": table(
                spark,
                [(*row, "ring") for row in taken],
                "channel string, peer int, at_s double, identifier string, space string",
            ),
            "links": table(
                spark,
                links,
                "moment string, kind string, channel string, peer int, neighbour int, at_s double",
            ),
        }
    ).collect()
    assert found.wrong_successors == 0


def test_costs_are_those_of_senders_and_0_for_peers_that_sent_nothing(spark: SparkSession) -> None:
    hops = [
        (b"1", "Copy", EVENT, 1, 0, 300),
        (b"1", "Word", "control", 2, 0, 50),
        (b"1", "Copy", EVENT, 2, 1, 70),
    ]
    operations = table(spark, [(b"1", "publish")], "trace binary, operation string")
    tables = {
        "operations": operations,
        "trials": table(spark, [(50.0,)], "trial_end_s double"),
        "hops": table(
            spark, hops, "trace binary, message string, kind string, peer int, sender int, bytes bigint"
        ),
        "installations": table(spark, [(True,)], "counted boolean"),
        "traffic": table(spark, [(0,), (1,), (2,)], "peer int"),
    }
    rows = costs(tables | {"operation_traffic": operation_traffic(tables)}).collect()
    assert {row.peer: (row.publishing, row.matching) for row in rows} == {0: (350, 50), 1: (70, 0), 2: (0, 0)}


def test_a_subscription_is_in_force_with_its_last_part_and_does_not_count_while_a_host_dies(
    spark: SparkSession,
) -> None:
    """Host records end at 40 s; what was asked from 35 s until the next record, at 50 s, is left out."""
    asked = [(b"1", 0, 20.0), (b"2", 1, 34.9), (b"3", 2, 35.0), (b"4", 3, 50.0), (b"5", 4, 50.1)]
    operations = [(trace, "subscribe", interest, 7, at, 3, 90) for trace, interest, at in asked]
    stored = [(trace, at + after, hops) for trace, _, at in asked for after, hops in ((0.1, 1), (0.4, 5))]
    rows = installations(
        {
            "operations": table(
                spark,
                operations,
                "trace binary, operation string, interest int, peer int, at_s double, messages bigint, "
                "bytes bigint",
            ),
            "trials": table(spark, [(10.0,)], "interval_s double"),
            "hops": table(
                spark,
                [(trace, at, hops, True, None, None) for trace, at, hops in stored],
                "trace binary, handled_s double, hops int, delivered boolean, event int, lookup int",
            ),
            "absences": table(spark, [(7, 40.0, 90.0)], "peer int, from_s double, until_s double"),
        }
    ).collect()
    assert all(row.delay_ms == pytest.approx(400) and row.hops == 5 for row in rows)
    assert {row.interest for row in rows if row.counted} == {0, 1, 4}
