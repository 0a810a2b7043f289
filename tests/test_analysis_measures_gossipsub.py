"""The measures of GossipSub's meshes, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import of_gossipsub


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


@pytest.fixture
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Peers 1 to 3 behave well, 9 does not. The link of 2 to 3 has one end."""
    ends = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 9), (9, 3), (1, 9), (9, 1)]
    links = [(peer, other, kind, "end") for peer, other in ends for kind in ("mesh", "connection")]
    changes = [
        *(("mesh_joined", 1, other, at) for other, at in ((2, 1.0), (9, 2.0), (3, 50.0))),
        ("mesh_joined", 9, 1, 3.0),
        ("mesh_left", 1, 9, 60.0),
    ]
    return {
        "links": table(spark, links, "peer int, neighbour int, kind string, moment string"),
        "attackers": table(spark, [(9, True, 3)], "peer int, attacker boolean, target int"),
        "observations": table(spark, changes, "name string, peer int, subject bigint, at_s double"),
        "trials": table(spark, [(10.0, 120.0)], "measure_start_s double, measure_end_s double"),
        "deliveries": table(spark, [(True,), (True,), (False,)], "delivered boolean"),
        "handled": table(spark, [(3,), (2,)], "copies int"),
    }


def measured(tables: dict[str, DataFrame], query: Any) -> dict[str, Any]:
    (row,) = query(tables).collect()
    return {name: value for name, value in row.asDict().items() if name != "trial"}


def test_degrees_count_meshes_alone_and_links_with_one_end(tables: dict[str, DataFrame]) -> None:
    degrees = {"mesh_degree": 9 / 4, "mesh_degree_min": 2, "mesh_degree_max": 3, "mesh_one_end": 1}
    assert measured(tables, of_gossipsub._degrees) == degrees
    assert measured(tables, of_gossipsub._copies) == {"mesh_copies_over_degree": 5 / 2 - (9 / 4 - 1)}


def test_attackers_are_counted_in_the_meshes_of_others(tables: dict[str, DataFrame]) -> None:
    shares = {"mesh_honest_min": 1, "mesh_attackers": 2 / 7}
    assert measured(tables, of_gossipsub._honest) == shares | {"mesh_honest_target": 1}
    del tables["attackers"]
    shares = {"mesh_honest_min": 2, "mesh_attackers": 0}
    assert measured(tables, of_gossipsub._honest) == shares | {"mesh_honest_target": None}


def test_the_targets_mesh_is_counted_whatever_other_meshes_have(
    spark: SparkSession, tables: dict[str, DataFrame]
) -> None:
    columns = "peer int, attacker boolean, target int"
    for target, honest in ((1, 2), (2, 2), (3, 1), (7, 0), (None, None)):
        tables["attackers"] = table(spark, [(9, True, target)], columns)
        assert measured(tables, of_gossipsub._honest)["mesh_honest_target"] == honest


def test_attackers_over_time_are_counted_as_long_as_the_measure_phase_lasts(
    tables: dict[str, DataFrame],
) -> None:
    assert measured(tables, of_gossipsub._over_time) == {
        "mesh_attackers_30_s": 0.5,
        "mesh_attackers_90_s": 0.0,
        "mesh_attackers_150_s": None,
        "mesh_attackers_210_s": None,
    }
