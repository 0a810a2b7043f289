"""Cliques and trees beside HAC's and spanning trees, on a trial that was laid out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest
from analysis_golden import Host, Part, table, write_outcome
from pyspark.sql import SparkSession
from tables_page import differences

from analysis.contract.trials import TrialRecord
from analysis.measures.measure_run import Values, measure
from analysis.measures.series import build_series
from analysis.tables.build_tables import build_tables
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.layouts.cliques import cluster, mean_inside
from emulator.layouts.trees import spanning_length
from emulator.network.round_trips import rtt_between
from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS

LATENCY = {"kind": "king", "hosts": 30}
CLIQUES = [[0, 1, 2], [3, 4], [5]]
TREES = {"7.0": {0: 3, 1: 0, 5: 3}, "7.1": {2: 4, 4: 2}, "7.2": {1: 4, 5: 6}}
"""Child to parent. The second is a cycle, and in the third one parent is down."""


def tell(host: Host, at: float, cliques: list[list[int]]) -> None:
    """Record a snapshot of servers 0 to 5, as Kyra tells of them. Server 4 counts 0 among its mates,
    wrongly."""
    told = []
    for members in cliques:
        for peer in members:
            mates = [other for other in members if other != peer] + [0] * (peer == 4)
            links = {f"tree {tree}": [of[peer]] for tree, of in TREES.items() if peer in of}
            clique = Part({"clique_members": float(len(members))}, {"mate": mates})
            told.append((peer, [("cliques", clique), ("", Part({"tree_settled": 1.0}, links))]))
    assert list(host.recorder.write_snapshot(round(at * 1e9), told))


@pytest.fixture(scope="module")
def found(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TrialRecord, dict[str, list[dict[str, Any]]], Values]:
    run = RunDirectory(tmp_path_factory.mktemp("topology") / "run")
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "kyra", "parameters": {"cliques": {"diameter": "150 ms", "size": 3}}},
            "peers": 7,
            "network": {"latency": LATENCY},
            "workload": {"subscriptions": {"kind": "boxes", "per_peer": 1}, "publications": {"events": 0}},
            "phases": {"join": "10 s", "settle": "10 s", "measure": "20 s", "drain": "10 s"},
            "seed": 4,
        }
    )
    trial = TrialRecord("kyra-1", "kyra", {}, spec, run.trial("kyra-1"), {}, {})
    Plan(
        peers=table(PEERS, *((peer, 10 + peer, "peer") for peer in range(7))),
        sessions=table(SESSIONS, *((peer, 0, 1.0, 50.0, False, "base") for peer in range(7))),
        subscriptions=table(SUBSCRIPTIONS),
        publications=table(PUBLICATIONS),
    ).write(trial.directory.plan)
    host = Host(trial.directory.telemetry, trial=trial.name)
    for peer in range(7):
        host.join(peer, 1.0)
    host.interval(20.0)
    tell(host, 20.0, [[0, 1, 2, 3, 4, 5]])
    host.interval(40.0)
    tell(host, 40.0, CLIQUES)
    host.recorder.close()
    write_outcome(trial.directory, [])
    tables = build_tables(spark, run, [trial])
    assert differences(run) == []
    rows = {
        name: ds.dataset(run.tables / name, partitioning="hive").to_table().to_pylist()
        for name in ("cliques", "trees")
    }
    return trial, rows, measure(tables | build_series(run, tables))["kyra-1"]


def test_cliques_are_compared_with_hacs_over_the_servers_that_are_up(
    found: tuple[TrialRecord, dict[str, list[dict[str, Any]]], Values],
) -> None:
    trial, rows, measures = found
    rtt = rtt_between(trial.spec.network, np.arange(10, 17), 4)[:6, :6]
    hac = cluster(rtt, 0.15, 3, 3)
    inside = 1e3 * (rtt[0, 1] + rtt[0, 2] + rtt[1, 2] + rtt[3, 4]) / 4
    start, end = sorted(rows["cliques"], key=lambda row: row["moment"], reverse=True)
    assert (start["cliques"], start["servers"]) == (1, 6)
    assert (end["cliques"], end["servers"], end["hac_cliques"]) == (3, 6, len(hac))
    assert end["rtt_ms"] == pytest.approx(inside)
    assert measures["cliques"] == 3
    assert measures["clique_rtt_ms"] == pytest.approx(inside)
    assert measures["cliques_over_hac"] == pytest.approx(3 / len(hac))
    assert measures["clique_rtt_over_hac"] == pytest.approx(inside / (1e3 * mean_inside(hac, rtt)))


def test_trees_in_one_part_are_compared_with_the_spanning_tree_over_their_members(
    found: tuple[TrialRecord, dict[str, list[dict[str, Any]]], Values],
) -> None:
    trial, rows, measures = found
    rtt = rtt_between(trial.spec.network, np.arange(10, 17), 4)
    ends = {row["tree"]: row for row in rows["trees"] if row["moment"] == "end"}
    assert {name: (row["members"], row["whole"]) for name, row in ends.items()} == {
        "7.0": (4, True),
        "7.1": (2, False),
        "7.2": (4, False),
    }
    length, members = rtt[0, 3] + rtt[1, 0] + rtt[5, 3], [0, 1, 3, 5]
    shortest = spanning_length(rtt[members][:, members])
    assert ends["7.0"]["length_ms"] == pytest.approx(length / 2 * 1e3)
    assert measures["trees_over_spanning"] == pytest.approx(length / shortest)
    assert measures["trees_whole"] == pytest.approx(1 / 3)
