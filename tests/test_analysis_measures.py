"""A trial whose measures were counted by hand."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from tables_page import differences

from analysis.measures.distributions import overhead_histogram
from emulator.experiment.run.directory import RunDirectory


def rows(run: RunDirectory, table: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / table, partitioning="hive").to_table().to_pylist()
    return [{k: v for k, v in row.items() if k != "trial"} for row in found]


def test_the_tables_are_as_the_page_of_tables_says(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    assert differences(golden[0]) == []


def test_measures_are_those_counted_by_hand(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    _, summary = golden
    measures = summary["trials"][0]["measures"]
    expected = {
        "hit_ratio": 3 / 4,
        "expected": 4,
        "overhead": 1 / 6,
        "overhead_mean": 1 / 5,
        "overhead_messages": 2 / 7,
        "overhead_above_10": 1 / 5,
        "overhead_above_20": 1 / 5,
        "delay_hops": 2,
        "delay_hops_max": 3,
        "delay_ms": 250,
        "delay_ms_median": 250,
        "duplicates": 1 / 4,
        "repeated": 0,
        "messages_per_event": 7 / 2,
        "bytes_per_event": 350,
        "relays_per_event": 1 / 2,
        "relay_load": 2 / 5,
        "peers_up": 92 / 20,
        "coverage": 3 / 4,
        "coverage_sd": 1 / 4,
        "coverage_failed": 0,
        "last_hop": 3 / 2,
        "last_hop_sd": 1 / 2,
        "hit_ratio_by_topic": 3 / 4,
        "copies_per_delivery": 6 / 4,
        "messages_per_delivery": 7 / 4,
        "hit_ratio_after_5_s": 1,
        "due_after_5_s": 1,
        "hit_ratio_after_10_s": 0,
        "due_after_10_s": 1,
        "hit_ratio_after_20_s": 1,
        "due_after_20_s": 3,
        "due_after_0_s": 0,
        "due_after_60_s": 0,
        "neighbours_sd": 0,
        "neighbours_above_15": 0,
        "neighbours_above_200": 0,
        "published": 2,
        "maintenance_messages_per_s": 86 / 92,
        "maintenance_bytes_per_s": 860 / 92,
        "clusters_per_topic": 3 / 2,
        "gateways_per_topic": 4 / 2,
        "neighbours": 1,
        "wrong_successors": 2 / 5,
        "state.gateway_topics": 1,
        "lost_spans": 0,
        "lost_telemetry": 0,
    }
    assert {name: measures[name] for name in expected} == pytest.approx(expected)


def test_each_due_delivery_is_a_row(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    found = {(r["event"], r["peer"]): r for r in rows(golden[0], "deliveries")}
    outcome = {key: (r["expected"], r["delivered"], r["hops"], r["copies"]) for key, r in found.items()}
    assert outcome == {
        (0, 1): (True, True, 2, 1),
        (0, 4): (True, True, 2, 1),
        (0, 3): (False, True, 3, 1),
        (1, 0): (True, True, 1, 2),
        (1, 3): (True, False, None, 0),
    }
    assert found[0, 4]["delay_ms"] == pytest.approx(300)


def test_sessions_tell_how_they_ended(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    ended = {r["peer"]: (r["start_s"], r["end_s"], r["ended"]) for r in rows(golden[0], "sessions")}
    assert ended[4] == (1.0, 32.0, "crash")
    assert ended[3] == (15.0, 50.0, "trial end")


def test_series_and_distributions_add_up(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    run, _ = golden
    series = sorted(rows(run, "series"), key=lambda r: r["start_s"])
    assert [(r["start_s"], r["end_s"]) for r in series] == [(20, 25), (25, 30), (30, 35), (35, 40)]
    assert [r["hit_ratio"] for r in series] == [1.0, None, 0.5, None]
    assert [r["peers_up"] for r in series] == pytest.approx([5, 5, 4.4, 4])
    histogram = sorted(rows(run, "overhead_histogram"), key=lambda r: r["low"])
    assert sum(r["peers"] for r in histogram) == 5
    assert (histogram[0]["share"], histogram[0]["above"]) == (0.8, 1.0)
    assert (histogram[-1]["share"], histogram[-1]["above"]) == (0.2, 0.2)
    hops = {r["value"]: r["share"] for r in rows(run, "delay_cdf") if r["unit"] == "hops"}
    assert hops == {1.0: 0.25, 2.0: 0.75, 3.0: 1.0}


def test_a_trial_of_servers_alone_has_no_spread_of_overhead(spark: SparkSession) -> None:
    traffic = [("peers", "peer", 0.5), ("servers", "server", 0.5)]
    tables = {
        "traffic": spark.createDataFrame(traffic, "trial string, role string, overhead double"),
        "trials": spark.createDataFrame(
            [("peers", "events"), ("servers", "events")], "trial string, serves string"
        ),
    }
    found = overhead_histogram(tables).collect()
    assert {row.trial for row in found} == {"peers"}
    assert sum(row.share for row in found) == 1


def test_summary_is_written_with_its_claims(golden: tuple[RunDirectory, dict[str, Any]]) -> None:
    run, summary = golden
    assert json.loads(run.summary.read_text()) == summary
    assert summary["valid"] and summary["command"] == "trellis run golden.yaml"
    assert summary["variants"][0]["measures"]["hit_ratio"] == {"mean": 0.75, "ci95": None, "n": 1}
    assert summary["measures"]["hit_ratio"]["better"] == "higher"
    assert [(c["id"], c["holds"]) for c in summary["claims"]] == [("V1", None)]
