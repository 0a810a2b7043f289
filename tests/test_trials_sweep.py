"""Sweeps: trials in parallel, crashes, interrupts and resuming."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.run.runs import NoRun, check_same, create_run, open_run
from emulator.trials import sweep as sweep_module
from emulator.trials.child import start_program
from emulator.trials.nursery import Nursery
from emulator.trials.sweep import RunBusy, default_jobs, run_sweep
from trellis.command.cli import app

PROGRAM = Path(__file__).parent / "experiment_fake_trial.py"
LIMIT = 60.0

EXPERIMENT = """\
name: sweep
system: {name: vitis}
peers: 10
repeat: 3
phases: {join: 1 s, settle: 1 s, measure: 1 s, drain: 1 s}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "a.yaml").write_text(EXPERIMENT)
    return load(tmp_path / "a.yaml")


@pytest.fixture
def run(spec, tmp_path):
    return create_run(spec, tmp_path / "runs")


@contextlib.contextmanager
def starting(manner):
    """Give what starts a fake trial: by a fork as on the virtual clock, or as a program as in real time."""
    if manner == "program":
        yield functools.partial(start_program, (sys.executable, str(PROGRAM)))
        return
    with Nursery(PROGRAM.stem) as nursery:
        yield nursery.start


@pytest.fixture(params=["forked", "program"])
def sweep(request, monkeypatch):
    """Runs a sweep of fake trials."""
    monkeypatch.setenv("PYTHONPATH", str(PROGRAM.parent))

    def _sweep(run, spec, jobs, watch, command=""):
        with starting(request.param) as start:
            return run_sweep(run, spec, jobs, watch, command, start)

    _sweep.manner = request.param
    return _sweep


@pytest.fixture
def behave(monkeypatch):
    """Sets what fake trials do, and marks their processes so that they can be found."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("TRELLIS_TEST_MARK", mark)

    def _behave(**behaviours: str) -> str:
        monkeypatch.setenv(
            "TRELLIS_FAKE_TRIAL", json.dumps({f"vitis-{k[1:]}": v for k, v in behaviours.items()})
        )
        return mark

    return _behave


def wait_until_gone(mark: str) -> None:
    """What was killed may take a moment to vanish."""
    limit = time.monotonic() + 5
    while processes(mark):
        assert time.monotonic() < limit, f"left: {processes(mark)}"
        time.sleep(0.02)


def processes(mark: str) -> list[int]:
    """Return the other living processes with this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            alive = entry.name.isdigit() and "\nState:\tZ" not in (entry / "status").read_text()
            if alive and mark.encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def attempts(run, name: str) -> int:
    path = run.trial(name).path / "attempts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + LIMIT
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def test_trials_run_in_parallel_and_report_progress(run, spec, behave, sweep):
    behave(t2="invalid")
    news = []
    outcomes = sweep(run, spec, 2, news.append, "trellis run a.yaml")
    assert [(o.trial, o.state) for o in outcomes] == [
        ("vitis-1", "valid"),
        ("vitis-2", "invalid"),
        ("vitis-3", "valid"),
    ]
    assert outcomes[1].reasons == ("lateness: 200 ms, limit 100 ms",)
    states = [(u.trial, u.state) for u in news if u.progress is None]
    assert states[:2] == [("vitis-1", "running"), ("vitis-2", "running")]
    assert any(u.progress and u.progress.phase == "measure" for u in news)
    assert [(run.trial(o.trial).path / "log.txt").read_text() for o in outcomes] == [""] * 3
    status = run.trial("vitis-3").read_status()
    assert status["command"] == "trellis run a.yaml"
    assert status["seed"] == 3
    assert status["versions"]["python"]
    assert status["machine"]["cpus"] >= 1
    assert status["progress"]["peers_up"] == 10


def test_a_trial_that_crashes_is_failed_and_the_others_go_on(run, spec, behave, sweep):
    behave(t1="crash", t2="kill")
    first, second, third = sweep(run, spec, 1, lambda _: None)
    assert (first.state, second.state, third.state) == ("failed", "failed", "valid")
    assert first.reasons == ("RuntimeError: the protocol is broken",)
    assert "ended by SIGKILL" in second.reasons[0]
    assert "nearly there" in second.reasons[0]
    assert run.trial("vitis-2").read_status()["state"] == "failed"


def test_a_full_disk_is_told_with_what_to_do(run, spec, behave, sweep):
    behave(t1="disk")
    outcome = sweep(run, spec, 1, lambda _: None)[0]
    assert outcome.state == "failed"
    assert outcome.reasons[0].startswith("the disk is full: telemetry/a.otlp could not be written")


def test_finished_trials_are_kept_and_the_others_run_again(run, spec, behave, sweep):
    behave(t1="invalid", t2="crash")
    sweep(run, spec, 2, lambda _: None)
    stale = run.trial("vitis-2").telemetry / "old.otlp"
    stale.parent.mkdir()
    stale.touch()
    behave()
    outcomes = sweep(run, spec, 2, lambda _: None)
    assert [(o.state, o.kept) for o in outcomes] == [("invalid", True), ("valid", False), ("valid", True)]
    assert [attempts(run, f"vitis-{n}") for n in (1, 2, 3)] == [1, 2, 1]
    assert not stale.exists()


@pytest.mark.parametrize("manner", ["hang", "deaf"])
def test_an_interrupt_leaves_no_process_and_a_run_that_resumes(run, spec, behave, monkeypatch, manner, sweep):
    monkeypatch.setattr(sweep_module, "GRACE", 1.0)
    mark = behave(t2=manner)

    def interrupt() -> None:
        wait_for(run.trial("vitis-2").path / "hanging")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(run, spec, 1, lambda _: None)
    thread.join()
    wait_until_gone(mark)
    assert (run.trial("vitis-2").path / "ended-itself").exists() == (manner == "hang")
    assert run.trial("vitis-1").read_status()["state"] == "valid"
    assert run.trial("vitis-2").read_status()["state"] == "planned"
    behave()
    outcomes = sweep(run, spec, 1, lambda _: None)
    assert [o.state for o in outcomes] == ["valid"] * 3
    assert [attempts(run, f"vitis-{n}") for n in (1, 2, 3)] == [1, 2, 1]


def test_trials_end_when_their_parent_is_killed(run, spec, behave, sweep):
    mark = behave(t1="hang")
    code = f"""
from pathlib import Path
from emulator.experiment.run.runs import open_run
from emulator.trials.sweep import run_sweep
from test_trials_sweep import starting
run, spec = open_run(Path({str(run.path)!r}))
with starting({sweep.manner!r}) as start:
    run_sweep(run, spec, 1, lambda _: None, start=start)
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for(run.trial("vitis-1").path / "hanging")
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + LIMIT
    status = run.trial("vitis-1")
    while status.read_status()["state"] == "running" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert status.read_status()["state"] == "planned"
    for pid in processes(mark):  # what the fake itself left behind; a real runtime ends its hosts
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_two_sweeps_of_one_run_exclude_each_other(run, spec, behave, sweep):
    behave()
    seen = []

    def second(_: object) -> None:
        if not seen:
            with pytest.raises(RunBusy) as caught:
                sweep(run, spec, 1, lambda _: None)
            seen.append(str(caught.value))

    sweep(run, spec, 1, second)
    assert "another trellis" in seen[0]


def test_a_run_is_not_analyzed_while_it_runs(run, spec, behave, sweep):
    behave()
    seen = []

    def beside(_: object) -> None:
        if not seen:
            seen.append(CliRunner().invoke(app, ["analyze", str(run.path)]))

    sweep(run, spec, 1, beside)
    assert seen[0].exit_code == 2
    assert "another trellis is running or analyzing trials" in seen[0].stderr
    assert not run.summary.exists()


def test_real_time_trials_run_one_at_a_time(tmp_path, spec):
    assert default_jobs(spec) == sweep_module.cores()
    (tmp_path / "b.yaml").write_text(EXPERIMENT + "runtime: {kind: processes, hosts: 2}\n")
    assert default_jobs(load(tmp_path / "b.yaml")) == 1


def test_a_run_is_opened_wherever_it_is(run, spec, tmp_path):
    moved = run.path.rename(tmp_path / "moved")
    assert open_run(moved)[1] == spec
    with pytest.raises(NoRun, match="no such folder"):
        open_run(tmp_path / "nothing")
    with pytest.raises(NoRun, match=r"no experiment\.yaml"):
        open_run(tmp_path)


def test_a_run_is_not_resumed_with_another_experiment(run, spec, tmp_path):
    check_same(run, spec, spec, tmp_path / "a.yaml")
    other = load(tmp_path / "a.yaml", ["peers=20"])
    with pytest.raises(NoRun, match=r"a\.yaml: peers was 10, is 20"):
        check_same(run, spec, other, tmp_path / "a.yaml")


def test_two_runs_in_one_second_have_two_folders(spec, tmp_path):
    made = {create_run(spec, tmp_path / "runs").path for _ in range(3)}
    assert len(made) == 3
