"""One trial: plan, verdict, status."""

import errno

import pytest

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Check, Fidelity
from emulator.experiment.run.versions import machine, versions
from emulator.runtime.progress import Progress
from emulator.telemetry.backend_traces import OWN_IDS
from emulator.trials import trial as trial_module
from emulator.trials.trial import Job, describe, plan_trial, run_trial


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(
        "name: one\nsystem: {name: rvr}\npeers: 5\n"
        "workload: {subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}}\n"
    )
    return trials(load(path))[0].spec


@pytest.fixture
def directory(tmp_path):
    return TrialDirectory(tmp_path / "rvr-1")


def runtime(monkeypatch, run):
    monkeypatch.setattr(trial_module, "_runtime", lambda spec: run)


def test_a_trial_is_planned_run_and_judged(monkeypatch, spec, directory):
    seen = []

    def run(spec, plan, directory, report):
        report(Progress("drain", 80.0, 80.0, 5, 1, 2, 3))
        assert isinstance(plan, Plan)
        assert directory.read_status()["state"] == "running"
        return Fidelity("virtual", "virtual clock", [Check("lost spans", 3, 0, "spans")])

    runtime(monkeypatch, run)
    assert not run_trial(spec, directory, seen.append, {"seed": 1}).valid
    status = directory.read_status()
    assert status["state"] == "invalid"
    assert status["reasons"] == ["lost spans: 3 spans, limit 0 spans"]
    assert status["progress"]["messages"] == 3
    assert status["started"] <= status["ended"]
    assert [p.phase for p in seen] == ["plan", "drain"]


@pytest.mark.parametrize("real_time", [False, True])
def test_the_status_says_whether_trace_ids_are_the_trials_own(monkeypatch, spec, directory, real_time):
    if real_time:
        spec = TrialSpec.model_validate(
            spec.model_dump() | {"runtime": {"kind": "processes", "hosts": 2, "time_scale": 1}}
        )
    runtime(monkeypatch, lambda *_: Fidelity("processes", "delay line"))
    run_trial(spec, directory, lambda _: None)
    assert directory.read_status()[OWN_IDS] is real_time


def test_a_plan_that_is_there_is_not_drawn_again(monkeypatch, spec, directory):
    plan_trial(spec, directory)
    before = (directory.plan / "peers.parquet").stat().st_mtime_ns
    runtime(monkeypatch, lambda *_: Fidelity("virtual", "virtual clock"))
    run_trial(spec, directory, lambda _: None)
    assert (directory.plan / "peers.parquet").stat().st_mtime_ns == before


def test_half_a_plan_is_no_plan(monkeypatch, spec, directory):
    def broken(self, path, digest: str = ""):
        path.mkdir()
        (path / "peers.parquet").touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Plan, "write", broken)
        directory.path.mkdir()
        with pytest.raises(OSError, match="No space"):
            plan_trial(spec, directory)
    assert not directory.plan.exists()
    plan_trial(spec, directory)
    assert Plan.read(directory.plan).peers.num_rows == 5


def test_an_interrupted_trial_waits_to_be_run_again(monkeypatch, spec, directory):
    def run(*_):
        raise KeyboardInterrupt

    runtime(monkeypatch, run)
    with pytest.raises(KeyboardInterrupt):
        run_trial(spec, directory, lambda _: None)
    assert directory.read_status()["state"] == "planned"


def test_a_job_survives_the_pipe_to_the_child(spec, tmp_path):
    job = Job(tmp_path / "x", spec, {"values": {"system.name": "rvr"}}, 7)
    text = job.to_json()
    assert "\n" not in text
    assert Job.from_json(text) == job


def test_errors_are_described_for_a_user():
    full = OSError(errno.ENOSPC, "No space left on device", "a.otlp")
    assert describe(full).startswith("the disk is full: a.otlp could not be written")
    assert "--jobs" in describe(MemoryError())
    assert describe(ValueError("two\nlines")) == "ValueError: two lines"


def test_status_tells_versions_and_machine():
    assert {"python", "trellis", "protobuf", "pyspark", "git"} <= versions().keys()
    assert machine()["cpus"] >= 1
    assert machine()["memory_bytes"] > 0
