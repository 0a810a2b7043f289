"""Trials of which something is lost or forged: each is told, and the rest is measured.

All trials here are those of one run, which is analysed once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from analysis_golden import EXPERIMENT, TRIAL, Host, record_golden, write_outcome, write_plan
from pyspark.sql import SparkSession

from analysis.pipeline import analyze
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.telemetry.otlp_files import scan_records
from emulator.telemetry.recorder import Recorder

A_BYTE, ZEROS, CUT, FORGED = TRIALS = [TRIAL, "vitis-2", "vitis-3", "vitis-4"]
"""Seeds differ in name alone."""
NAME = "virtual-traces-0.otlp"


def record(trial: TrialDirectory) -> Path:
    """Record the trial that `golden_run` records, and return the file of its spans."""
    host = Host(trial.telemetry, trial=trial.path.name)
    record_golden(host)
    host.recorder.close()
    told = [{"host": "virtual", "peers": 5, "state": "finished", "lost_at_s": None}]
    write_outcome(trial, told, written=[host.recorder.written()])
    return trial.telemetry / NAME


def damage_a_byte(trial: TrialDirectory) -> None:
    file = record(trial)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def overwrite_by_zeros(trial: TrialDirectory) -> None:
    file = record(trial)
    content = bytearray(file.read_bytes())
    content[40:-40] = bytes(len(content) - 80)
    file.write_bytes(content)


def cut_off_and_lose_a_host(trial: TrialDirectory) -> None:
    host, other = (Host(trial.telemetry, name, trial=trial.path.name) for name in ("a", "b"))
    record_golden(host, other)
    host.recorder.close()
    other.recorder.close()
    traces = trial.telemetry / "a-traces-0.otlp"
    traces.write_bytes(traces.read_bytes() + b"\0\0\1\0cut off")
    hosts = [
        {"host": "a", "peers": 4, "state": "finished", "lost_at_s": None},
        {"host": "b", "peers": 1, "state": "lost", "lost_at_s": 31.0},
    ]
    write_outcome(trial, hosts, valid=False)


def forge(trial: TrialDirectory, folder: Path) -> None:
    """Cut the metrics at a record, and add 5 forged spans, and a record of another trial."""
    traces = record(trial)
    metrics = trial.telemetry / "virtual-metrics-0.otlp"
    metrics.write_bytes(metrics.read_bytes()[: scan_records(metrics)[0][-1][0] - 4])
    for name in (trial.path.name, "another-1"):
        about: dict[str, Any] = {"experiment": "e", "trial": name, "seed": 7, "start_unix_ns": 10**18}
        recorder = Recorder(folder / name, "virtual", incarnation=0, **about)
        for number in range(5):
            recorder.operation(recorder.begin(), "join", number, 10**9, {})
            recorder.flush()
        recorder.close()
        with traces.open("ab") as file:
            file.write((folder / name / NAME).read_bytes())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("damaged")
    made = RunDirectory(folder / "run")
    a_byte, zeros, cut, forged = (made.trial(name) for name in TRIALS)
    for trial in (a_byte, zeros, cut, forged):
        write_plan(trial)
    made.experiment.write_text(EXPERIMENT + f"repeat: {len(TRIALS)}\n")
    damage_a_byte(a_byte)
    overwrite_by_zeros(zeros)
    cut_off_and_lose_a_host(cut)
    forge(forged, folder)
    return made


@pytest.fixture(scope="module")
def summary(run: RunDirectory, spark: SparkSession) -> dict[str, Any]:
    return analyze(run, lambda _: None, spark)


def told_of(trial: str, summary: dict[str, Any]) -> dict[str, Any]:
    (told,) = (each for each in summary["trials"] if each["trial"] == trial)
    assert not told["valid"] and not summary["valid"]
    found: dict[str, Any] = told
    return found


def rows(run: RunDirectory, table: str, trial: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / table, partitioning="hive").to_table().to_pylist()
    return [{k: v for k, v in row.items() if k != "trial"} for row in found if row["trial"] == trial]


@pytest.mark.parametrize("trial", [A_BYTE, ZEROS], ids=["a byte", "zeros"])
def test_telemetry_that_is_damaged_makes_a_trial_invalid_and_is_told(
    trial: str, summary: dict[str, Any]
) -> None:
    assert NAME in " ".join(told_of(trial, summary)["reasons"])


def test_lost_host_and_damaged_files_are_told_and_the_rest_is_measured(
    run: RunDirectory, summary: dict[str, Any]
) -> None:
    told = told_of(CUT, summary)
    assert "hosts lost" in told["reasons"][0] and "11 bytes of telemetry" in told["reasons"][1]
    assert [(r["file"], r["lost_bytes"]) for r in rows(run, "losses", CUT)] == [("a-traces-0.otlp", 11)]
    ended = {r["peer"]: r["ended"] for r in rows(run, "sessions", CUT) if r["host"] == "b"}
    assert ended == {3: "host lost"}
    assert told["measures"]["hit_ratio"] == 1.0


def test_what_is_missing_and_what_is_forged_is_told_with_where(summary: dict[str, Any]) -> None:
    told = told_of(FORGED, summary)
    unread, missing, forged = told["reasons"]
    assert "bytes of telemetry could not be read" in unread
    assert "(virtual-metrics-0.otlp: " in missing and "data points are missing)" in missing
    assert f"({NAME}: 5 spans more than the 15 that were written)" in forged
    checks = {check["name"]: check for check in told["fidelity"]["checks"]}
    assert checks["telemetry that was not written by the trial"]["measured"] == 5
    assert "are missing" in told["told_by"]
