"""Telemetry of pods: one Collector's file for all hosts, hosts that came back, leaves that others tell of.

All trials here are those of one run, which is analysed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.dataset as ds
import pytest
from analysis_golden import EXPERIMENT, Host, record_golden, write_outcome, write_plan
from pyspark.sql import SparkSession
from tables_page import differences

from analysis.pipeline import analyze
from emulator.experiment.run.directory import RunDirectory, TrialDirectory

FINISHED = {"host": "a", "peers": 4, "state": "finished"}
RESTARTED = {"host": "b", "peers": 1, "state": "restarted", "lost_at_s": None}
LOST = {"host": "b", "peers": 1, "state": "lost", "lost_at_s": 26.0}
APART, TOGETHER, KILLED, LEFT, LATE, TOLD, GONE = TRIALS = [f"vitis-{number}" for number in range(1, 8)]
"""Seeds differ in name alone: traces of different trials have the same identifiers."""


class Pod(Host):
    """A host of one of these trials."""

    def __init__(self, trial: TrialDirectory, name: str, incarnation: int = 0) -> None:
        super().__init__(trial.telemetry, name, trial=trial.path.name, incarnation=incarnation)


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


def begin(trial: TrialDirectory) -> Host:
    """Begin with peers 0, 1, 2 and 4 on this host; peer 3 is on b, from 15 s."""
    host = Pod(trial, "a")
    for peer in (0, 1, 2, 4):
        host.join(peer, 1.0)
    return host


def record_on_two_hosts(trial: TrialDirectory, collected: bool) -> None:
    hosts = [Pod(trial, "a"), Pod(trial, "b")]
    record_golden(*hosts)
    hosts[1].interval(40.0, peers_up=1)
    if collected:
        gather(trial, hosts)
    else:
        for host in hosts:
            host.recorder.close()
    told = [{"host": "a", "peers": 4, "clock_offset_end_ns": 10**7}, {"host": "b", "peers": 1}]
    write_outcome(trial, told)


def record_killed(trial: TrialDirectory) -> None:
    """Host b is killed soon after 18 s; its new start joins peer 3 again at 25 s.

    Event 0 is published at 21 s, event 1 at 40 s; peer 3 gets the second only.
    """
    a, b = begin(trial), Pod(trial, "b")
    b.join(3, 2.0)
    first = a.publish(0, 0, 17.0)
    first.hop("EventData", 0, 3, 17.0, 18.0, hops=1, by=b.recorder)
    b.maintain(3, 100)
    b.interval(17.5)
    b.snapshot(17.5, {3: [1]})
    back = Pod(trial, "b", incarnation=1)
    back.join(3, 25.0)
    second = a.publish(1, 1, 38.0)
    second.hop("EventData", 1, 3, 38.0, 38.1, hops=1, by=back.recorder)
    back.maintain(3, 7)
    back.interval(39.5)
    back.snapshot(39.5, {3: [1]})
    gather(trial, [a, b, back])
    write_outcome(trial, [FINISHED, RESTARTED], valid=False)


def record_left(trial: TrialDirectory) -> None:
    """Host b has peer 3 take its leave before it goes, and a crash tells of the end of its next session."""
    a, b = begin(trial), Pod(trial, "b")
    b.join(3, 2.0)
    b.crash(3, 20.0, graceful=True)
    b.interval(21.0)
    back = Pod(trial, "b", incarnation=1)
    back.join(3, 25.0)
    back.crash(3, 45.0)
    gather(trial, [a, b, back])
    write_outcome(trial, [FINISHED, RESTARTED], valid=False)


def record_late(trial: TrialDirectory) -> None:
    """Host b is killed, and comes back when there is nothing left for it to do."""
    a, b = begin(trial), Pod(trial, "b")
    b.join(3, 2.0)
    b.interval(19.0)
    back = Pod(trial, "b", incarnation=1)
    back.interval(49.0)
    gather(trial, [a, b, back])
    write_outcome(trial, [FINISHED, RESTARTED], valid=False)


def record_told(trial: TrialDirectory) -> None:
    """A churn controller tells of the end of host b's session."""
    a, b, churn = begin(trial), Pod(trial, "b"), Pod(trial, "churn-0")
    b.join(3, 2.0)
    b.interval(29.0)
    churn.crash(3, 30.0)
    back = Pod(trial, "b", incarnation=1)
    back.interval(33.0)
    gather(trial, [a, b, back, churn])
    write_outcome(trial, [FINISHED, {"host": "b", "state": "finished"}])


def record_gone(trial: TrialDirectory) -> None:
    """Host b was last heard at 26 s and recorded its last at 18 s: it tells nothing of event 0, at 19 s."""
    a, b = begin(trial), Pod(trial, "b")
    b.join(3, 2.0)
    b.maintain(3, 100)
    b.interval(18.0)
    b.snapshot(18.0, {3: [1]})
    first = a.publish(0, 0, 19.0)
    first.hop("EventData", 0, 1, 19.0, 19.1, hops=1)
    first.hop("EventData", 0, 4, 19.0, 19.1, hops=1)
    a.interval(40.0)
    a.snapshot(40.0, {0: [1]})
    gather(trial, [a, b])
    write_outcome(trial, [FINISHED, LOST])


Run = Mapping[str, Mapping[str, list[dict[str, Any]]]]
"""Rows of all tables, by trial and table, in an order of their own; `summary` is the trial's part of that."""


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = RunDirectory(tmp_path_factory.mktemp("restarts") / "run")
    trials = {name: made.trial(name) for name in TRIALS}
    for trial in trials.values():
        write_plan(trial)
    made.experiment.write_text(EXPERIMENT + f"repeat: {len(TRIALS)}\n")
    record_on_two_hosts(trials[APART], collected=False)
    record_on_two_hosts(trials[TOGETHER], collected=True)
    record_killed(trials[KILLED])
    record_left(trials[LEFT])
    record_late(trials[LATE])
    record_told(trials[TOLD])
    record_gone(trials[GONE])
    summary = analyze(made, lambda _: None, spark)
    assert differences(made) == []
    tables = sorted(path.name for path in made.tables.iterdir())
    told = {trial["trial"]: {"summary": [trial]} for trial in summary["trials"]}
    return {trial: {t: rows(made, t, trial) for t in tables} | told[trial] for trial in TRIALS}


def rows(run: RunDirectory, table: str, trial: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / table, partitioning="hive").to_table().to_pylist()
    here = [{k: v for k, v in row.items() if k != "trial"} for row in found if row["trial"] == trial]
    return sorted(here, key=repr)


def sessions_of_3(run: Run, trial: str) -> list[tuple[float, float, str]]:
    found = [row for row in run[trial]["sessions"] if row["peer"] == 3]
    return sorted((row["start_s"], row["end_s"], row["ended"]) for row in found)


def summary_of(run: Run, trial: str) -> dict[str, Any]:
    return run[trial]["summary"][0]


def test_one_file_for_all_hosts_gives_the_tables_of_a_file_for_each(run: Run) -> None:
    apart, together = ({k: v for k, v in run[t].items() if k != "summary"} for t in (APART, TOGETHER))
    assert apart == together
    assert any(row["host"] == "b" for row in run[TOGETHER]["points"])


def test_a_session_whose_host_was_killed_ends_with_its_last_span_and_begins_again(run: Run) -> None:
    assert sessions_of_3(run, KILLED) == [(2.0, 18.0, "host lost"), (25.0, 50.0, "trial end")]


def test_a_killed_hosts_peers_are_expected_to_get_events_only_while_they_are_up(run: Run) -> None:
    """Peer 3 was up for too short a time after event 0, and long enough around event 1."""
    deliveries = run[KILLED]["deliveries"]
    told = {(row["event"], row["peer"]): (row["expected"], row["delivered"]) for row in deliveries}
    assert told[0, 3] == (False, True)
    assert told[1, 3] == (True, True)
    assert len([row for row in deliveries if row["peer"] == 3]) == 2


def test_what_a_lost_hosts_peers_received_last_is_neither_missed_nor_received(run: Run) -> None:
    assert sessions_of_3(run, GONE) == [(2.0, 18.0, "host lost")]
    deliveries = [row for row in run[GONE]["deliveries"] if row["event"] == 0]
    assert sorted(row["peer"] for row in deliveries if row["expected"]) == [1, 4]
    assert summary_of(run, GONE)["measures"]["hit_ratio"] == 1.0


def test_absences_are_told_with_their_peers_and_times(run: Run) -> None:
    def told(trial: str) -> list[tuple[int, float, float, bool]]:
        return [(row["peer"], row["from_s"], row["until_s"], row["back"]) for row in run[trial]["absences"]]

    assert told(KILLED) == [(3, 18.0, 25.0, True)]
    assert told(LATE) == [(3, 19.0, 50.0, False)]
    assert told(GONE) == [(3, 18.0, 50.0, False)]
    assert told(LEFT) == told(TOLD) == told(APART) == []
    listed = {"host": "b", "peers": 1, "from_s": 18.0, "until_s": 25.0, "back": 1}
    assert summary_of(run, KILLED)["absences"] == [listed]
    assert [summary_of(run, trial)["measures"]["peers_away"] for trial in (KILLED, TOLD)] == [1, 0]


def test_a_peer_that_was_away_has_no_counters_of_traffic(run: Run) -> None:
    counted = {row["peer"]: row["maintenance_messages"] for row in run[KILLED]["traffic"]}
    assert counted[3] is None


def test_each_start_of_a_host_has_counters_of_its_own(run: Run) -> None:
    counted = [row for row in run[KILLED]["counters"] if row["peer"] == 3]
    assert [(row["messages"], row["bytes"]) for row in counted] == [(7, 70)]


def test_a_host_that_took_its_leave_before_it_came_back_ends_the_session_then(run: Run) -> None:
    assert sessions_of_3(run, LEFT) == [(2.0, 20.0, "leave"), (25.0, 45.0, "crash")]


def test_a_killed_host_that_came_back_too_late_for_the_session_ended_it(run: Run) -> None:
    assert sessions_of_3(run, LATE) == [(2.0, 19.0, "host lost")]


def test_a_leave_that_a_churn_controller_tells_of_ends_the_session(run: Run) -> None:
    assert sessions_of_3(run, TOLD) == [(2.0, 30.0, "crash")]
