"""status, logs, stop and fetch of a release, and what experiments can be run in pods."""

import json
from pathlib import Path

import pytest
from release_world import PROGRESS, claim, job, pod, waiting

from trellis.command import releases
from trellis.command.release.errors import ReleaseError, Unreachable
from trellis.command.release.experiment_for_pods import load_for_pods, runtime_kind
from trellis.command.watching import View

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 3
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
runtime: {kind: kubernetes, hosts: 2}
"""


@pytest.fixture
def running(world):
    """A release whose second trial runs."""
    world.install()
    world.run.path.mkdir(parents=True)
    world.run.experiment.write_text(EXPERIMENT)
    for number, fields in enumerate([{"state": "invalid", "reasons": ["late"]}, {"state": "running"}], 1):
        trial = world.run.trial(f"vitis-{number}")
        trial.path.mkdir(parents=True)
        trial.write_status(progress=PROGRESS, **fields)
    return world


def test_status_shows_pods_trials_and_progress(trellis, running):
    result = trellis("status", "demo")
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == "release demo: deployed, trellis-0.1.0, since 2026-01-31 12:00:00"
    assert "demo-peers-0: 2 of 2 pods ready" in lines
    assert "demo-results: Bound" in lines
    assert "pods: 1 Running" in lines
    assert "experiment small: 3 trials, 1 invalid, 1 running, 1 planned" in lines
    assert "vitis-1: invalid: late" in lines
    assert "vitis-2: running: measure, 50 of 80 s, 10 peers up, 3 published, 5 delivered" in lines


def test_status_names_variants_as_a_report_does(trellis, running):
    running.run.experiment.write_text(EXPERIMENT + "vary: {network.loss: [0, 0.05]}\n")
    trial = running.run.trial("vitis.loss=0.05-1")
    trial.path.mkdir(parents=True)
    trial.write_status(state="valid", reasons=[], progress=PROGRESS)
    assert "vitis.loss=0.05-1 (loss 5 %, seed 1): valid" in trellis("status", "demo").stdout


def test_status_prints_json_for_programs(trellis, running):
    told = json.loads(trellis("status", "demo", "--json").stdout)
    assert (told["release"], told["helm"]) == ("demo", "deployed")
    assert {"name": "demo-peers-0", "ready": 2, "wanted": 2} in told["workloads"]
    assert told["claims"] == {"demo-results": "Bound"}
    assert told["standing"]["counts"] == {"invalid": 1, "running": 1, "planned": 1}


def test_status_tells_what_holds_a_trial_up(trellis, running):
    trial = running.run.trial("vitis-2")
    trial.write_status(progress=PROGRESS | {"held_up": "host-1 is the slowest host"})
    lines = trellis("status", "demo").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  vitis-2: running"))
    assert lines[at + 1] == "    ! host-1 is the slowest host"


def test_status_watches_a_release_until_there_is_a_report(trellis, running):
    def end():
        for number in (2, 3):
            trial = running.run.trial(f"vitis-{number}")
            trial.path.mkdir(exist_ok=True)
            trial.write_status(state="valid")

    def report():
        running.run.report.parent.mkdir()
        running.run.summary.write_text("{}")
        running.run.report.write_text("report")

    running.objects["jobs"] = [job()]
    running.stages = [lambda: None, end, report]
    result = trellis("status", "demo", "--watch")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len([line for line in lines if line.startswith("release demo")]) == 1, "what stays is told once"
    told = ["1 invalid, 1 running, 1 planned", "the analysis has not", "the report is there"]
    found = [next((n for n, line in enumerate(lines) if text in line), -1) for text in told]
    assert -1 not in found and found == sorted(found)
    assert found[-1] == len(lines) - 1


def test_status_watches_no_longer_when_the_analysis_has_failed_for_good(trellis, running):
    for number in (2, 3):
        trial = running.run.trial(f"vitis-{number}")
        trial.path.mkdir(exist_ok=True)
        trial.write_status(state="valid")
    running.objects["jobs"] = [job("Failed", reason="BackoffLimitExceeded", message="no more")]
    result = trellis("status", "demo", "--watch")
    assert result.exit_code == 0
    assert "the analysis has failed for good" in result.stdout


def test_a_cluster_that_is_away_for_a_while_is_watched_on(trellis, running, monkeypatch):
    looks = []

    def look(*_):
        looks.append(len(looks))
        if len(looks) < 3:
            raise Unreachable("the cluster does not answer")
        return View(["it is back"], ended=True)

    monkeypatch.setattr(releases, "_view", look)
    result = trellis("status", "demo", "--watch")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["the cluster does not answer", "it is back"]
    monkeypatch.setattr(releases, "_AWAY_LIMIT", -1.0)
    looks.clear()
    result = trellis("status", "demo", "--watch")
    assert (result.exit_code, len(looks)) == (2, 1)
    assert "the cluster does not answer" in result.stderr


def test_watching_prints_no_json(trellis, running):
    result = trellis("status", "demo", "--watch", "--json")
    assert result.exit_code == 2
    assert "--json prints one document, so it does not go with --watch" in " ".join(result.stderr.split())


def test_a_folder_hides_a_release_of_its_name_only_if_it_is_a_run_and_no_namespace_is_named(trellis, running):
    Path("demo").mkdir()
    assert "release demo: deployed" in trellis("status", "demo").stdout
    Path("demo/experiment.yaml").write_text(EXPERIMENT)
    assert trellis("status", "demo").stdout.startswith("run demo: planned")
    assert "release demo: deployed" in trellis("status", "demo", "--namespace", "here").stdout


def test_a_deleted_analysis_is_told(trellis, running):
    gone = "the Job demo-analysis is gone, so there will be no report"
    assert gone in trellis("status", "demo").stdout
    running.objects["jobs"] = [job()]
    assert gone not in trellis("status", "demo").stdout
    running.objects["jobs"] = [job("Complete")]
    assert gone not in trellis("status", "demo").stdout


def test_a_release_that_was_applied_without_helm_is_found_by_its_labels(trellis, running, tmp_path):
    (running.folder / "installed").unlink()
    assert "there is no release demo" in trellis("status", "demo").stdout + trellis("fetch", "demo").stderr
    running.applied = True
    lines = trellis("status", "demo").stdout.splitlines()
    assert lines[0] == "release demo: not installed by Helm, found by its labels"
    assert "  demo-peers-0: 2 of 2 pods ready" in lines
    assert "run: " in trellis("fetch", "demo", "--out", tmp_path / "home").stdout
    result = trellis("stop", "demo")
    assert result.exit_code == 2
    assert "whatever applied it has to remove it" in result.stderr
    assert not running.deleted


def test_an_analysis_that_has_failed_for_good_is_told_with_its_last_words(trellis, running):
    running.objects["jobs"] = [
        job("Failed", reason="BackoffLimitExceeded", message="Job has reached its limit")
    ]
    running.rows = [("demo-analysis-x", "0/1", "Error", "0")]
    running.logs["demo-analysis-x"] = "stage 3\nno space left on device\n"
    said = trellis("status", "demo").stdout
    assert "the analysis has failed for good (BackoffLimitExceeded: Job has reached its limit)" in said
    assert "no space left on device" in said
    assert "trellis fetch demo" in said
    running.objects["jobs"] = [job("Complete")]
    assert "failed for good" not in trellis("status", "demo").stdout


def test_the_token_of_the_results_is_shown_without_being_asked_for(trellis, running):
    running.guard("the token")
    result = trellis("status", "demo")
    assert "experiment small: 3 trials" in result.stdout
    assert "the token" not in result.stdout + result.stderr
    assert trellis("fetch", "demo").exit_code == 1
    assert len(list(Path("runs").iterdir())) == 1


@pytest.mark.parametrize("secret", [None, "another token", "damaged"])
def test_results_that_do_not_take_the_token_are_told(trellis, running, secret):
    running.guard("the token")
    if secret is None:
        running.objects["secrets"] = []
    elif secret == "damaged":
        running.objects["secrets"][0]["data"]["results"] = "~"
    else:
        running.token = secret
    result = trellis("fetch", "demo")
    assert result.exit_code == 2
    assert "the token" in result.stderr or "does not answer" in result.stderr
    assert "Traceback" not in result.stderr and not Path("runs").exists()


@pytest.mark.parametrize("experiment", ["../../x", "/tmp/outside", "..", "a/b", "A", "x" * 65, "a\nb"])
def test_an_experiment_whose_name_is_none_is_not_fetched(trellis, running, experiment, tmp_path):
    told = {"experiment": experiment, "trials": [], "analyzed": False, "reported": False, "problem": ""}
    running.told = json.dumps(told).encode()
    before = set(tmp_path.rglob("*"))
    result = trellis("fetch", "demo", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "which is no name of one, so nothing is fetched" in " ".join(result.stderr.split())
    assert {path for path in tmp_path.rglob("*") if path.name != "calls"} <= before
    assert not Path("/tmp/outside").exists()


def test_status_shows_at_once_what_holds_pods_up(trellis, world):
    world.install()
    world.rows = [("demo-peers-0-0", "0/1", "ErrImageNeverPull", "0")]
    world.pods["demo-peers-0-0"] = pod("demo-peers-0-0", waiting("ErrImageNeverPull", "it is not here"))
    result = trellis("status", "demo")
    assert "! demo-peers-0-0: the image trellis-emulator:1 cannot be pulled" in result.stdout
    assert "no trial has begun yet" in result.stdout


@pytest.mark.parametrize("command", ["status", "fetch", "logs", "stop"])
def test_a_release_that_is_not_there_is_told(trellis, world, command):
    result = trellis(command, "demo")
    assert result.exit_code == 2
    assert "there is no release demo in the namespace here. See which there are: helm list" in result.stderr


@pytest.mark.parametrize("command", ["status", "open"])
def test_without_a_cluster_a_name_is_first_said_to_be_no_run_directory(
    trellis, world, tmp_path, monkeypatch, command
):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.chdir(tmp_path)
    result = trellis(command, "demo")
    assert result.exit_code == 2
    assert result.stderr.startswith("there is no run directory demo here (see: trellis runs). If demo is")
    assert "no cluster is configured" in result.stderr
    (tmp_path / "demo").mkdir()
    assert trellis(command, "demo").stderr.startswith(
        "demo is not a run directory: it has no experiment.yaml"
    )
    assert trellis(command, "demo", "--namespace", "here").stderr.startswith("no cluster is configured")


def test_a_volume_that_a_release_has_left_is_told(trellis, world):
    world.objects["persistentvolumeclaims"] = [claim()]
    assert (
        trellis("status", "demo").stdout == "demo is not installed; its volume claim demo-results is there\n"
    )
    result = trellis("fetch", "demo")
    assert result.exit_code == 2
    assert "Run the experiment again with --release demo: it goes on" in result.stderr


def test_logs_are_those_of_a_component_each_line_with_its_pod(trellis, world):
    world.install()
    world.rows = [("demo-peers-0-0", "1/1", "Running", "0"), ("demo-peers-0-1", "1/1", "Running", "0")]
    world.logs = {"demo-peers-0-0": "one\ntwo\n", "demo-peers-0-1": "three\n"}
    result = trellis("logs", "demo", "--component", "peers", "--tail", "5")
    assert result.stdout.splitlines() == [
        "demo-peers-0-0: one",
        "demo-peers-0-0: two",
        "demo-peers-0-1: three",
    ]
    assert trellis("logs", "demo", "--pod", "demo-peers-0-1").stdout == "three\n"
    result = trellis("logs", "demo", "--pod", "other")
    assert result.exit_code == 2
    assert "demo has no pod other. It has: demo-peers-0-0, demo-peers-0-1" in result.stderr


def test_logs_of_many_pods_are_those_of_the_first_twenty(trellis, world):
    world.install()
    world.rows = [(f"demo-peers-0-{number}", "1/1", "Running", "0") for number in range(3000)]
    world.logs = {name: "x\n" for name, *_ in world.rows}
    result = trellis("logs", "demo")
    assert len(result.stdout.splitlines()) == 20
    assert "2,980 more pods; choose one with --pod" in result.stderr


def test_stop_removes_the_release_and_says_that_the_volume_stays(trellis, running):
    result = trellis("stop", "demo")
    assert result.exit_code == 0
    assert "demo is removed" in result.stdout
    assert "kubectl --namespace here delete pvc demo-results" in result.stdout
    assert not running.installed
    assert not running.deleted


def test_fetch_brings_home_what_there_is(trellis, running):
    result = trellis("fetch", "demo", "--out", "home")
    assert result.exit_code == 1
    (home,) = Path("home").iterdir()
    assert result.stdout.splitlines() == ["not analyzed yet", f"run: {home}"]
    assert json.loads((home / "trials/vitis-2/status.json").read_text())["state"] == "running"
    running.run.summary.write_text(json.dumps({"valid": True, "reasons": []}))
    result = trellis("fetch", "demo")
    assert result.exit_code == 0
    assert result.stdout.startswith("valid\nrun: runs/small-")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


def test_the_file_or_an_option_says_that_it_is_for_pods(file, tmp_path):
    assert runtime_kind(file, []) == "kubernetes"
    assert runtime_kind(file, ["runtime.kind=virtual"]) == "virtual"
    file.write_text(EXPERIMENT.replace("{kind: kubernetes, hosts: 2}", "{kind: processes}"))
    assert runtime_kind(file, []) == "processes"
    assert runtime_kind(file, ["runtime.kind=kubernetes"]) == "kubernetes"
    assert runtime_kind(tmp_path / "nothing.yaml", []) is None


def test_files_of_this_machine_are_refused_and_those_of_the_volume_are_not(file, tmp_path, monkeypatch):
    (tmp_path / "here.matrix").write_text("1")
    latency = ["network.latency.kind=p2psim-matrix"]
    with pytest.raises(ReleaseError, match=r"(?s)network\.latency\.file: .*here\.matrix.*mounts at /inputs/"):
        load_for_pods(file, [*latency, f"network.latency.file={tmp_path / 'here.matrix'}"])
    spec = load_for_pods(file, [*latency, "network.latency.file=/inputs/there.matrix"])
    assert str(spec.network.latency.file) == "/inputs/there.matrix"
    monkeypatch.setenv("TRELLIS_DATA", str(tmp_path))
    spec = load_for_pods(file, [*latency, "network.latency.file=${TRELLIS_DATA}/there.matrix"])
    assert str(spec.network.latency.file) == "/inputs/there.matrix"


def test_trials_that_need_other_pods_are_refused(file):
    with pytest.raises(ReleaseError, match="the same pods for all trials"):
        load_for_pods(file, ["vary={runtime.hosts: [1, 2]}"])
    with pytest.raises(ReleaseError, match="some trials run on virtual"):
        load_for_pods(file, ["vary={runtime.kind: [kubernetes, virtual]}"])


def test_a_release_also_runs_trials_on_the_virtual_clock(file):
    spec = load_for_pods(file, ["runtime.kind=kubernetes", "runtime.kind=virtual"])
    assert spec.runtime.kind == "virtual"


def test_on_says_where_an_experiment_runs(trellis, file, world):
    result = trellis("run", file, "--on", "virtual", "--set", "peers=two")
    assert result.exit_code == 2
    assert "peers: is" in result.stderr and "runtime" not in result.stderr
    assert (
        "runs in pods is given. Add --on kubernetes"
        in trellis("run", file, "--on", "virtual", "--keep").stderr
    )
    assert not world.asked


def test_what_is_for_pods_does_not_run_here(trellis, file, tmp_path):
    kinds = "vary={runtime.kind: [kubernetes, processes]}"
    result = trellis("run", file, "--on", "virtual", "--set", kinds)
    assert result.exit_code == 2
    assert "cannot be run here. Run the experiment file with --on kubernetes" in result.stderr
    home = tmp_path / "home"
    home.mkdir()
    (home / "experiment.yaml").write_text(EXPERIMENT)
    result = trellis("run", home)
    assert result.exit_code == 2
    assert "trellis analyze RUNDIR" in result.stderr
