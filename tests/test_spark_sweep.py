"""Sweeps on Spark: what comes back is what a sweep at home makes, whatever happens to a trial."""

from __future__ import annotations

import functools
import json
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import Result

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import make_run
from emulator.runtime.progress import Progress
from emulator.trials.child import start_program
from emulator.trials.sweep import Update, run_here, run_sweep
from trellis.command import campaign_command
from trellis.on_spark import task as task_module
from trellis.on_spark.driver import _receive, run_on_executors
from trellis.on_spark.news import Listener, Teller
from trellis.on_spark.task import Task, perform

FAKE = functools.partial(
    start_program, (sys.executable, str(Path(__file__).parent / "experiment_fake_trial.py"))
)
EXPERIMENT = """\
name: sweep
system: {name: vitis}
peers: 10
repeat: 2
phases: {join: 1 s, settle: 1 s, measure: 1 s, drain: 1 s}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
CAMPAIGN = """\
name: split
system: {name: chord, parameters: {stabilization: 2 s, timeout: 1 s}}
peers: 12
draw: {peers: {from: 10, to: 12}}
faults: [{name: split, at: 30 s, for: 25 s, partition: {share: 0.5}}]
workload: {lookups: {rate: 0.5}}
invariants: {every: 5 s}
phases: {join: 10 s, settle: 10 s, measure: 40 s, drain: 0 s}
"""
LONG = ["phases={join: 1 s, settle: 1 s, measure: 100000 s, drain: 1 s}", "repeat=1"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(EXPERIMENT)
    return path


def files(run: RunDirectory) -> dict[str, bytes]:
    """Return what trials left, but for their status."""
    found = [path for path in run.path.rglob("*") if path.is_file() and path.name != "status.json"]
    return {str(path.relative_to(run.path)): path.read_bytes() for path in found}


def ignore(_: Update) -> None:
    pass


def test_the_run_directory_is_the_one_of_a_sweep_at_home(
    spark: SparkSession, file: Path, tmp_path: Path
) -> None:
    spec, news = load(file), []
    here, there = (make_run(spec, tmp_path / place / "run") for place in ("here", "there"))
    run_sweep(here, spec, 2, ignore, "trellis run a.yaml")
    outcomes = run_on_executors(there, spec, spark, news.append, "trellis run a.yaml")
    assert [(o.trial, o.state) for o in outcomes] == [("vitis-1", "valid"), ("vitis-2", "valid")]
    assert files(there) == files(here)
    assert {Path(name).name for name in files(there)} > {"fidelity.json", "peers.parquet", "log.txt"}
    ours, theirs = (run.trial("vitis-2").read_status() for run in (here, there))
    assert (theirs.pop("executor"), theirs.pop("attempt")) == (socket.gethostname(), 1)
    for times in ("started", "ended"):
        assert theirs.pop(times) >= ours.pop(times)
    assert json.dumps(theirs) == json.dumps(ours)
    told = [(u.trial, u.state) for u in news if not u.progress]
    assert told[:2] == [("vitis-1", "running"), ("vitis-2", "running")]
    assert sorted(told[2:]) == [("vitis-1", "valid"), ("vitis-2", "valid")]
    assert any(u.progress and u.progress.peers_up == 10 for u in news)


def test_a_trial_that_fails_is_told_and_the_others_go_on_and_are_kept(
    spark: SparkSession, file: Path, tmp_path: Path
) -> None:
    matrix = tmp_path / "nowhere.txt"
    kinds = f"[{{kind: constant, rtt: 10 ms}}, {{kind: p2psim-matrix, file: {matrix}}}]"
    spec = load(file, [f"vary={{network.latency: {kinds}}}", "repeat=1"], check_files=False)
    run = make_run(spec, tmp_path / "run")
    good, bad = run_on_executors(run, spec, spark, ignore)
    assert (good.state, bad.state) == ("valid", "failed")
    assert f"has no file {matrix} (network.latency.file)" in bad.reasons[0]
    assert run.trial(bad.trial).read_status()["executor"] == socket.gethostname()
    again = run_on_executors(run, spec, spark, ignore)
    assert [(o.state, o.kept) for o in again] == [("valid", True), ("failed", False)]


def test_an_interrupt_ends_the_jobs_and_the_run_can_be_resumed(
    spark: SparkSession, file: Path, tmp_path: Path
) -> None:
    spec = load(file, LONG)
    run = make_run(spec, tmp_path / "run")

    def interrupt(update: Update) -> None:
        if update.progress and update.progress.trial_time > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on_executors(run, spec, spark, interrupt)
    status = run.trial("vitis-1").read_status()
    assert (status["state"], status["reasons"]) == ("planned", ["interrupted"])
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    deadline = time.monotonic() + 20
    while trial_processes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def trial_processes() -> list[str]:
    """Return the directories of trials that processes are in the middle of: each has its telemetry open."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                opened = [str(link.readlink()) for link in (process / "fd").iterdir()]
            except OSError:
                continue
            found += [path for path in opened if "/trellis-trial-" in path]
    return found


def performed(file: Path, tmp_path: Path, most_bytes: int = 1 << 20) -> RunDirectory:
    """Return what an executor gives back of the first trial, as it arrives."""
    spec = load(file)
    run = make_run(spec, tmp_path / "run")
    trial = trials(spec)[0]
    directory = run.trial(trial.name)
    directory.path.mkdir(parents=True)
    text = Task.of(trial, "run", "trellis run", most_bytes, ("127.0.0.1", 9), "secret").to_json()
    _receive(directory, list(perform([text])))
    return run


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("crash", "RuntimeError: the protocol is broken"), ("kill", "ended by SIGKILL (out of memory?)")],
)
def test_a_trial_that_crashes_on_an_executor_is_failed_with_its_reason(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, reason: str
) -> None:
    monkeypatch.setattr(task_module, "run_here", functools.partial(run_here, start=FAKE))
    monkeypatch.setenv("TRELLIS_FAKE_TRIAL", json.dumps({"vitis-1": behaviour}))
    status = performed(file, tmp_path).trial("vitis-1").read_status()
    assert status["state"] == "failed"
    assert reason in status["reasons"][0]


def test_files_that_are_too_many_for_spark_are_told_of(file: Path, tmp_path: Path) -> None:
    trial = performed(file, tmp_path, most_bytes=2000).trial("vitis-1")
    assert trial.read_status()["state"] == "failed"
    assert "or run it without --on" in trial.read_status()["reasons"][0]
    assert not trial.telemetry.exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trellis": "9.9"}, "the sweep was started with 9.9. Install the same"),
        ({"spec": {"system": {"name": "nosuch"}}}, "has the system nosuch. Install it"),
    ],
)
def test_an_executor_with_other_packages_refuses(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], reason: str
) -> None:
    from_json = Task.from_json
    monkeypatch.setattr(Task, "from_json", lambda text: from_json(json.dumps(json.loads(text) | change)))
    status = performed(file, tmp_path).trial("vitis-1").read_status()
    assert status["state"] == "failed"
    assert reason in status["reasons"][0]


PROGRESS = Progress("measure", 1.0, 4.0, 10, 1, 1, 100)


def test_news_without_the_token_or_of_another_shape_are_not_believed() -> None:
    with Listener("127.0.0.1") as listener:
        there = ("127.0.0.1", listener.port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for text in (b"\xff", b"[]", b"{}", b'{"token": "x"}', b"[" * 4000):
                stranger.sendto(text, there)
            false = {"token": listener.token, "trial": "a", "progress": {"phase": 1}}
            stranger.sendto(json.dumps(false).encode(), there)
        with Teller(*there, "guess", "a") as guesser:
            guesser.tell(PROGRESS)
        assert listener.hear(1.0) == {}
        with Teller(*there, listener.token, "a") as teller:
            teller.tell(PROGRESS)
        assert listener.hear(5.0) == {"a": PROGRESS}


@pytest.mark.parametrize(
    ("where", "options", "reason"),
    [
        ("spark://127.0.0.1:1", [], "no master answers (127.0.0.1:1: [Errno 111] Connection refused)"),
        ("spark://nowhere", [], "no master answers (nowhere: "),
        ("yarn://x", [], "a sweep runs on a master such as spark://host:7077"),
        ("k8s://https://x:6443", [], "In Kubernetes: --on kubernetes --set runtime.kind=virtual"),
        ("local[x]", [], "a sweep runs on a master such as spark://host:7077"),
        ("moon", [], "--on moon: write virtual, processes, kubernetes, or a master of Spark"),
        ("local[2]", ["--set", "runtime.kind=processes"], "has trials with runtime.kind processes"),
        ("local[2]", ["--set", "runtime.kind=kubernetes"], "has trials with runtime.kind kubernetes"),
        ("local[2]", ["--keep"], "an option for runs in pods is given"),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_directory_is_made(
    trellis: Callable[..., Result], file: Path, where: str, options: list[str], reason: str
) -> None:
    result = trellis("run", file, "--on", where, *options)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert not Path("runs").exists()


def test_a_campaign_on_a_cluster_finds_what_one_at_home_finds(
    trellis: Callable[..., Result], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_on_session(
        master: str,
        directory: RunDirectory,
        spec: ExperimentSpec,
        jobs: int | None,
        update: Callable[[Update], None],
        command: str,
    ) -> list[Update]:
        assert (master, jobs) == ("local[2]", 2)
        return run_on_executors(directory, spec, spark, update, command, jobs)

    monkeypatch.setattr(campaign_command, "run_on_master", run_on_session)
    file = tmp_path / "split.yaml"
    file.write_text(CAMPAIGN)
    told = {}
    for place, options in (("home", []), ("there", ["--on", "local[2]", "--jobs", 2])):
        result = trellis("campaign", file, "--trials", 3, "--shrink", 0, "--out", place, *options)
        assert result.exit_code == 3, result.stderr
        (run,) = (tmp_path / place).iterdir()
        statuses = [json.loads(path.read_text()) for path in run.glob("trials/*/status.json")]
        assert [("executor" in status) for status in statuses] == [place == "there"] * 3
        summary = json.loads((run / "summary.json").read_text())
        told[place] = summary["expectations"]
    assert told["there"] == told["home"] and told["home"][0]["broken"]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("kubernetes", "--on kubernetes: a campaign runs on this machine without --on, or on a master"),
        ("spark://127.0.0.1:1", "no master answers (127.0.0.1:1: [Errno 111] Connection refused)"),
    ],
)
def test_a_campaign_that_cannot_be_on_a_cluster_is_refused_before_a_run_directory_is_made(
    trellis: Callable[..., Result], tmp_path: Path, where: str, reason: str
) -> None:
    file = tmp_path / "split.yaml"
    file.write_text(CAMPAIGN)
    result = trellis("campaign", file, "--on", where)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert not Path("runs").exists()
