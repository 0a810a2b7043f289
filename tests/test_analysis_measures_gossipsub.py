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


def test_links_and_meshes_that_just_changed_are_no_outcome(
    spark: SparkSession, tables: dict[str, DataFrame]
) -> None:
    """The phase ends at 120 s. Peers 1 and 2 have meshes of three and two, and 3 is in that of 2 alone.

    A mesh that is small counts if its peer is connected to one that neither of them grafted. Each case has a
    trial of its own, with one change more and perhaps such a connection."""
    settled = {"mesh_one_end_lasting": 1, "mesh_degree_min_free": None, "mesh_degree_max_settled": 3}
    of_two = {"mesh_degree_min_free": 2}
    cases: dict[str, tuple[tuple[str, int, int, float], bool, dict[str, int]]] = {
        "long ago": (("mesh_joined", 2, 3, 117.9), False, {}),
        "grafted": (("mesh_joined", 2, 3, 118.1), False, {"mesh_one_end_lasting": 0}),
        "pruned": (("mesh_left", 3, 2, 118.1), False, {"mesh_one_end_lasting": 0}),
        "too late": (("mesh_left", 3, 2, 120.1), False, {}),
        "growing": (("mesh_joined", 1, 2, 119.0), False, {"mesh_degree_max_settled": 2}),
        "free": (("mesh_joined", 1, 7, 30.0), True, of_two),
        "tried": (("mesh_left", 2, 7, 30.0), True, {}),
        "tried by the other": (("mesh_joined", 7, 2, 30.0), True, {}),
    }
    changes = [(name, *change) for name, (change, _, _) in cases.items()]
    columns = "trial string, name string, peer int, subject bigint, at_s double"
    trials = spark.createDataFrame([(name,) for name in cases], "trial string")
    every = {name: of.drop("trial").crossJoin(trials) for name, of in tables.items()}
    every["observations"] = every["observations"].unionByName(spark.createDataFrame(changes, columns))
    connected = [
        (name, 2, 7, "connection", "end") for name, (_, is_connected, _) in cases.items() if is_connected
    ]
    columns = "trial string, peer int, neighbour int, kind string, moment string"
    every["links"] = every["links"].unionByName(spark.createDataFrame(connected, columns))
    rows = {row.trial: row.asDict() for row in of_gossipsub._settled(every).collect()}
    for name, (_, _, changed) in cases.items():
        assert rows[name] == settled | changed | {"trial": name}, name


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
