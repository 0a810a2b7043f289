"""Trials of lookups and of content whose tables and measures were counted by hand."""

from __future__ import annotations

from typing import Any

import pyarrow.dataset as ds
import pytest
from analysis_golden import OVERLAY, Host, Part, peers_of_plan, table, write_outcome
from pyspark.sql import SparkSession
from tables_page import differences

from analysis.contract.trials import TrialRecord
from analysis.measures.measure_run import Values, measure
from analysis.measures.series import build_series
from analysis.tables.build_tables import build_tables
from emulator.contract.identifiers import RING, encode, hash_of_peer
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import SESSIONS, Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names
from emulator.workload.table_schemas import LOOKUPS, PUBLICATIONS, SUBSCRIPTIONS

PHASES = {"join": "10 s", "settle": "10 s", "measure": "20 s", "drain": "10 s"}
ATTRIBUTES = [{"name": name, "low": 0, "high": 10, "sub_range": 1} for name in "xy"]


def record(run: RunDirectory, name: str, workload: dict[str, Any]) -> TrialRecord:
    fields = {
        "system": {"name": name},
        "peers": 4,
        "network": {"latency": {"kind": "constant", "rtt": "100 ms"}},
        "workload": workload,
        "phases": PHASES,
    }
    trial = run.trial(f"{name}-1")
    trial.telemetry.mkdir(parents=True)
    return TrialRecord(trial.name, name, {}, TrialSpec.model_validate(fields), trial, {}, {"hosts": []})


def lookup_trial(run: RunDirectory) -> TrialRecord:
    """Make a trial of five lookups that count and a late one; peer 4 crashes at 25 s, peer 3 joins at 22 s.

    0: right after two hops. 1: right at its origin. 2: at peer 0, though 4 is up. 3: lost. 4: at the newcomer
    3, which is closer than all that had to be known, by a timer; and again at 2. 5: late and lost. Peers are
    part of another overlay too, on which no lookup runs.
    """
    trial = record(run, "pastry", {"lookups": {"rate": 1.0}})
    up = [(0, 1.0, 50.0), (1, 1.0, 50.0), (2, 1.0, 50.0), (3, 22.0, 50.0), (4, 1.0, 25.0)]
    asked = [(21.0, 0, 1), (22.0, 1, 1), (23.0, 2, 4), (26.0, 2, 4), (27.0, 0, 3), (46.0, 0, 1)]
    Plan(
        peers=peers_of_plan(5),
        sessions=table(SESSIONS, *((p, 0, start, end, False, "base") for p, start, end in up)),
        subscriptions=SUBSCRIPTIONS.empty_table(),
        publications=PUBLICATIONS.empty_table(),
        lookups=table(
            LOOKUPS, *((n, at, peer, encode(hash_of_peer(key))) for n, (at, peer, key) in enumerate(asked))
        ),
    ).write(trial.directory.plan)
    host = Host(trial.directory.telemetry, trial=trial.name)
    for peer, start, _ in up:
        host.join(peer, start)
        host.take(peer, start, RING.mask - hash_of_peer(peer), channel="another overlay")
    traces = [
        host.operate("lookup", peer, at, {names.LOOKUP: number}) for number, (at, peer, _) in enumerate(asked)
    ]
    traces[1].deliver(1, 22.0, hops=0)
    traces[0].hop("Routed", 0, 2, 21.0, 21.05, channel=OVERLAY)
    traces[0].hop("Routed", 2, 1, 21.05, 21.1, hops=2, channel=OVERLAY)
    traces[2].hop("Routed", 2, 0, 23.0, 23.05, hops=1, channel=OVERLAY)
    traces[3].hop("Routed", 2, 0, 26.0, 26.05, channel=OVERLAY)
    traces[4].hop("Routed", 0, 3, 27.0, 27.05, channel=OVERLAY)
    traces[4].deliver(3, 27.2, hops=1)
    traces[4].hop("Routed", 3, 2, 27.2, 27.3, hops=2, channel=OVERLAY)
    host.crash(4, 25.0)
    host.recorder.close()
    return trial


TABLES_TOLD = {
    20.0: {0: (5.0, 10.0, 100.0), 1: (5.0, 50.0, 500.0)},
    40.0: {0: (7.0, 13.0, 160.0), 1: (9.0, 4.0, 9.0), 2: (2.0, 6.0, 30.0)},
}
"""Entries, searches and comparisons of peers before and after the measure phase."""


def content_trial(run: RunDirectory) -> TrialRecord:
    """Make a trial of three events by peer 0 and three subscriptions made while up, by peers 3, 2 and 1.

    Event 0 (x 7, y 0.5): due to 1 and to 2, which is given it twice; 3 relays it. Event 1 (x 10, y 2): due to
    1, which handles it and is not given it; 3 gets it though its subscription is too new to be due. Event 2
    (x -1): nobody's; 2 relays it, and 3 gets a copy. Peer 1 came back in the measure phase, so its gauges
    began anew, and 2 joined in it; 3 tells of no table. The subscription of 3 is stored in two parts, the
    later one after 300 ms, and 3 hears of the other one after 350 ms; that of 2 waits for its join; that of 1
    is lost.
    """
    trial = record(run, "li", {"subscriptions": {"kind": "ranges", "attributes": ATTRIBUTES}})
    wide = [{"attribute": "x", "low": 0.0, "high": 10.0}]
    both = [{"attribute": "x", "low": 5.0, "high": 10.0}, {"attribute": "y", "low": 0.0, "high": 1.0}]
    none = [{"attribute": "y", "low": 9.0, "high": 9.0}]
    held = [(1, wide, 0.0), (2, both, 0.0), (3, wide, 22.0), (0, wide, 0.0), (2, none, 24.0), (1, none, 24.0)]
    events = [(21.0, {"x": 7.0, "y": 0.5}), (25.0, {"x": 10.0, "y": 2.0}), (33.0, {"x": -1.0})]
    values = [[{"attribute": k, "value": v} for k, v in of.items()] for _, of in events]
    Plan(
        peers=peers_of_plan(4),
        sessions=table(SESSIONS, *((peer, 0, 1.0, 50.0, False, "base") for peer in range(4))),
        subscriptions=table(
            SUBSCRIPTIONS, *((n, p, None, None, of, start, 50.0) for n, (p, of, start) in enumerate(held))
        ),
        publications=table(
            PUBLICATIONS, *((n, at, 0, None, values[n], 64) for n, (at, _) in enumerate(events))
        ),
    ).write(trial.directory.plan)
    host = Host(trial.directory.telemetry, trial=trial.name)
    for peer in range(4):
        host.join(peer, 1.0)
    first, second, third = (
        host.operate("publish", 0, at, {names.EVENT: n}) for n, (at, _) in enumerate(events)
    )
    first.hop("ProbePub", 0, 3, 21.0, 21.05)
    first.hop("EventDelivery", 3, 1, 21.05, 21.1, hops=2)
    first.hop("EventDelivery", 3, 2, 21.05, 21.2, hops=2)
    first.hop("EventDelivery", 3, 2, 21.1, 21.3, hops=2)
    second.hop("ProbePub", 0, 1, 25.0, 25.05)
    second.hop("EventDelivery", 1, 3, 25.05, 25.6, hops=2)
    third.hop("ProbePub", 0, 2, 33.0, 33.05)
    third.hop("EventDelivery", 2, 3, 33.05, 33.1)
    for at, told in TABLES_TOLD.items():
        names_of = ("table_entries", "table_searches", "table_comparisons")
        peers = [(p, [("", Part(dict(zip(names_of, of, strict=True)), {}))]) for p, of in told.items()]
        host.interval(at)
        assert list(host.recorder.write_snapshot(round(at * 1e9), peers))
    stored = host.operate("subscribe", 3, 22.0, {names.INTEREST: 2})
    stored.hop("Routed", 3, 1, 22.0, 22.1)
    first_part = stored.hop("InsertSub", 1, 2, 22.1, 22.2, hops=2)
    stored.hop("InsertSubAck", 2, 3, 22.2, 22.35, parent=first_part)
    stored.hop("InsertSub", 1, 0, 22.1, 22.3, hops=3)
    host.operate("subscribe", 2, 24.0, {names.INTEREST: 4})
    lost = host.operate("subscribe", 1, 24.0, {names.INTEREST: 5})
    lost.hop("ProbeSub", 1, 0, 24.0, 24.1)
    host.recorder.close()
    return trial


@pytest.fixture(scope="module")
def golden(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunDirectory, dict[str, Values]]:
    run = RunDirectory(tmp_path_factory.mktemp("workloads") / "run")
    records = [lookup_trial(run), content_trial(run)]
    for trial in records:
        write_outcome(trial.directory, [])
    tables = build_tables(spark, run, records)
    return run, measure(tables | build_series(run, tables))


def rows(run: RunDirectory, name: str, trial: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / name, partitioning="hive").to_table().to_pylist()
    return [row for row in found if row["trial"] == trial]


def test_the_tables_are_as_the_page_of_tables_says(golden: tuple[RunDirectory, dict[str, Values]]) -> None:
    assert differences(golden[0]) == []


def test_each_lookup_is_a_row(golden: tuple[RunDirectory, dict[str, Values]]) -> None:
    found = rows(golden[0], "lookups", "pastry-1")
    outcome = [
        (row["lookup"], row["origin"], row["peer"], row["hops"], row["copies"], row["right"], row["counted"])
        for row in found
    ]
    assert outcome == [
        (0, 0, 1, 2, 1, True, True),
        (1, 1, 1, 0, 1, True, True),
        (2, 2, 0, 1, 1, False, True),
        (3, 2, None, None, 0, False, True),
        (4, 0, 3, 1, 2, True, True),
        (5, 0, None, None, 0, False, False),
    ]
    assert [row["closest"] for row in found[:3]] == [1, 1, 4]
    assert found[4]["closest"] != 3, "it had joined too shortly before"
    assert [row["direct_ms"] for row in found[:3]] == pytest.approx([50, 0, 50])


def test_measures_of_lookups_are_those_counted_by_hand(
    golden: tuple[RunDirectory, dict[str, Values]],
) -> None:
    measures = golden[1]["pastry-1"]
    expected = {
        "lookups": 5,
        "lookup_success": 3 / 5,
        "lookup_success_lowest": 1 / 2,
        "lookup_delivered": 4 / 5,
        "lookup_hops": 1,
        "lookup_delay_ms": (100 + 0 + 50 + 200) / 4,
        "lookup_delay_ms_median": 75,
        "delay_penalty": 350 / 150,
        "delay_penalty_mean": (2 + 1 + 4) / 3,
    }
    assert {name: measures[name] for name in expected} == pytest.approx(expected)
    assert not {"hit_ratio", "overhead", "install_delay_ms", "published"} & measures.keys()


def test_lookups_are_drawn_by_time_and_by_share(golden: tuple[RunDirectory, dict[str, Values]]) -> None:
    run, _ = golden
    series = {row["start_s"]: row for row in rows(run, "series", "pastry-1")}
    assert [series[at]["lookups"] for at in (20, 25, 30)] == [3, 2, 0]
    assert [series[at]["lookup_success"] for at in (20, 25, 30)] == [pytest.approx(2 / 3), 0.5, None]
    cdf = [row for row in rows(run, "delay_cdf", "pastry-1") if row["operation"] == "lookup"]
    assert {row["value"]: row["share"] for row in cdf if row["unit"] == "hops"} == {0: 0.25, 1: 0.75, 2: 1}
    assert max(row["value"] for row in cdf if row["unit"] == "penalty") == 4
    assert rows(run, "overhead_histogram", "pastry-1") == []


def test_deliveries_are_due_to_those_whose_ranges_match(
    golden: tuple[RunDirectory, dict[str, Values]],
) -> None:
    found = rows(golden[0], "deliveries", "li-1")
    outcome = {
        (row["event"], row["peer"]): (row["expected"], row["delivered"], row["hops"], row["copies"])
        for row in found
    }
    assert outcome == {
        (0, 1): (True, True, 2, 1),
        (0, 2): (True, True, 2, 2),
        (1, 1): (True, False, None, 0),
        (1, 3): (False, True, 2, 1),
    }
    relays = rows(golden[0], "relays", "li-1")
    assert [(row["event"], row["peer"], row["messages"]) for row in relays] == [
        (0, 3, 1),
        (2, 2, 1),
        (2, 3, 1),
    ]


def test_measures_of_content_are_those_counted_by_hand(
    golden: tuple[RunDirectory, dict[str, Values]],
) -> None:
    measures = golden[1]["li-1"]
    expected = {
        "hit_ratio": 2 / 3,
        "expected": 3,
        "overhead": 1 / 5,
        "overhead_messages": 3 / 8,
        "delay_hops": 2,
        "delay_ms": (100 + 200 + 600) / 3,
        "delay_ms_max": 600,
        "delay_within_400_ms": 2 / 3,
        "duplicates": 1 / 3,
        "repeated": 1,
        "publish_bytes_per_event_and_node": 800 / 3 / 4,
        "publish_bytes_max": 300 / 3,
        "matching_bytes_per_event_and_node": 300 / 3 / 4,
        "matching_bytes_top_20": 300 / 3 / 4,
        "installed": 1 / 2,
        "install_delay_ms": 300,
        "install_hops": 3,
        "install_within_600_ms": 1 / 2,
        "install_bytes_per_subscription_and_node": 500 / 2 / 4,
        "install_bytes_max": 300 / 2,
        "piece_delay_ms": (350 + 300) / 2,
        "piece_within_600_ms": 2 / 3,
        "insert_bytes_per_subscription_and_node": 400 / 2 / 4,
        "insert_bytes_max": 300 / 2,
        "network_cost_ms": (400 + 550 + 50) / 3,
        "network_cost_ideal_ms": (100 + 100) / 3,
        "network_cost_over_ideal": 1000 / 200,
        "copies_per_event": 5 / 3,
        "uninterested_per_event": 1 / 3,
        "interested_per_event": 2,
        "server_copies": 10 / 4 / 3,
        "server_copies_max": 5 / 3,
        "server_copies_max_over_mean": 2,
        "server_copies_jain": 100 / (4 * 38),
        "table_entries": 6,
        "table_entries_max": 9,
        "searches_per_event": (3 + 4 + 6) / 3 / 3,
        "searches_per_event_max": 6 / 3,
        "comparisons_per_event": (60 + 9 + 30) / 3 / 3,
        "comparisons_per_event_max": 60 / 3,
    }
    assert {name: measures[name] for name in expected} == pytest.approx(expected)
    assert "lookup_success" not in measures


def test_searches_of_a_server_that_came_back_count_from_0(
    golden: tuple[RunDirectory, dict[str, Values]],
) -> None:
    found = rows(golden[0], "servers", "li-1")
    outcome = {
        row["peer"]: (row["copies"], row["entries"], row["searches"], row["comparisons"]) for row in found
    }
    assert outcome == {
        0: (0, 7.0, 3.0, 60.0),
        1: (2, 9.0, 4.0, 9.0),
        2: (3, 2.0, 6.0, 30.0),
        3: (5, None, None, None),
    }


def test_each_subscription_made_while_up_is_a_row(golden: tuple[RunDirectory, dict[str, Values]]) -> None:
    found = rows(golden[0], "installations", "li-1")
    outcome = {
        row["interest"]: (row["peer"], row["counted"], row["installed_s"], row["hops"], row["messages"])
        for row in found
    }
    assert outcome == {
        2: (3, True, 22.3, 3, 4),
        4: (2, False, None, None, 0),
        5: (1, True, None, None, 1),
    }
    traffic = rows(golden[0], "operation_traffic", "li-1")
    probes = {row["peer"]: row["bytes"] for row in traffic if row["message"] == "ProbePub"}
    assert probes == {0: 300}
