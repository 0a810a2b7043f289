"""A campaign is judged by what it expects alone, as the whole analysis would judge it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis import judging
from analysis.judging import judge
from analysis.pipeline import analyze
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.trials.sweep import about
from emulator.trials.trial import run_trial

EXPERIMENT = """\
name: judged
system: vitis
peers: 20
repeat: 2
workload:
  subscriptions: {kind: random, topics: 4, per_peer: 2, buckets: 1}
  publications: {events: 40}
faults: [{name: split, at: 25 s, for: 10 s, partition: {share: 0.5}}]
invariants: {every: 5 s}
expect:
  - hit_ratio >= 99.9 %
  - hit_ratio <= 10 % from 1 s after split
  - duplicates == 0
  - recovery_s <= 1 s
  - state.neighbours >= 1
phases: {join: 5 s, settle: 10 s, measure: 40 s, drain: 5 s}
"""


def a_run(folder: Path, text: str) -> RunDirectory:
    (folder / "judged.yaml").write_text(text)
    spec = load(folder / "judged.yaml")
    run = create_run(spec, folder)
    for trial in trials(spec):
        run_trial(trial.spec, run.trial(trial.name), lambda _: None, about(trial, "trellis campaign"))
    return run


def ignore(_: Any) -> None: ...


def test_the_judgement_is_that_of_the_whole_analysis_and_writes_no_table(
    tmp_path: Path, spark: SparkSession
) -> None:
    run = a_run(tmp_path, EXPERIMENT)
    found = judge(run, ignore, spark)
    assert not run.tables.exists()
    whole = analyze(run, ignore, spark)
    assert found["expectations"] == whole["expectations"]
    assert {each["text"] for each in found["expectations"] if not each["holds"]} >= {
        "hit_ratio >= 99.9 %",
        "hit_ratio <= 10 % from 1 s after split",
    }
    for judged, analysed in zip(found["trials"], whole["trials"], strict=True):
        assert judged["measures"].items() <= analysed["measures"].items()
        assert {k: judged[k] for k in ("trial", "valid", "reasons")} == {
            k: analysed[k] for k in ("trial", "valid", "reasons")
        }
    assert found["valid"] and len(found["trials"][0]["measures"]) < len(whole["trials"][0]["measures"])


def test_telemetry_that_is_missing_makes_a_judged_trial_invalid(tmp_path: Path, spark: SparkSession) -> None:
    run = a_run(tmp_path, EXPERIMENT.replace("repeat: 2", "repeat: 1"))
    (file,) = run.trial("vitis-1").telemetry.glob("*-traces-*.otlp")
    file.write_bytes(file.read_bytes()[:-400])
    found = judge(run, ignore, spark)
    assert not found["valid"] and "missing" in found["reasons"][0]


def test_invariants_alone_are_judged_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "spark_session", lambda **_: pytest.fail("Spark was started"))
    begin, end = EXPERIMENT.index("expect:"), EXPERIMENT.index("phases:")
    run = a_run(tmp_path, EXPERIMENT[:begin] + EXPERIMENT[end:])
    found = judge(run, ignore)
    assert found["valid"] and [each["measure"] for each in found["expectations"]] == [""] * len(
        found["expectations"]
    )
    assert {each["trials"] for each in found["expectations"]} == {2}


LOOKUPS = """\
name: judged-lookups
system: chord
peers: 20
workload: {lookups: {rate: 2}}
processing: {message: 1 us}
expect: [lookup_success >= 2, processing_drops == 0]
phases: {join: 5 s, settle: 10 s, measure: 20 s, drain: 5 s}
"""


def test_delays_straight_to_the_end_and_other_data_points_are_there_where_a_measure_needs_them(
    tmp_path: Path, spark: SparkSession
) -> None:
    runs = {}
    for name, more in (("without", ""), ("with", ", delay_penalty >= 1")):
        (tmp_path / name).mkdir()
        runs[name] = a_run(tmp_path / name, LOOKUPS.replace(">= 2,", f">= 2{more},"))
    (analysed,) = (each["measures"] for each in analyze(runs["with"], ignore, spark)["trials"])
    assert analysed["delay_penalty"] > 1
    assert analysed["processing_drops"] == 0.0
    for name, left_out in (("without", ("delay_penalty", "delay_penalty_mean")), ("with", ())):
        (judged,) = (each["measures"] for each in judge(runs[name], ignore, spark)["trials"])
        assert judged.keys().isdisjoint(left_out)
        assert judged.items() <= analysed.items()
        assert judged["lookup_success"] == 1.0
        assert judged["processing_drops"] == 0.0 and judged["neighbours"] > 1
