"""The tables and measures of messages for every peer, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import of_broadcast
from analysis.measures.link_graph import LINK_GRAPH, measure_graph
from analysis.tables import broadcasts


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


def made(spark: SparkSession) -> dict[str, DataFrame]:
    """Two messages to four other peers, of which the fifth crashed; the second one does not reach peer 3."""
    deliveries = [
        (0, 1, True, True, 1, 10.0),
        (0, 2, True, True, 2, 20.0),
        (0, 3, True, True, 2, 40.0),
        (0, 4, False, True, 3, 90.0),  # not expected: it leaves too soon
        (1, 1, True, True, 1, 10.0),
        (1, 2, True, True, 2, 30.0),
        (1, 3, True, False, None, None),
    ]
    handled = [
        (0, 0, 1, 2),
        (0, 1, 1, 3),
        (0, 2, 3, 3),
        (0, 3, 1, 2),
        (0, 4, 1, 1),
        (1, 1, 1, 1),
        (1, 2, 1, 2),
    ]
    tables = {
        "deliveries": table(
            spark,
            deliveries,
            "event int, peer int, expected boolean, delivered boolean, hops int, delay_ms double",
        ),
        "handled": table(spark, handled, "event int, peer int, copies int, messages int"),
        "operations": table(
            spark,
            [("publish", "a", 0, None, 0, 50.0), ("publish", "b", 1, None, 0, 60.0)],
            "operation string, trace string, event int, topic int, peer int, at_s double",
        ),
        "publications": table(
            spark,
            [(0, None, 0, 50.0, 256), (1, None, 0, 60.0, 256)],
            "event int, topic int, publisher int, at_s double, payload_bytes int",
        ),
        "faults": table(spark, [(55.0,)], "first_s double"),
        "links": table(
            spark,
            [("start", a, b) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3))]
            + [("start", 0, 1), ("end", 0, 2)],
            "moment string, peer int, neighbour int",
        ),
    }
    tables["broadcasts"] = broadcasts.broadcasts(tables)
    return tables


def test_a_message_has_a_row_with_its_coverage_its_cost_and_its_times(spark: SparkSession) -> None:
    first, second = made(spark)["broadcasts"].orderBy("event").collect()
    assert (first["expected"], first["reached"], first["delivered"]) == (3, 3, 4)
    assert (first["copies"], first["others"]) == (7, 4)
    assert first["redundancy"] == pytest.approx(7 / 4 - 1)
    assert (first["last_ms"], first["last_hops"]) == (40.0, 2)
    assert (first["ms_50"], first["ms_90"], first["ms_99"]) == (20.0, 40.0, 40.0)
    assert (second["expected"], second["reached"], second["ms_50"], second["ms_90"]) == (3, 2, 30.0, None)
    assert second["redundancy"] == 0.0


def test_measures_of_all_messages_of_the_first_and_of_those_after_a_fault(spark: SparkSession) -> None:
    tables = made(spark)
    (row,) = of_broadcast._broadcasts(tables).collect()
    assert row["broadcasts"] == 2
    assert row["broadcast_reliability"] == pytest.approx((1 + 2 / 3) / 2)
    assert row["broadcast_reliability_first"] == 1.0
    assert row["broadcast_atomic"] == 0.5
    assert row["broadcast_redundancy_first"] == pytest.approx(0.75)
    assert row["broadcast_redundancy_later"] == 0.0
    assert row["broadcast_control"] == pytest.approx(5 / 6)
    assert row["broadcast_last_ms"] == 35.0
    (row,) = of_broadcast._surplus(tables).collect()
    assert row["broadcast_surplus_first"] == 7 - (8 - 4)
    (row,) = of_broadcast._after_faults(tables).collect()
    assert row["broadcast_reliability_after_fault"] == pytest.approx(2 / 3)
    assert row["broadcast_redundancy_after_fault"] == 0.0
    assert row["broadcast_redundancy_mended"] is None
    del tables["faults"]
    assert of_broadcast._after_faults(tables).collect() == []


def test_repairs_are_counted_where_a_system_announces_and_are_nothing_elsewhere(spark: SparkSession) -> None:
    tables = made(spark)
    hops = [("a", "PlumtreePrune", 1), ("b", "PlumtreePrune", 1), ("b", "PlumtreePrune", None)]
    tables["hops"] = table(spark, hops, "trace string, message string, sender int")
    for announces in (True, False):
        told = [("PlumtreeIHave",)] if announces else [("BroadcastEvent",)]
        rows = of_broadcast._repairs(tables | {"messages": table(spark, told, "message string")}).collect()
        assert len(rows) == announces
        for row in rows:
            assert (row["plumtree_grafts_later"], row["plumtree_prunes_later"]) == (0.0, 1.0)


def test_a_message_is_expected_at_peers_that_were_up_from_well_before_to_well_after_it(
    spark: SparkSession,
) -> None:
    tables = made(spark)
    sessions = [
        (1, 0.0, 100.0),
        (2, 45.0, 100.0),
        (3, 0.0, 53.0),
        (4, 0.0, 40.0),
        (5, 55.0, 100.0),
        (6, None, None),
    ]
    tables["sessions"] = table(spark, sessions, "peer int, start_s double, end_s double")
    tables["trials"] = table(spark, [(100.0,)], "trial_end_s double")
    rows = broadcasts.interests(tables).where("event = 0").collect()
    assert {row["peer"]: row["expected"] for row in rows} == {1: True, 2: False, 3: False, 5: False}


def test_the_graph_of_links_has_paths_along_their_direction_and_clustering_in_any() -> None:
    peers, neighbours = np.array([0, 1, 2, 2, 3, 4]), np.array([1, 2, 0, 3, 0, 9])
    found = measure_graph(peers, peers, neighbours)
    distances = [1, 2, 3, 2, 1, 2, 1, 2, 1, 1, 2, 3]
    assert found["path_length"] == pytest.approx(np.mean(distances))
    assert found["clustering"] == pytest.approx((2 / 3 + 1 + 2 / 3 + 1 + 0) / 5)
    assert found["largest_part"] == 0.8


def test_the_largest_part_is_of_all_peers_that_are_up(spark: SparkSession) -> None:
    ring = [("t", peer, (peer + 1) % 5, "end") for peer in range(5)]
    links = [*ring, ("t", 7, 8, "start"), ("t", 9, 0, "start"), ("apart", 0, 1, "start")]
    sessions = [("t", peer, 0.0, 100.0) for peer in range(10)]
    sessions += [("t", 10, 0.0, 60.0), ("t", 11, 95.0, 100.0), ("t", 12, None, None)]
    sessions += [("apart", peer, 0.0, 100.0) for peer in range(4)]
    sessions += [("linkless", peer, 0.0, 100.0) for peer in range(4)]
    trials = [("t", 90.0), ("apart", 90.0), ("linkless", 90.0)]
    tables = {
        "links": spark.createDataFrame(links, "trial string, peer int, neighbour int, moment string"),
        "sessions": spark.createDataFrame(sessions, "trial string, peer int, start_s double, end_s double"),
        "trials": spark.createDataFrame(trials, "trial string, measure_end_s double"),
    }
    found = {row["trial"]: row for row in LINK_GRAPH.queries[0](tables).collect()}
    assert set(found) == {"t", "apart"}
    assert found["t"]["largest_part"] == 0.5
    assert found["t"]["path_length"] == 2.5
    assert found["apart"]["largest_part"] == 0.25


def test_a_link_to_a_peer_without_links_of_its_own_joins_both() -> None:
    found = measure_graph(np.array([0, 1]), np.array([1]), np.array([0]))
    assert (found["largest_part"], found["path_length"]) == (1.0, 1.0)
    assert measure_graph(np.array([0, 1, 2]), np.array([1]), np.array([0]))["largest_part"] == 2 / 3
