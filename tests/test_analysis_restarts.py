"""Telemetry of pods: one Collector's file for all hosts, hosts that came back, leaves that others tell of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from analysis_golden import EXPERIMENT, TRIAL, Host, golden_run, record_golden, write_outcome, write_plan
from pyspark.sql import SparkSession

from analysis.pipeline import analyze
from emulator.experiment.rundir import RunDirectory, TrialDirectory

RESTARTED = {"host": "b", "peers": 1, "state": "restarted", "lost_at_s": None}


def rows(run: RunDirectory, table: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / table, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=repr)


def gather(trial: TrialDirectory, hosts: Sequence[Host]) -> None:
    """Close the hosts, and put their files together as a Collector does."""
    for host in hosts:
        host.recorder.close()
    for signal in ("traces", "metrics"):
        files = sorted(trial.telemetry.glob(f"*-{signal}-*.otlp"))
        together = b"".join(file.read_bytes() for file in files)
        for file in files:
            file.unlink()
        (trial.telemetry / f"collector-{signal}-0.otlp").write_bytes(together)


def pods(folder: Path) -> tuple[RunDirectory, TrialDirectory, Host]:
    """A run whose peers 0, 1, 2 and 4 are on host a; peer 3 is on b, from 15 s."""
    run = RunDirectory(folder)
    trial = run.trial(TRIAL)
    write_plan(trial)
    run.experiment.write_text(EXPERIMENT)
    host = Host(trial.telemetry, "a")
    for peer in (0, 1, 2, 4):
        host.join(peer, 1.0)
    return run, trial, host


def sessions_of_3(run: RunDirectory) -> list[tuple[float, float, str]]:
    found = [row for row in rows(run, "sessions") if row["peer"] == 3]
    return sorted((row["start_s"], row["end_s"], row["ended"]) for row in found)


def test_one_file_for_all_hosts_gives_the_tables_of_a_file_for_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    hosts = [{"host": "a", "peers": 4, "clock_offset_end_ns": 10**7}, {"host": "b", "peers": 1}]
    tables = []
    for collected in (False, True):
        run = golden_run(tmp_path / str(collected))
        trial = run.trial(TRIAL)
        for file in trial.telemetry.iterdir():
            file.unlink()
        recorded = [Host(trial.telemetry, "a"), Host(trial.telemetry, "b")]
        record_golden(*recorded)
        recorded[1].interval(40.0, peers_up=1)
        if collected:
            gather(trial, recorded)
        else:
            for host in recorded:
                host.recorder.close()
        write_outcome(trial, hosts)
        analyze(run, lambda _: None, spark)
        names = sorted(path.name for path in run.tables.iterdir())
        tables.append({name: rows(run, name) for name in names})
    assert tables[0] == tables[1]
    assert any(row["host"] == "b" for row in tables[0]["points"])


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Host b is killed soon after 18 s; its new start joins peer 3 again at 25 s.

    Event 0 is published at 21 s, event 1 at 40 s; peer 3 gets the second only.
    """
    run, trial, a = pods(tmp_path_factory.mktemp("killed") / "run")
    b = Host(trial.telemetry, "b")
    b.join(3, 2.0)
    first = a.publish(0, 0, 17.0)
    first.hop("EventData", 0, 3, 17.0, 18.0, hops=1, by=b.recorder)
    b.maintain(3, 100)
    b.interval(17.5)
    b.snapshot(17.5, {3: [1]})
    back = Host(trial.telemetry, "b", incarnation=1)
    back.join(3, 25.0)
    second = a.publish(1, 1, 38.0)
    second.hop("EventData", 1, 3, 38.0, 38.1, hops=1, by=back.recorder)
    back.maintain(3, 7)
    back.interval(39.5)
    back.snapshot(39.5, {3: [1]})
    gather(trial, [a, b, back])
    write_outcome(trial, [{"host": "a", "peers": 4, "state": "finished"}, RESTARTED], valid=False)
    analyze(run, lambda _: None, spark)
    return run


def test_a_session_whose_host_was_killed_ends_with_its_last_span_and_begins_again(
    killed: RunDirectory,
) -> None:
    assert sessions_of_3(killed) == [(2.0, 18.0, "host lost"), (25.0, 50.0, "trial end")]


def test_a_killed_hosts_peers_are_expected_to_get_events_only_while_they_are_up(
    killed: RunDirectory,
) -> None:
    """Peer 3 was up for too short a time after event 0, and long enough around event 1."""
    told = {
        (row["event"], row["peer"]): (row["expected"], row["delivered"]) for row in rows(killed, "deliveries")
    }
    assert told[0, 3] == (False, True)
    assert told[1, 3] == (True, True)
    assert len([row for row in rows(killed, "deliveries") if row["peer"] == 3]) == 2


def test_each_start_of_a_host_has_counters_of_its_own(killed: RunDirectory) -> None:
    counted = [row for row in rows(killed, "counters") if row["peer"] == 3]
    assert [(row["messages"], row["bytes"]) for row in counted] == [(7, 70)]


def test_a_host_that_took_its_leave_before_it_came_back_ends_the_session_then(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, trial, a = pods(tmp_path / "run")
    b = Host(trial.telemetry, "b")
    b.join(3, 2.0)
    b.crash(3, 20.0, graceful=True)
    b.interval(21.0)
    back = Host(trial.telemetry, "b", incarnation=1)
    back.join(3, 25.0)
    back.crash(3, 45.0)
    gather(trial, [a, b, back])
    write_outcome(trial, [{"host": "a", "peers": 4, "state": "finished"}, RESTARTED], valid=False)
    analyze(run, lambda _: None, spark)
    assert sessions_of_3(run) == [(2.0, 20.0, "leave"), (25.0, 45.0, "crash")]


def test_a_killed_host_that_came_back_too_late_for_the_session_ended_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, trial, a = pods(tmp_path / "run")
    b = Host(trial.telemetry, "b")
    b.join(3, 2.0)
    b.interval(19.0)
    back = Host(trial.telemetry, "b", incarnation=1)
    back.interval(49.0)
    gather(trial, [a, b, back])
    write_outcome(trial, [{"host": "a", "peers": 4, "state": "finished"}, RESTARTED], valid=False)
    analyze(run, lambda _: None, spark)
    assert sessions_of_3(run) == [(2.0, 19.0, "host lost")]


def test_a_leave_that_a_churn_controller_tells_of_ends_the_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, trial, a = pods(tmp_path / "run")
    b, churn = Host(trial.telemetry, "b"), Host(trial.telemetry, "churn-0")
    b.join(3, 2.0)
    b.interval(29.0)
    churn.crash(3, 30.0)
    back = Host(trial.telemetry, "b", incarnation=1)
    back.interval(33.0)
    gather(trial, [a, b, back, churn])
    write_outcome(trial, [{"host": "a", "peers": 4, "state": "finished"}, {"host": "b", "state": "finished"}])
    analyze(run, lambda _: None, spark)
    assert sessions_of_3(run) == [(2.0, 30.0, "crash")]
