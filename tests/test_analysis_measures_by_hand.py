"""Measures whose quantiles, denominators and filters no recorded trial is large enough to tell apart."""

from __future__ import annotations

from random import Random
from statistics import stdev
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.contract.packages import Brought
from analysis.contract.trouble import NoTable
from analysis.measures import by_content, event_delivery, every_trial, of_lookups
from analysis.measures.measure_run import _enough, measure_all
from analysis.measures.parts import Part, measure_parts
from analysis.measures.series import _maintenance
from analysis.tables.sessions import sessions
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.runtime.hostile_channel import OBSERVATION
from emulator.telemetry import names


def only(frame: DataFrame) -> dict[str, Any]:
    (row,) = frame.collect()
    return dict(row.asDict())


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


def test_quantiles_of_deliveries_are_those_of_their_names(spark: SparkSession) -> None:
    made = [(True, True, 1, 1, float(ms), 1, 0, 0) for ms in range(101)]
    columns = (
        "expected boolean, delivered boolean, hops int, fewest_hops int, delay_ms double, copies bigint, "
        "duplicates bigint, repeated bigint"
    )
    found = only(event_delivery._deliveries({"deliveries": table(spark, made, columns)}))
    names_of = ("delay_ms_median", "delay_ms_p90", "delay_ms_p99", "delay_ms_max")
    assert [found[name] for name in names_of] == pytest.approx([50, 90, 99, 100])
    # Where no copies are told of, that there are no duplicates was not measured.
    silent = table(spark, [(True, True, 1, 1, 1.0, 0, 0, 0)], columns)
    assert only(event_delivery._deliveries({"deliveries": silent}))["duplicates"] is None


@pytest.mark.parametrize(
    ("only", "is_enough"),
    [({"hit_ratio"}, True), ({"duplicates", "delay_ms_p99"}, True), ({"hit_ratio", "overhead"}, False)],
)
def test_what_is_not_expected_is_not_asked_for(spark: SparkSession, only: set[str], is_enough: bool) -> None:
    """Queries of other measures would miss their tables."""
    columns = (
        "published_s double, expected boolean, delivered boolean, hops int, fewest_hops int, "
        "delay_ms double, copies bigint, duplicates bigint, repeated bigint"
    )
    tables = {
        "trials": table(
            spark, [("topics", "vitis", False)], "serves string, system string, has_faults boolean"
        ),
        "deliveries": table(spark, [(5.0, True, at < 3, 1, 1, 7.0, 1, 0, 0) for at in range(4)], columns),
    }
    if not is_enough:
        with pytest.raises(NoTable):
            measure_all(tables, only)
        return
    values = measure_all(tables, only).values["t"]
    assert values["hit_ratio"] == 0.75 and values["duplicates"] == 0 and values["expected"] == 4
    assert values["overhead"] is None and values["published"] is None


def test_all_is_asked_where_it_is_not_known_what_a_query_gives() -> None:
    lookups = of_lookups.LOOKUPS
    assert _enough(Brought(lookups, ""), {"lookup_success", "hit_ratio"}) == [of_lookups._lookups]
    assert _enough(Brought(lookups, ""), {"lookup_success_lowest"}) == lookups.queries
    assert _enough(Brought(lookups, "", "a package"), {"lookup_success"}) == lookups.queries
    assert _enough(Brought(lookups, ""), None) == lookups.queries


def test_the_measures_of_a_part_are_those_of_the_operations_that_began_in_it(spark: SparkSession) -> None:
    columns = (
        "published_s double, peer int, expected boolean, delivered boolean, hops int, fewest_hops int, "
        "delay_ms double, copies bigint, duplicates bigint, repeated bigint"
    )
    rows = [
        (trial, at, peer, True, at >= 20.0, 1, 1, at, 1, 0, 0)
        for trial in ("t", "u")
        for at, peer in ((10.0, 1), (19.9, 2), (20.0, 1), (25.0, 2), (30.0, 1))
    ]
    intervals = [
        ("t", 0.0, 10.0, 1.0, 9.0),
        ("t", 15.0, 20.0, 1.0, 5.0),
        ("t", 20.0, 25.0, 3.0, None),
        ("t", 25.0, 30.0, 1.0, 9.0),
        ("t", 28.0, 38.0, 1.0, 40.0),
    ]
    series = (
        "trial string, start_s double, end_s double, peers_up double, maintenance_messages double, "
        "maintenance_bytes double"
    )
    tables = {
        "deliveries": spark.createDataFrame(rows, f"trial string, {columns}"),
        "series": spark.createDataFrame([(*row, row[-1]) for row in intervals], series),
        "trials": spark.createDataFrame(
            [("t", "topics", "vitis", False), ("u", "topics", "vitis", False)],
            "trial string, serves string, system string, has_faults boolean",
        ),
    }
    homes = spark.createDataFrame([("t", 1, "eu"), ("t", 2, "us")], "trial string, peer int, region string")
    parts = [Part("t", (15.0, 30.0)), Part("u", (40.0, 50.0)), Part("t", (0.0, 99.0), "eu")]
    parts.append(Part("t", (0.0, 99.0), "us"))
    found, empty, eu, us = measure_parts(tables, parts, [], homes=homes)
    assert found["hit_ratio"] == pytest.approx(2 / 3) and found["expected"] == 3
    assert found["delay_ms_max"] == 25.0
    assert empty.pop("expected") == 0 and set(empty.values()) == {None}, "no operation began in that part"
    assert "bytes_per_event" not in found
    assert (eu["expected"], eu["hit_ratio"], us["expected"], us["delay_ms_max"]) == (3, 2 / 3, 2, 25.0)
    assert found["maintenance_messages_per_s"] == 7.0 and eu["maintenance_messages_per_s"] is None


def test_variation_is_that_of_a_sample_and_ends_with_the_calm(spark: SparkSession) -> None:
    series = [(10.0, 0.5, 0.1, 1.0), (20.0, 0.9, 0.3, 2.0), (30.0, 0.4, 0.9, 9.0)]
    found = only(
        event_delivery._in_time(
            {
                "series": table(
                    spark, series, "end_s double, hit_ratio double, overhead double, hops double"
                ),
                "trials": table(spark, [(20.0,)], "calm_until_s double"),
            }
        )
    )
    assert found["overhead_variation"] == pytest.approx(stdev([0.1, 0.3]) / 0.2)
    assert found["delay_hops_variation"] == pytest.approx(stdev([1, 2]) / 1.5)
    assert found["hit_ratio_lowest"] == 0.4


def test_the_load_of_relays_is_told_apart_from_that_of_peers_at_its_quantile(spark: SparkSession) -> None:
    peers = [("peer", 10, 0, 0.0, 100, n) for n in range(101)]
    servers = [("server", 10, 0, 0.0, 2000, 1000 + n) for n in range(101)]
    columns = (
        "role string, received bigint, unwanted bigint, overhead double, messages bigint, "
        "unwanted_messages bigint"
    )
    found = only(event_delivery._overhead({"traffic": table(spark, peers + servers, columns)}))
    assert (found["relay_load"], found["relay_load_p99"]) == (50, 99)
    assert (found["relay_duty_load"], found["relay_duty_load_p99"]) == (1050, 1099)


def test_bytes_a_second_count_all_traffic_of_the_peers_whose_counters_are_known(spark: SparkSession) -> None:
    traffic = [(10.0, 100, 300, 3), (10.0, 200, 400, 5), (5.0, None, None, None)]
    found = only(
        every_trial._traffic(
            {
                "traffic": table(
                    spark,
                    traffic,
                    "up_s double, operation_bytes bigint, maintenance_bytes bigint, "
                    "maintenance_messages bigint",
                ),
                "trials": table(spark, [(20.0, 30.0)], "measure_start_s double, measure_end_s double"),
            }
        )
    )
    assert found["bytes_per_s"] == pytest.approx(1000 / 20)
    assert found["maintenance_bytes_per_s"] == pytest.approx(700 / 20)
    assert found["maintenance_messages_per_s"] == pytest.approx(8 / 20)
    assert found["peers_up"] == pytest.approx(2.5)


def test_neighbours_are_different_peers_at_the_end(spark: SparkSession) -> None:
    links = [
        *(("end", 0, 1), ("end", 0, 1), ("end", 0, 2), ("end", 1, 0)),
        *(("start", 1, 2), ("start", 1, 3), ("start", 1, 4)),
    ]
    found = only(
        every_trial._neighbours({"links": table(spark, links, "moment string, peer int, neighbour int")})
    )
    assert (found["neighbours"], found["neighbours_max"]) == (1.5, 2)


def test_what_was_lost_is_the_last_reading_of_each_start_of_each_host(spark: SparkSession) -> None:
    readings = [
        *(("a", 0, names.LOST_SPANS, 1.0), ("a", 0, names.LOST_SPANS, 3.0), ("a", 1, names.LOST_SPANS, 2.0)),
        *(("b", 0, names.LOST_SPANS, 4.0), ("b", 0, names.DROPPED, 5.0), ("b", 0, "other", 9.0)),
    ]
    points = table(spark, readings, "host string, incarnation int, name string, value double")
    found = only(every_trial._lost({"points": points}))
    assert (found["lost_spans"], found["dropped_envelopes"]) == (3 + 2 + 4, 5)


def test_attacks_and_drops_of_links_are_counted_each_by_its_observations(spark: SparkSession) -> None:
    told = [f"{OBSERVATION} drop", f"{OBSERVATION} delay", UP_LINK_DROP, DOWN_LINK_DROP, DOWN_LINK_DROP, "x"]
    tables = {"observations": table(spark, [(name,) for name in told], "name string")}
    assert only(every_trial._attacks(tables))["attacked_messages"] == 2
    assert only(every_trial._link_drops(tables))["link_drops"] == 3


def test_quantiles_of_lookups_are_those_of_their_names(spark: SparkSession) -> None:
    lookups = [(True, True, True, n, float(n), 1.0) for n in range(101)]
    columns = "counted boolean, right boolean, delivered boolean, hops int, delay_ms double, direct_ms double"
    found = only(of_lookups._lookups({"lookups": table(spark, lookups, columns)}))
    names_of = ("lookup_hops_p99", "lookup_delay_ms_median", "lookup_delay_ms_p99")
    assert [found[name] for name in names_of] == pytest.approx([99, 50, 99])


def test_shares_within_a_time_are_of_what_was_asked_or_made(spark: SparkSession) -> None:
    made = [(True, 399.0), (True, 400.0), (True, 1000.0), (True, 1001.0), (False, None)]
    within = only(
        by_content._within({"deliveries": table(spark, made, "delivered boolean, delay_ms double")})
    )
    assert (within["delay_within_400_ms"], within["delay_within_1_s"]) == (2 / 4, 3 / 4)
    asked = [(True, ms, 1) for ms in (600.0, 700.0, 1000.0, 1001.0, None)] + [(False, 1.0, 1)]
    installed = only(
        by_content._installations(
            {"installations": table(spark, asked, "counted boolean, delay_ms double, hops int")}
        )
    )
    assert installed["install_within_600_ms"] == 1 / 5
    assert installed["install_within_1_s"] == 3 / 5
    assert installed["install_delay_ms_median"] == 850
    parts = table(spark, [(ms,) for ms in (600.0, 1000.0, 1001.0, None)], "delay_ms double")
    pieces = only(by_content._pieces({"pieces": parts}))
    assert (pieces["piece_within_600_ms"], pieces["piece_within_1_s"]) == (1 / 4, 2 / 4)


def test_costs_have_their_own_quantiles_and_the_mean_of_the_twenty_largest(spark: SparkSession) -> None:
    costs = [(float(n), 1000.0 + n, 2000.0 + n, 3000.0 + n) for n in range(101)]
    columns = "installing double, publishing double, matching double, inserting double"
    found = only(by_content._costs({"costs": table(spark, costs, columns)}))
    expected = {
        **{"install_bytes_p78": 78, "install_bytes_p98": 98, "install_bytes_max": 100},
        **{"publish_bytes_p70": 1070, "publish_bytes_p90": 1090, "publish_bytes_top_20": 1090.5},
        **{"matching_bytes_p70": 2070, "matching_bytes_max": 2100, "matching_bytes_top_20": 2090.5},
        **{"insert_bytes_p78": 3078, "insert_bytes_p98": 3098, "insert_bytes_max": 3100},
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_maintenance_is_the_growth_of_counters_in_the_middle_between_two_readings(
    spark: SparkSession,
) -> None:
    readings = [
        *(("a", 0, names.SENT_MESSAGES, "maintenance", at, n) for at, n in ((10.0, 4.0), (20.0, 10.0))),
        ("a", 0, names.SENT_MESSAGES, "operation", 20.0, 99.0),
        ("a", 1, names.SENT_MESSAGES, "maintenance", 30.0, 3.0),
    ]
    columns = "host string, incarnation int, name string, traffic string, at_s double, value double"
    tables = {
        "points": table(spark, readings, columns),
        "trials": table(spark, [([],)], "borders_s array<double>"),
    }
    rows = _maintenance(tables).collect()
    assert sorted((row.at_s, row.maintenance_messages) for row in rows) == [(5, 4), (15, 6), (30, 3)]


def test_a_counter_that_comes_late_counts_since_the_reading_before(spark: SparkSession) -> None:
    readings = [
        *((names.LOST_SPANS, None, at, 0.0) for at in (10.0, 20.0)),
        (names.SENT_MESSAGES, "maintenance", 20.0, 7.0),
    ]
    tables = {
        "points": table(
            spark,
            [("a", 0, *row) for row in readings],
            "host string, incarnation int, name string, traffic string, at_s double, value double",
        ),
        "trials": table(spark, [([],)], "borders_s array<double>"),
    }
    rows = _maintenance(tables).collect()
    assert sorted((row.at_s, row.maintenance_messages) for row in rows) == [(5, None), (15, 7)]


def test_no_reading_that_counts_has_traffic_of_both_sides_of_a_border(spark: SparkSession) -> None:
    """Many trials, each with hosts that read their counters at any times and may come back; what is sent in
    the fault is a thousand times as much."""
    random = Random(3)
    begins, ends, end = {}, {}, 60.0
    points: list[tuple[Any, ...]] = []
    for number in range(60):
        trial = f"t{number}"
        begins[trial] = random.choice([20.0, 20.02, random.uniform(10, 30)])
        ends[trial] = begins[trial] + random.uniform(1, 20)

        def sent(until: float, trial: str = trial) -> float:
            return until + 999 * max(min(until, ends[trial]) - begins[trial], 0)

        for host in range(3):
            back = random.choice([end, random.uniform(5, 50)])
            for incarnation, (start, stop) in enumerate(((0.0, back - 1), (back, end))):
                at = start + (random.uniform(0, 5) if incarnation == 0 else 0.001)
                while at < stop:
                    value = sent(at) - sent(start)
                    points.append((trial, f"h{host}", incarnation, at, value))
                    at += random.choice([5.0, random.uniform(1, 5)])
    tables = {
        "points": spark.createDataFrame(
            [(*where, names.SENT_MESSAGES, "maintenance", at, value) for *where, at, value in points],
            "trial string, host string, incarnation int, name string, traffic string, at_s double, "
            "value double",
        ),
        "trials": spark.createDataFrame(
            [(trial, [begins[trial], ends[trial]]) for trial in begins],
            "trial string, borders_s array<double>",
        ),
    }
    rows = _maintenance(tables).collect()
    assert len(rows) == len(points)
    counted = [row for row in rows if not row.straddles]
    assert 0.5 * len(rows) < len(counted) < len(rows)
    # One hundredth of five seconds may have been sent on the other side.
    for row in counted:
        outside = not begins[row.trial] < row.at_s < ends[row.trial]
        assert not outside or row.maintenance_messages <= 5 + 50


def test_a_session_that_nobody_saw_end_ended_as_its_plan_says(spark: SparkSession) -> None:
    planned = [
        *((0, 0, "churn", False, 0.0, 50.0), (1, 0, "churn", True, 0.0, 50.0)),
        *((2, 0, "churn", False, 0.0, 100.0), (3, 0, "churn", False, 0.0, 120.0)),
        *((4, 0, "churn", True, 0.0, 50.0), (5, 0, "churn", False, 0.0, 50.0)),
    ]
    happened = [*((peer, "join", 1.0 + peer, None) for peer in range(5)), (4, "leave", 40.0, False)]
    rows = sessions(
        spark,
        table(
            spark,
            planned,
            "peer int, session int, cause string, graceful boolean, start_s double, end_s double",
        ),
        {
            "trials": table(spark, [(100.0,)], "trial_end_s double"),
            "operations": table(
                spark,
                [(peer, 0, "host-0", *rest) for peer, *rest in happened],
                "peer int, session int, host string, operation string, at_s double, graceful boolean",
            ),
        },
        [],
    ).collect()
    assert {row.peer: (row.start_s, row.end_s, row.ended) for row in rows} == {
        0: (1, 50, "crash"),
        1: (2, 50, "leave"),
        2: (3, 100, "trial end"),
        3: (4, 100, "trial end"),
        4: (5, 40, "crash"),
        5: (None, None, None),
    }
