"""The tables and measures of values by key, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import of_values
from analysis.tables import values

OPERATIONS = "operation string, number bigint, peer int, at_s double, messages bigint, bytes bigint"
COMPLETIONS = "operation string, number bigint, peer int, at_s double, hops int, value double"


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


def made(spark: SparkSession) -> dict[str, DataFrame]:
    """Two versions of value 0 and one of value 1; the put of value 1 was never confirmed."""
    operations = [
        ("put", 0, 1, 10.0, 4, 400),
        ("put", 1, 2, 11.0, 6, 600),
        ("put", 2, 1, 30.0, 5, 500),
        ("get", 0, 3, 10.5, 1, 10),  # begins before any put is done
        ("get", 1, 3, 20.0, 3, 300),  # finds the first version
        ("get", 2, 4, 40.0, 3, 300),  # finds it again, after the second was done
        ("get", 3, 5, 41.0, 5, 100),  # finds the second
        ("get", 4, 5, 42.0, 2, 100),  # is told that there is none
        ("get", 5, 5, 43.0, 2, 100),  # is told nothing
        ("get", 6, 5, 96.0, 2, 100),  # is too late to count
        ("lookup", 0, 5, 43.0, 2, 100),
    ]
    completions = [
        ("put", 0, 1, 12.0, 2, 3.0),
        ("put", 2, 1, 31.5, 4, 2.0),
        ("get", 0, 3, 10.7, 1, 1.0),
        ("get", 1, 3, 20.1, 2, 1.0),
        ("get", 1, 3, 20.2, 2, 1.0),
        ("get", 2, 4, 40.3, 1, 1.0),
        ("get", 3, 5, 41.2, 3, 2.0),
        ("get", 4, 5, 42.1, 3, 0.0),
        ("get", 6, 5, 96.1, 3, 2.0),
    ]
    tables = {
        "operations": table(spark, operations, OPERATIONS),
        "completions": table(spark, completions, COMPLETIONS),
        "trials": table(spark, [(100.0,)], "trial_end_s double"),
    }
    puts = [(0, 0, 1, 9), (1, 1, 1, 9), (2, 0, 2, 9)]
    gets = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]
    planned = "put int, value int, version int, bytes int, at_s double, peer int"
    tables["puts"] = values.puts(tables, table(spark, [(*row, 0.0, 0) for row in puts], planned))
    planned = "get int, value int, at_s double, peer int"
    tables["gets"] = values.gets(tables, table(spark, [(*row, 0.0, 0) for row in gets], planned))
    return tables


def test_a_get_is_held_against_the_versions_that_were_stored_before_it_began(spark: SparkSession) -> None:
    rows = made(spark)["gets"].orderBy("get").collect()
    assert [row["newest"] for row in rows] == [None, 1, 2, 2, 2, 2, 2]
    assert [row["version"] for row in rows] == [1, 1, 1, 2, 0, None, 2]
    assert [row["counted"] for row in rows] == [True] * 6 + [False]
    assert rows[1]["delay_ms"] == pytest.approx(100.0)


def test_measures_of_gets_and_puts(spark: SparkSession) -> None:
    tables = made(spark)
    (gets,) = of_values._gets(tables).collect()
    assert gets["gets"] == 5
    assert gets["get_success"] == pytest.approx(3 / 5)
    assert gets["get_stale"] == pytest.approx(1 / 3)
    assert gets["get_delay_ms"] == pytest.approx((100 + 300 + 200) / 3)
    assert gets["get_hops"] == 2.0
    assert gets["get_messages"] == 3.0
    assert gets["get_bytes"] == 180.0
    (puts,) = of_values._puts(tables).collect()
    assert puts["put_success"] == pytest.approx(2 / 3)
    assert puts["put_copies"] == 2.5
    assert puts["put_delay_ms"] == pytest.approx(1750.0)
    assert puts["put_bytes"] == 500.0


def test_the_load_is_that_of_the_busiest_peer_over_the_mean_of_all(spark: SparkSession) -> None:
    served = [(1, "value_served")] * 6 + [(2, "value_served")] * 2 + [(3, "another")]
    tables = {
        "traffic": table(spark, [(peer,) for peer in range(4)], "peer int"),
        "observations": table(spark, served, "peer int, name string"),
    }
    (row,) = of_values._load(tables).collect()
    assert row["value_load"] == 3.0
