"""Hosts whose clocks differ are brought to the coordinator's time."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_golden import EXPERIMENT, TRIAL, Host, write_outcome, write_plan
from pyspark.sql import SparkSession

from analysis.contract.trials import read_experiment, read_trials
from analysis.tables.telemetry import read_spans
from emulator.experiment.run.directory import RunDirectory


def test_the_drift_since_the_start_is_corrected_on_each_messages_two_hosts(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = RunDirectory(tmp_path)
    trial = run.trial(TRIAL)
    write_plan(trial)
    run.experiment.write_text(EXPERIMENT)
    ahead_by = 0.1  # at 20 s, of 0 at the start and 0.25 at 50 s
    right, ahead = Host(trial.telemetry, "right"), Host(trial.telemetry, "ahead")
    right.join(0, 0.0)
    ahead.join(3, 0.0)
    there = right.publish(0, 0, 20.0)
    there.hop("EventData", 0, 3, 20.0, 20.03 + ahead_by, hops=1, by=ahead.recorder)
    there.hop("Pull", 3, 0, 20.0 + ahead_by, 20.03)
    for host in (right, ahead):
        host.recorder.close()
    offsets = {"clock_offset_start_ns": 10**9, "clock_offset_end_ns": 10**9 + 250_000_000}
    write_outcome(trial, [{"host": "right"}, {"host": "ahead", **offsets}])
    records = read_trials(run, read_experiment(run))
    rows = read_spans(spark, records).where("parent is not null").collect()
    assert {r.message for r in rows} == {"EventData", "Pull"}
    assert [r.sent_s for r in rows] == pytest.approx([20.0, 20.0], abs=0.001)
    assert [r.delay_ms for r in rows] == pytest.approx([30.0, 30.0], abs=1)
