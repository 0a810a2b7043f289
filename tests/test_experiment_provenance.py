"""A run directory is believed only while its experiment is what its plans were drawn from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.provenance import OtherPlan, check_tables
from emulator.experiment.plan.tables import DIGEST, Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import NoRun, check_same, create_run, open_run
from emulator.trials.trial import plan_trial
from trellis.command.cli import app

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 5
vary: {system.name: [vitis, rvr]}
network: {latency: {kind: constant, rtt: 20 ms}}
workload:
  subscriptions: {kind: random, topics: 5, per_peer: 2, buckets: 1}
  publications: {events: 20}
phases: {join: 2 s, settle: 2 s, measure: 4 s, drain: 2 s}
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Two trials that are planned."""
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    spec = load(file)
    made = create_run(spec, tmp_path / "runs")
    for trial in trials(spec):
        directory = made.trial(trial.name)
        directory.path.mkdir(parents=True)
        plan_trial(trial.spec, directory)
    return made


def edit(run: RunDirectory, old: str, new: str) -> None:
    text = run.experiment.read_text()
    assert old in text
    run.experiment.write_text(text.replace(old, new))


def test_a_run_directory_as_it_was_made_is_opened_wherever_it_is(run: RunDirectory, tmp_path: Path) -> None:
    open_run(run.path)
    run.path.rename(tmp_path / "moved")
    directory, spec = open_run(tmp_path / "moved")
    for trial in trials(spec):
        plan_trial(trial.spec, directory.trial(trial.name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rtt: 20 ms", "rtt: 400 ms", "network.latency.rtt was 20 ms, is 400 ms"),
        ("events: 20", "events: 5", "workload.publications.events was 20, is 5"),
        ("peers: 5", "peers: 50", "peers was 5, is 50"),
        ("seed: 1", "seed: 4", "seed was 1, is 4"),
        ("- rvr", "- scribe-pastry", "system.name was rvr, is "),
    ],
)
def test_an_edited_experiment_is_refused_with_the_difference(
    run: RunDirectory, old: str, new: str, said: str
) -> None:
    edit(run, old, new)
    with pytest.raises(NoRun) as refused:
        open_run(run.path)
    assert said in str(refused.value) and "experiment.yaml" in str(refused.value)


@pytest.mark.parametrize("command", ["run", "analyze", "report"])
def test_each_command_refuses_it_without_a_traceback(run: RunDirectory, command: str) -> None:
    edit(run, "peers: 5", "peers: 50")
    result = CliRunner().invoke(app, [command, str(run.path)])
    assert result.exit_code == 2
    assert "peers was 5, is 50" in result.stderr


def test_a_title_may_be_changed(run: RunDirectory) -> None:
    edit(run, "title:", "title: Another #")
    open_run(run.path)


def test_a_plan_of_another_trial_is_refused(run: RunDirectory) -> None:
    ours, other = (run.trial(name) for name in ("vitis-1", "rvr-1"))
    shutil.rmtree(ours.plan)
    shutil.copytree(other.plan, ours.plan)
    with pytest.raises(NoRun, match=r"system.name was rvr, is vitis"):
        open_run(run.path)


def test_a_table_of_another_plan_is_refused(run: RunDirectory) -> None:
    ours, other = (run.trial(name).plan for name in ("vitis-1", "rvr-1"))
    shutil.copy(other / "publications.parquet", ours)
    with pytest.raises(OtherPlan, match=r"publications.parquet is of another plan"):
        check_tables(ours)


def test_a_changed_or_damaged_origin_is_refused(run: RunDirectory) -> None:
    path = run.trial("rvr-1").plan / "spec.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"spec": told["spec"] | {"peers": 50}}))
    edit(run, "peers: 5", "peers: 50")
    with pytest.raises(NoRun, match=r"spec.json was changed"):
        open_run(run.path)
    path.write_text("[")
    with pytest.raises(NoRun, match=r"spec.json is damaged"):
        open_run(run.path)


def test_the_plan_of_an_earlier_version_is_read(run: RunDirectory) -> None:
    for trial in run.trials():
        (trial.plan / "spec.json").unlink()
        Plan.read(trial.plan).write(trial.plan)
        assert Plan.read(trial.plan).peers.schema.metadata[DIGEST] == b""
        check_tables(trial.plan)
    open_run(run.path)


def test_another_experiment_on_a_run_is_refused_with_the_difference(run: RunDirectory) -> None:
    _, spec = open_run(run.path)
    other = spec.model_copy(update={"peers": 7, "vary": spec.vary | {"peers": [7, 8]}})
    with pytest.raises(NoRun) as refused:
        check_same(run, spec, other, Path("other.yaml"))
    assert "peers was 5, is 7" in str(refused.value)
    assert "vary.peers was left out, is [7, 8]" in str(refused.value)
