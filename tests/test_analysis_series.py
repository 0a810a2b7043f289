"""The table over time has in each interval what belongs to that interval alone."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import Row, SparkSession
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


FAULTS = {
    "no fault": "[]",
    "a fault between readings": "[{name: lag, at: 11 s, for: 2 s, links: {share: 0.5, delay: 1 ms}}]",
    "a fault at readings": "[{name: lag, at: 10 s, for: 5 s, links: {share: 0.5, delay: 1 ms}}]",
}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, list[Row]]:
    """The table over time of a trial of each of these."""
    run = a_run(
        tmp_path_factory.mktemp("cut"), f"{EXPERIMENT}vary: {{faults: [{', '.join(FAULTS.values())}]}}\n"
    )
    analyze(run, ignore, spark)
    rows = spark.read.parquet(str(run.tables / "series")).orderBy("start_s").collect()
    trials = [trial["trial"] for trial in json.loads(run.summary.read_text())["trials"]]
    return {
        name: [row for row in rows if row.trial == trial] for name, trial in zip(FAULTS, trials, strict=True)
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_an_interval_that_the_measure_phase_or_a_fault_cuts_has_no_maintenance_and_the_others_have_theirs(
    series: dict[str, list[Row]], fault: str
) -> None:
    rows, both = series[fault], fault != "a fault between readings"
    assert [(row.start_s, row.end_s) for row in rows] == [(4, 9), (9, 14), (14, 19), (19, 20)]
    assert [row.maintenance_messages is None for row in rows] == [False, not both, False, True]
    assert max(row.lookups for row in rows[:3]) > 0
    whole = [row.maintenance_messages for row in rows[:3] if row.maintenance_messages is not None]
    assert max(whole) < 2 * min(whole)
