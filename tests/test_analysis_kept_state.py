"""The tables of a run in which peers crash and come back with their state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.pipeline import read_whole
from analysis.tables.membership import disturbed_members
from analysis.testing import FinishedRun, finished_run

FILE = """
name: kept
system: {name: SYSTEM}
peers: 12
network: {latency: {kind: constant, rtt: 100 ms}, unreachable_after: 1 s}
workload: WORKLOAD
phases: {join: 1 s, settle: 12 s, measure: 40 s, drain: 5 s}
faults:
  - {name: gone, at: 20 s, for: 4 s, crash: {peers: [3, 4], state: kept}}
  - {name: stopped, at: 30 s, for: 1 s, pause: {peers: [3]}}
"""
TOPICS = "{subscriptions: {kind: random, topics: 2, per_peer: 2, buckets: 1}, publications: {events: 80}}"


@pytest.fixture(scope="module")
def vitis(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[FinishedRun]:
    path = tmp_path_factory.mktemp("kept")
    (path / "kept.yaml").write_text(FILE.replace("SYSTEM", "vitis").replace("WORKLOAD", TOPICS))
    with finished_run(path / "kept.yaml", path / "run", spark) as run:
        yield run


def test_the_session_after_such_a_crash_begins_without_a_join_when_the_peer_is_back(
    vitis: FinishedRun,
) -> None:
    rows = [row for row in vitis.rows("sessions") if row["peer"] in (3, 4)]
    told = sorted((row["peer"], row["session"], row["start_s"], row["end_s"], row["ended"]) for row in rows)
    assert [(peer, session, end, how) for peer, session, _, end, how in told] == [
        (3, 0, 20.0, "crash"),
        (3, 1, 58.0, "trial end"),
        (4, 0, 20.0, "crash"),
        (4, 1, 58.0, "trial end"),
    ]
    assert [start for _, session, start, _, _ in told if session] == [24.0, 24.0]
    assert {row["host"] for row in rows} == {"virtual"}
    joins = [row for row in vitis.rows("operations") if row["operation"] == "join"]
    assert len(joins) == 12 and not [row for row in joins if row["at_s"] > 1]


def test_events_count_at_such_a_peer_as_at_one_that_has_joined(vitis: FinishedRun) -> None:
    """The peer is to get events published from 10 s after its return on, or until 5 s before its crash."""
    rows = [row for row in vitis.rows("deliveries") if row["peer"] in (3, 4) and row["expected"]]
    at = sorted(row["published_s"] for row in rows)
    assert at and not [each for each in at if 15 < each < 34] and at[-1] > 40
    assert all(row["delivered"] for row in rows if row["published_s"] > 34)


def test_such_a_peer_is_where_it_was_for_lookups(tmp_path: Path, spark: SparkSession) -> None:
    text = FILE.replace("SYSTEM", "chord").replace("WORKLOAD", "{lookups: {rate: 20}}")
    (tmp_path / "kept.yaml").write_text(text)
    with finished_run(tmp_path / "kept.yaml", tmp_path / "run", spark) as run:
        taken = [row for row in run.rows("identifiers") if row["peer"] in (3, 4)]
        for peer in (3, 4):
            mine = sorted((row["at_s"], row["identifier"]) for row in taken if row["peer"] == peer)
            assert [at for at, _ in mine][1:] == [24.0] and len({identifier for _, identifier in mine}) == 1
        late = [row for row in run.rows("lookups") if row["at_s"] > 35]
        assert {row["closest"] for row in late} >= {3, 4}


def test_members_that_keep_their_state_in_a_crash_are_disturbed_as_paused_ones_are(
    vitis: FinishedRun, spark: SparkSession
) -> None:
    _, records = read_whole(vitis.directory)
    assert sorted(row.peer for row in disturbed_members(spark, records).collect()) == [3, 4]
