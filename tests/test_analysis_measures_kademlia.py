"""The measures of Kademlia's lookups, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import of_kademlia
from emulator.contract.identifiers import encode


def test_what_lookups_found_is_held_against_the_closest_peers_that_were_up() -> None:
    """Peer n has identifier n. Peer 7 crashed before the lookups; peer 6 came while the second one ran."""
    homes = [
        {"trial": "t", "peer": n, "identifier": f"{n:x}", "start_s": 8.0 if n == 6 else 0.0, "end_s": 99.0}
        for n in range(1, 7)
    ] + [{"trial": "t", "peer": 7, "identifier": "7", "start_s": 0.0, "end_s": 4.0}]
    found = [
        {"origin": 1, "at_s": 9.0, "until_s": 10.0, "found": [6, 5, 4]},
        {"origin": 1, "at_s": 7.0, "until_s": 10.0, "found": [5, 4, 3]},
        {"origin": 5, "at_s": 9.0, "until_s": 10.0, "found": [6, 4, 2]},
        {"origin": 1, "at_s": 9.0, "until_s": 10.0, "found": [5, 4, 6]},
        {"origin": 1, "at_s": 9.0, "until_s": 10.0, "found": [6, 5]},
    ]
    rows = [{"trial": "t", "key": encode(7)} | row for row in found]
    judged = of_kademlia.judge(pa.Table.from_pylist(rows), pa.Table.from_pylist(homes))
    assert judged["closest"].to_pylist() == [True, True, True, False, True]
    assert judged["all"].to_pylist() == [True, True, False, True, False]
    assert judged["share"].to_pylist() == [1.0, 1.0, 2 / 3, 1.0, 2 / 3]


def test_means_are_of_the_lookups_that_count(spark: SparkSession) -> None:
    def table(rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
        return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")

    lookups = [(n, 0, encode(n), 1.0 * n, n < 3) for n in range(1, 4)]
    told = [
        *((bytes([n]), "lookup_requests", 20.0 + n) for n in range(1, 4)),
        *((bytes([n]), "lookup_took", 100.0 * n) for n in range(1, 4)),
        *((bytes([n]), "lookup_depth", 1.0 * n) for n in range(1, 4)),
        (bytes([1]), "hop_timeout", 1.0),
    ]
    columns = "lookup int, origin int, key binary, at_s double, counted boolean"
    tables = {
        "lookups": table(lookups, columns),
        "operations": table(
            [(n, bytes([n]), "lookup") for n in range(1, 4)], "lookup int, trace binary, operation string"
        ),
        "observations": table(told, "trace binary, name string, value double"),
    }
    (row,) = of_kademlia._means(tables).collect()
    assert row.asDict() == {
        "trial": "t",
        "lookup_requests": 21.5,
        "lookup_took_ms": 150.0,
        "lookup_depth": 1.5,
    }
