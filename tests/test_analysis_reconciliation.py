"""Telemetry that was found is compared with what its writers told, by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from analysis_golden import TRIAL, golden_run, write_outcome

from analysis.contract.trials import TrialRecord, read_experiment, read_trials
from analysis.measures.measure_run import Measured
from analysis.otlp.source import OtlpSource
from analysis.summary import summarize
from analysis.tables.reconciliation import Found, reconcile, told_by
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.telemetry_totals import Written
from emulator.telemetry.otlp_files import scan_records
from emulator.telemetry.recorder import Recorder

NAME = "virtual-traces-0.otlp"


def recorded(folder: Path, host: str, spans: int, start: int = 0, **fields: Any) -> Written:
    """Record a host's files, each span in a record of its own, and return what the host told."""
    about = {"experiment": "e", "trial": TRIAL, "seed": 1, "start_unix_ns": 10**18} | fields
    recorder = Recorder(folder, host, incarnation=start, **about)
    for number in range(spans):
        recorder.operation(recorder.begin(), "join", number, 10**9, {})
        recorder.flush()
    recorder.write_interval(10**9, spans, 0)
    recorder.close()
    return recorder.written()


def found_in(folder: Path) -> list[Found]:
    """Return what the data source reads there."""
    found = []
    for signal in ("traces", "metrics"):
        options = {"signal": signal, "directories": json.dumps([str(folder)])}
        reader = OtlpSource(options).reader(OtlpSource(options).schema())
        for part in reader.partitions():
            for batch in reader.read(part):
                for row in batch.to_pylist():
                    if (tally := row["tally"]) is not None:
                        counts = tally["file"], tally["host"], tally["start"], tally["found"]
                        found.append(Found(row["trial"], *counts, signal))
    return found


class Trial:
    """A trial of two hosts that wrote 6 and 4 spans, and 3 data points each."""

    def __init__(self, folder: Path, runtime: str = "processes") -> None:
        self.directory = RunDirectory(folder).trial(TRIAL)
        self.telemetry = self.directory.telemetry
        self.runtime = runtime
        self.written = [recorded(self.telemetry, "host-0", 6), recorded(self.telemetry, "host-1", 4)]

    def cut(self, name: str, records: int) -> None:
        """Keep so many records of a file."""
        path = self.telemetry / name
        offset, length = scan_records(path)[0][records - 1]
        path.write_bytes(path.read_bytes()[: offset + length])

    def reasons(self) -> list[str]:
        fidelity = {"runtime": self.runtime, "written": [told._asdict() for told in self.written]}
        record = TrialRecord(TRIAL, "vitis", {}, None, self.directory, {}, fidelity)  # type: ignore[arg-type]
        return Fidelity("", "", reconcile(record, found_in(self.telemetry))).reasons


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_writers_count_what_they_wrote(trial: Trial) -> None:
    assert trial.written == [
        Written("host-0", 0, 6, 3, 0, 0, last_word=True),
        Written("host-1", 0, 4, 3, 0, 0, last_word=True),
    ]
    assert trial.reasons() == []


def test_a_file_that_was_cut_at_the_end_of_a_record_is_named_with_what_is_missing(trial: Trial) -> None:
    trial.cut("host-0-traces-0.otlp", 2)
    (reason,) = trial.reasons()
    assert reason == (
        "telemetry missing: 4 spans and data points, limit 0 spans and data points "
        "(host-0-traces-0.otlp: 4 of 6 spans are missing)"
    )


def test_a_file_that_is_gone_is_named(trial: Trial) -> None:
    (trial.telemetry / "host-1-metrics-0.otlp").unlink()
    (reason,) = trial.reasons()
    assert "(host-1-metrics-0.otlp: the file is not there; 3 of 3 data points are missing)" in reason


def append(trial: Trial, name: str, host: str, start: int) -> None:
    """Append 5 forged spans to the end of a file."""
    recorded(trial.telemetry.parent / "forged", host, 5, start, seed=7)
    forged = trial.telemetry.parent / "forged" / f"{host}-traces-{start}.otlp"
    with (trial.telemetry / name).open("ab") as file:
        file.write(forged.read_bytes())


@pytest.mark.parametrize(
    ("name", "host", "start", "said"),
    [
        (
            "host-1-traces-0.otlp",
            "host-1",
            0,
            "host-1-traces-0.otlp: 5 spans more than the 4 that were written",
        ),
        ("host-1-traces-0.otlp", "host-0", 0, "5 spans of host-0, start 0, which did not write them"),
        ("host-1-traces-0.otlp", "host-9", 2, "5 spans of host-9, start 2, which did not write them"),
        (
            "host-1-traces-7.otlp",
            "host-1",
            0,
            "host-1-traces-7.otlp: 5 spans of host-1, start 0, which did not",
        ),
    ],
)
def test_forged_spans_are_counted_and_named(
    trial: Trial, name: str, host: str, start: int, said: str
) -> None:
    append(trial, name, host, start)
    reason = trial.reasons()[0]
    assert reason.startswith("telemetry that was not written by the trial: 5 spans")
    assert said in reason


def test_a_file_that_nobody_wrote_is_named_though_it_is_empty(trial: Trial) -> None:
    (trial.telemetry / "host-7-traces-0.otlp").touch()
    (reason,) = trial.reasons()
    assert (
        reason.startswith("telemetry files that nobody wrote: 1 file,") and "host-7-traces-0.otlp" in reason
    )


@pytest.mark.parametrize("moved", [False, True])
def test_a_copy_under_another_name_is_named_and_nothing_is_missing(trial: Trial, moved: bool) -> None:
    original = trial.telemetry / "host-0-traces-0.otlp"
    (trial.telemetry / "a-copy-traces-0.otlp").write_bytes(original.read_bytes())
    if moved:
        original.unlink()
    (reason,) = trial.reasons()
    assert reason.startswith("telemetry files that nobody wrote: 1 file,")
    assert "a-copy-traces-0.otlp" in reason


def test_what_a_collector_wrote_is_named_by_host_and_start(trial: Trial) -> None:
    trial.runtime = "kubernetes"
    for signal in ("traces", "metrics"):
        parts = sorted(trial.telemetry.glob(f"host-*-{signal}-0.otlp"))
        (trial.telemetry / f"collector-{signal}-0.otlp").write_bytes(b"".join(p.read_bytes() for p in parts))
        for part in parts:
            part.unlink()
    assert trial.reasons() == []
    trial.cut("collector-traces-0.otlp", 7)
    (reason,) = trial.reasons()
    assert "collector-traces: of host-1, start 0, 3 of 4 spans are missing" in reason
    append(trial, "collector-traces-0.otlp", "host-0", 1)
    assert any("5 spans of host-0, start 1, which did not write them" in r for r in trial.reasons())


def test_a_host_without_a_last_word_may_have_written_more_but_not_less(trial: Trial) -> None:
    trial.written[0] = trial.written[0]._replace(spans=4, last_word=False)
    assert trial.reasons() == []
    trial.cut("host-0-traces-0.otlp", 3)
    assert "host-0-traces-0.otlp: 1 of at least 4 spans are missing" in trial.reasons()[0]


def test_spans_that_count_as_lost_may_be_there(trial: Trial) -> None:
    trial.written[1] = trial.written[1]._replace(spans=1, lost_spans=3)
    assert trial.reasons() == []


def test_where_nobody_told_nothing_was_compared(trial: Trial) -> None:
    record = TrialRecord(TRIAL, "vitis", {}, None, trial.directory, {}, {})  # type: ignore[arg-type]
    checks = reconcile(record, [])
    assert [check.measured for check in checks] == [None] * 4
    assert checks[0].said == "not measured"


def test_measures_say_whose_telemetry_they_are_made_of(trial: Trial) -> None:
    hosts = [{"host": "host-0", "state": "lost"}, {"host": "host-1", "state": "finished"}]
    assert told_by({"hosts": hosts}, []) == "the hosts that told: 1 of 2"
    assert told_by({"hosts": hosts[1:]}, []) == ""


def test_a_status_that_says_valid_is_not_believed_alone(tmp_path: Path) -> None:
    run = golden_run(tmp_path / "run")
    trial = run.trial(TRIAL)
    experiment = read_experiment(run)

    def is_valid() -> bool:
        measured = Measured({TRIAL: {}}, {})
        return bool(summarize(run, experiment, read_trials(run, experiment), measured, {}, {})["valid"])

    assert is_valid()
    write_outcome(trial, [], valid=False)
    trial.write_status(state="valid", reasons=[])
    assert not is_valid()
