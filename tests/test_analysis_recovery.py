"""How long it takes after a fault until all is as before, from tables made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from small_trial import trial_spec

from analysis.contract.trials import TrialRecord
from analysis.measures.of_faults import RECOVERY, recoveries
from analysis.tables.faults import faults

Interval = tuple[int, int, float]
"""Deliveries made of those expected, and maintenance messages of a peer and second."""


def fault(name: str, at: float, lasts: float | None) -> dict[str, Any]:
    end = {} if lasts is None else {"for": f"{lasts} s"}
    return {"name": name, "at": f"{at} s", "partition": {"share": 0.5}, **end}


def record(*asked: dict[str, Any], attack: dict[str, str] | None = None) -> Any:
    phases = {"join": "0 s", "settle": "0 s", "measure": "100 s", "drain": "0 s"}
    attackers = None if attack is None else {"share": 0.2, "behaviour": "black-hole", **attack}
    spec = trial_spec("vitis", 10, 100.0, faults=list(asked), attackers=attackers, phases=phases)
    return TrialRecord("t", "v", {}, spec, None, {}, {})  # type: ignore[arg-type]


def recovered(spark: SparkSession, of: Any, *intervals: Interval) -> dict[str, Any]:
    """Return the measures of a trial with these intervals of 10 s, of which lookups are as the deliveries."""
    rows = [
        ("t", 10.0 * index, 10.0 * index + 10, made, due, due, made / due if due else None, kept)
        for index, (made, due, kept) in enumerate(intervals)
    ]
    columns = (
        "trial string, start_s double, end_s double, delivered bigint, expected bigint, lookups bigint, "
        "lookup_success double, maintenance_messages double"
    )
    tables = {"series": spark.createDataFrame(rows, columns), "faults": faults(spark, [of])}
    tables["recoveries"] = recoveries(tables)
    found = [row.asDict() for query in RECOVERY.queries for row in query(tables).collect()]
    return found[0] if found else {}


GOOD, BAD = (100, 100, 5.0), (40, 100, 9.0)


def test_a_value_is_back_with_the_first_interval_from_which_on_it_is_as_before(spark: SparkSession) -> None:
    split = record(fault("split", 25, 10))
    nearly = (99, 100, 5.0)
    found = recovered(spark, split, GOOD, GOOD, BAD, BAD, BAD, (95, 100, 5.0), nearly, GOOD, GOOD, GOOD)
    assert found == {"trial": "t", "recovery_s": 25, "lookup_recovery_s": 25, "maintenance_recovery_s": 15}


def test_a_value_that_is_better_than_before_is_back(spark: SparkSession) -> None:
    split = record(fault("split", 20, 10))
    found = recovered(spark, split, (80, 100, 5.0), (80, 100, 5.0), BAD, *[(100, 100, 2.0)] * 7)
    assert found == {"trial": "t", "recovery_s": 0, "lookup_recovery_s": 0, "maintenance_recovery_s": 0}


def test_a_good_interval_before_bad_ones_is_no_recovery(spark: SparkSession) -> None:
    split = record(fault("split", 20, 10))
    found = recovered(spark, split, GOOD, GOOD, BAD, GOOD, BAD, BAD, GOOD, GOOD, GOOD, GOOD)
    assert found["recovery_s"] == 30
    never = recovered(spark, split, GOOD, GOOD, BAD, *[GOOD, BAD] * 3, BAD)
    assert (never["recovery_s"], never["maintenance_recovery_s"]) == (None, None)


def test_before_is_before_the_first_fault_also_if_another_one_holds_when_that_ends(
    spark: SparkSession,
) -> None:
    both = record(fault("early", 10, 20), fault("late", 25, 10))
    found = recovered(spark, both, GOOD, BAD, BAD, BAD, BAD, GOOD, GOOD, GOOD, GOOD, GOOD)
    assert found["recovery_s"] == 15
    at_once = record(fault("early", 5, 25), fault("late", 25, 10))
    found = recovered(spark, at_once, BAD, BAD, BAD, BAD, BAD, GOOD, GOOD, GOOD, GOOD, GOOD)
    assert found["recovery_s"] is None


def test_an_interval_without_events_tells_nothing(spark: SparkSession) -> None:
    split = record(fault("split", 20, 10))
    found = recovered(spark, split, GOOD, GOOD, BAD, (0, 0, 5.0), GOOD, GOOD, GOOD, GOOD, GOOD, GOOD)
    assert (found["recovery_s"], found["maintenance_recovery_s"]) == (10, 0)


def test_the_longest_of_all_faults_counts_and_one_without_recovery_leaves_none(spark: SparkSession) -> None:
    both = record(fault("one", 20, 10), fault("two", 60, 10))
    found = recovered(spark, both, GOOD, GOOD, BAD, GOOD, GOOD, GOOD, BAD, BAD, GOOD, GOOD)
    assert found["recovery_s"] == 10
    found = recovered(spark, both, GOOD, GOOD, BAD, BAD, BAD, BAD, BAD, GOOD, GOOD, GOOD)
    assert found["recovery_s"] is None


def test_a_fault_that_ended_before_the_measure_phase_is_no_recovery(spark: SparkSession) -> None:
    of = record(fault("early", 5, 10), fault("split", 50, 10))
    series = spark.createDataFrame(
        [("t", at, at + 10, 1, 1, 5.0) for at in (40.0, 50.0, 60.0)],
        "trial string, start_s double, end_s double, delivered bigint, expected bigint, "
        "maintenance_messages double",
    )
    tables = {"series": series, "faults": faults(spark, [of])}
    assert [row.fault for row in recoveries(tables).collect()] == ["split"]


def test_an_attack_is_recovered_from_as_a_fault_is(spark: SparkSession) -> None:
    attacked = record(attack={"at": "20 s", "for": "10 s"})
    found = recovered(spark, attacked, GOOD, GOOD, BAD, BAD, GOOD, GOOD, GOOD, GOOD, GOOD, GOOD)
    assert (found["recovery_s"], found["maintenance_recovery_s"]) == (10, 10)


@pytest.mark.parametrize(
    "attack, expected",
    [
        ({"at": "50 s", "for": "10 s"}, [("attack", 50, 60, 100, 20), ("split", 20, 30, 50, 20)]),
        ({"at": "25 s", "for": "10 s"}, [("attack", 25, 35, 100, 20)]),
        ({"at": "50 s"}, [("split", 20, 30, 50, 20)]),
        ({}, [("split", 20, 30, 100, 20)]),
    ],
    ids=["after a fault", "while a fault ends", "without an end", "all the time"],
)
def test_an_attack_for_a_time_stands_among_the_faults(
    spark: SparkSession, attack: dict[str, str], expected: list[tuple[Any, ...]]
) -> None:
    of = record(fault("split", 20, 10), attack=attack)
    assert [tuple(row)[1:] for row in faults(spark, [of]).collect()] == expected


@pytest.mark.parametrize(
    "asked, expected",
    [
        ([fault("split", 20, 10)], [("split", 20, 30, 100, 20)]),
        ([fault("one", 20, 10), fault("two", 50, 10)], [("one", 20, 30, 50, 20), ("two", 50, 60, 100, 20)]),
        ([fault("split", 20, None)], []),
        ([fault("late", 95, 10)], []),
        ([{"name": "gone", "at": "20 s", "crash": {"share": 0.3}}], [("gone", 20, 20, 100, 20)]),
        ([fault("short", 20, 10), fault("long", 25, 20)], [("long", 25, 45, 100, 20)]),
    ],
)
def test_only_faults_that_end_in_quiet_can_be_recovered_from(
    spark: SparkSession, asked: list[dict[str, Any]], expected: list[tuple[Any, ...]]
) -> None:
    found = [tuple(row)[1:] for row in faults(spark, [record(*asked)]).collect()]
    assert found == expected
