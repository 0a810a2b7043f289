"""The table over time has in each interval what belongs to that interval alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from test_judging import a_run, ignore

from analysis.pipeline import analyze

EXPERIMENT = """\
name: cut
system: chord
peers: 12
workload: {lookups: {rate: 2}}
telemetry: {metrics_interval: 5 s}
phases: {join: 0.5 s, settle: 3.5 s, measure: 16 s, drain: 8 s}
"""


@pytest.mark.parametrize(
    ("faults", "both"),
    [
        ("", True),
        ("faults: [{name: lag, at: 11 s, for: 2 s, links: {share: 0.5, delay: 1 ms}}]\n", False),
        ("faults: [{name: lag, at: 10 s, for: 5 s, links: {share: 0.5, delay: 1 ms}}]\n", True),
    ],
    ids=["no fault", "a fault between readings", "a fault at readings"],
)
def test_an_interval_that_the_measure_phase_or_a_fault_cuts_has_no_maintenance_and_the_others_have_theirs(
    tmp_path: Path, spark: SparkSession, faults: str, both: bool
) -> None:
    run = a_run(tmp_path, EXPERIMENT + faults)
    analyze(run, ignore, spark)
    rows = spark.read.parquet(str(run.tables / "series")).orderBy("start_s").collect()
    assert [(row.start_s, row.end_s) for row in rows] == [(4, 9), (9, 14), (14, 19), (19, 20)]
    assert [row.maintenance_messages is None for row in rows] == [False, not both, False, True]
    assert max(row.lookups for row in rows[:3]) > 0
    whole = [row.maintenance_messages for row in rows[:3] if row.maintenance_messages is not None]
    assert max(whole) < 2 * min(whole)
