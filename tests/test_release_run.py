"""A run in pods by one command, against a cluster that is none."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from release_world import PROGRESS, claim, event, job, pod, waiting, workload

from emulator.experiment.run.directory import RunDirectory
from trellis.command.release import waiting as waits

TRELLIS = (sys.executable, "-c", "from trellis.command.cli import main; main()")

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
runtime: {kind: processes, hosts: 3}
"""


@pytest.fixture(autouse=True)
def file(trellis):
    Path("small.yaml").write_text(EXPERIMENT)


RUN = ("run", "small.yaml", "--on", "kubernetes", "--release", "demo")


def begin(world):
    """The coordinator has made the run directory and runs the trial."""
    world.run.path.mkdir(parents=True, exist_ok=True)
    world.run.experiment.write_text((world.folder / "experiment.yaml").read_text())
    trial = world.run.trial("vitis-1")
    trial.path.mkdir(parents=True, exist_ok=True)
    trial.write_status(state="running", progress=PROGRESS)


def end_trial(world, state="valid", *reasons):
    world.run.trial("vitis-1").write_status(state=state, reasons=list(reasons))


def report(world, valid=True, *reasons):
    world.run.summary.write_text(json.dumps({"valid": valid, "reasons": list(reasons)}))
    world.run.report.parent.mkdir(exist_ok=True)
    world.run.report.write_text("report")


def course(world, *, state="valid", reasons=()):
    """Lay out all of a run, step by step."""
    world.stages = [
        lambda: None,
        lambda: begin(world),
        lambda: None,
        lambda: end_trial(world, state, *reasons),
        lambda: report(world, state == "valid", *reasons),
    ]


def the_run() -> Path:
    (path,) = Path("runs").iterdir()
    return path


def test_one_command_installs_follows_fetches_and_removes(trellis, world):
    course(world)
    result = trellis(*RUN)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["valid", f"report: {the_run()}/report/index.html"]
    assert the_run().name.startswith("small-20")
    assert RunDirectory(the_run()).trial("vitis-1").read_status()["state"] == "valid"
    told = result.stderr
    assert "5 of 5 pods are ready" in told
    assert "vitis-1: measure, 50 of 80 s, 10 peers up" in told
    assert "vitis-1: valid  [1/1]" in told
    assert "deleted the volume claim demo-results" in told
    assert not world.installed
    assert world.deleted == ["persistentvolumeclaims/demo-results"]


def test_the_release_gets_the_resolved_experiment_and_the_values(trellis, world):
    course(world)
    Path("more.yaml").write_text("{}")
    options = ["--values", "more.yaml", "--chart-set", "a.b=1", "--image-prefix", "host/", "--image-tag", "7"]
    assert trellis(*RUN, "--set", "peers=12", *options).exit_code == 0
    (call,) = [call for call in world.helm_calls if call[0] == "install"]
    assert call[:2] == ["install", "demo"]
    assert call[2].endswith("charts/trellis")
    assert call[call.index("--values") + 1] == "more.yaml"
    settings = [call[i + 1] for i, argument in enumerate(call) if argument == "--set"]
    images = [f"images.{part}=host/trellis-{part}:7" for part in ("emulator", "analysis")]
    assert settings == [*images, "a.b=1"]
    installed = yaml.safe_load((world.folder / "experiment.yaml").read_text())
    assert installed["peers"] == 12
    assert installed["runtime"]["kind"] == "kubernetes"
    assert installed["runtime"]["hosts"] == 3
    assert installed["phases"]["settle"] == "30 s"


SWEEP = (*RUN, "--set", "runtime.kind=virtual")


def test_an_experiment_on_the_virtual_clock_is_swept_in_the_cluster(trellis, world):
    course(world)
    result = trellis(*SWEEP)
    assert result.exit_code == 0, result.output
    assert "in the namespace here, trials on the virtual clock" in result.stderr
    assert yaml.safe_load((world.folder / "experiment.yaml").read_text())["runtime"]["kind"] == "virtual"
    assert RunDirectory(the_run()).trial("vitis-1").read_status()["state"] == "valid"


@pytest.mark.parametrize("before", [[], [begin]])
def test_a_sweep_that_fails_is_told_with_its_last_words(trellis, world, before):
    world.rows = [("demo-analysis-x", "0/1", "Error", "0")]
    world.logs["demo-analysis-x"] = "no executor of Spark started in 600 s\n"

    def fail():
        world.objects["jobs"] = [job("Failed")]

    world.stages = [lambda: None, *(functools.partial(step, world) for step in before), fail]
    result = trellis(*SWEEP)
    assert result.exit_code == 2
    assert "the sweep failed: no executor of Spark started in 600 s" in result.stderr


def test_an_invalid_run_is_the_first_line_and_the_exit_status(trellis, world):
    course(world, state="invalid", reasons=["vitis-1: late"])
    result = trellis(*RUN)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "INVALID: vitis-1: late"
    assert not world.installed


def test_a_release_can_be_kept(trellis, world):
    course(world)
    result = trellis(*RUN, "--keep")
    assert result.exit_code == 0
    assert "trellis stop demo --namespace here" in result.stderr
    assert world.installed and not world.deleted


def test_an_analysis_that_fails_is_told_and_the_run_is_home(trellis, world):
    world.rows = [("demo-analysis-x", "0/1", "Error", "0")]
    world.logs["demo-analysis-x"] = "java.lang.OutOfMemoryError\n"

    def fail():
        world.objects["jobs"] = [job("Failed")]

    world.stages = [lambda: begin(world), lambda: end_trial(world), fail]
    result = trellis(*RUN)
    assert result.exit_code == 1
    assert result.stdout.startswith("INVALID: the analysis failed: java.lang.OutOfMemoryError")
    assert f"trellis analyze {the_run()}" in result.stdout


def test_a_transfer_that_breaks_off_is_tried_again(trellis, world):
    course(world)
    world.broken_archives = 2
    assert trellis(*RUN).exit_code == 0
    assert [path.name for path in Path("runs").iterdir()] == [the_run().name]


def test_a_run_that_does_not_come_whole_is_no_run_and_stays_on_its_volume(trellis, world):
    course(world)
    world.broken_archives = 9
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "did not come whole, in 3 attempts" in result.stderr
    assert "the volume claim demo-results stays" in result.stderr
    assert not list(Path("runs").iterdir())
    assert not world.deleted


@pytest.mark.parametrize(
    ("row", "about", "told"),
    [
        (
            ("demo-peers-0-1", "0/1", "ErrImageNeverPull", "0"),
            pod("demo-peers-0-1", waiting("ErrImageNeverPull", "it is not present.")),
            "demo-peers-0-1: the image trellis-emulator:1 cannot be pulled (ErrImageNeverPull): "
            "it is not present. Build and load the image",
        ),
        (
            ("demo-peers-0-1", "0/1", "Pending", "0"),
            pod(
                "demo-peers-0-1",
                conditions=[
                    {"type": "PodScheduled", "status": "False", "message": "0/1 nodes: 1 Insufficient cpu."}
                ],
            ),
            "cannot be scheduled: 0/1 nodes: 1 Insufficient cpu. Ask for less",
        ),
        (
            ("demo-coordinator-0", "0/1", "CrashLoopBackOff", "2 (5s ago)"),
            pod(
                "demo-coordinator-0",
                waiting("CrashLoopBackOff")
                | {"lastState": {"terminated": {"exitCode": 3, "message": "no volume\nat all\n"}}},
            ),
            "ends again and again: exit status 3: no volume / at all. See what it said: trellis logs demo",
        ),
    ],
)
def test_pods_that_cannot_start_are_told_soon_and_nothing_is_left(trellis, world, row, about, told):
    world.rows = [row]
    world.pods[row[0]] = about
    result = trellis(*RUN, "--patience", "1")
    assert result.exit_code == 2
    assert "demo cannot start:" in result.stderr
    assert told in result.stderr
    assert not world.installed
    assert world.deleted == ["persistentvolumeclaims/demo-results"]


def test_a_quota_is_told(trellis, world):
    world.objects["statefulsets"] = [workload("demo-peers-0", "peers", 5, 1, replicas=1)]
    message = 'create Pod x failed: pods "x" is forbidden: exceeded quota: few, used: pods=3'
    world.objects["events"] = [event("StatefulSet", "demo-peers-0", "FailedCreate", message)]
    result = trellis(*RUN, "--patience", "1")
    assert result.exit_code == 2
    assert "demo-peers-0: its pods cannot be made: exceeded quota: few, used: pods=3. Ask for a larger" in (
        result.stderr
    )


def test_what_helm_refuses_is_told_with_the_last_words_of_the_check(trellis, world):
    said = "Error: INSTALLATION FAILED: failed pre-install: job failed: BackoffLimitExceeded"
    world.on_install(status=1, said=said)
    world.rows = [("demo-check-x", "0/1", "Error", "0")]
    ended = {"exitCode": 2, "reason": "Error", "message": "experiment.yaml:3: peers: is wrong\n1 problem\n"}
    world.pods["demo-check-x"] = pod("demo-check-x", {"state": {"terminated": ended}})
    result = trellis(*RUN)
    assert result.exit_code == 2
    lines = [line.strip() for line in result.stderr.splitlines()]
    at = lines.index(
        "helm install failed: INSTALLATION FAILED: failed pre-install: job failed: BackoffLimitExceeded"
    )
    assert lines[at + 1 :] == [
        "demo-check-x: exit status 2",
        "experiment.yaml:3: peers: is wrong",
        "1 problem",
    ]
    assert not world.installed


def test_a_check_that_cannot_start_is_told_before_helm_gives_up(trellis, world):
    world.on_install(sleep=60)
    row = ("demo-check-x", "0/1", "ImagePullBackOff", "0")
    world.rows = [row]
    world.pods[row[0]] = pod(row[0], waiting("ImagePullBackOff", 'Back-off pulling image "x": no such host'))
    began = time.monotonic()
    result = trellis(*RUN, "--patience", "1")
    assert time.monotonic() - began < 20
    assert result.exit_code == 2
    assert "cannot be pulled (ImagePullBackOff): no such host" in result.stderr
    assert not world.installed


def test_a_start_that_takes_too_long_is_given_up(trellis, world):
    result = trellis(*RUN, "--start-limit", "1")
    assert result.exit_code == 2
    assert "demo has run no trial after 1 s (5 of 5 pods are ready)" in result.stderr
    assert not world.installed


def test_a_coordinator_that_ends_again_and_again_ends_the_run_and_keeps_the_volume(trellis, world):
    def crash():
        world.rows = [("demo-coordinator-0", "0/1", "CrashLoopBackOff", "4")]
        ended = {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
        world.pods["demo-coordinator-0"] = pod("demo-coordinator-0", waiting("CrashLoopBackOff") | ended)

    world.stages = [lambda: begin(world), crash]
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "exit status 137 (OOMKilled)" in result.stderr
    assert "the volume claim demo-results stays, with the trials that are finished" in result.stderr
    assert "Go on with: trellis run small.yaml --on kubernetes --release demo" in result.stderr
    assert not world.installed and not world.deleted


def test_trouble_of_peers_while_a_trial_runs_is_noted_and_the_run_goes_on(trellis, world):
    def crash():
        world.rows = [("demo-peers-0-1", "0/1", "CrashLoopBackOff", "4")]
        world.pods["demo-peers-0-1"] = pod("demo-peers-0-1", waiting("CrashLoopBackOff"))

    world.stages = [
        lambda: begin(world),
        crash,
        lambda: None,
        lambda: end_trial(world),
        lambda: report(world),
    ]
    result = trellis(*RUN)
    assert result.exit_code == 0
    assert result.stderr.count("demo-peers-0-1: its program ends again and again") == 1


def test_nothing_heard_of_the_trials_ends_the_run(trellis, world, monkeypatch):
    monkeypatch.setattr(waits.Waiting.end, "__defaults__", (1.0,))
    world.stages = [lambda: begin(world)]
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "nothing was heard of the trials of demo for 1 s" in result.stderr


def test_a_volume_that_is_there_is_gone_on_with(trellis, world):
    world.objects["persistentvolumeclaims"] = [claim()]
    course(world)
    result = trellis(*RUN)
    assert result.exit_code == 0
    assert "going on with what is on the volume of demo" in result.stderr


def test_a_release_of_the_same_name_is_not_touched(trellis, world):
    world.install()
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "there is a release demo in the namespace here already (deployed)" in result.stderr
    assert world.installed


@pytest.mark.parametrize("keep", [False, True])
def test_an_interrupt_says_what_is_left_and_how_to_go_on(world, tmp_path, keep):
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    world.stages = [lambda: begin(world)]
    process = subprocess.Popen(
        [*TRELLIS, *RUN, *(["--keep"] if keep else [])],
        cwd=tmp_path,
        env=os.environ | world.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not world.run.experiment.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted: the run of demo in here has not ended" in said
    assert world.installed == keep
    assert not world.deleted
    if keep:
        assert "bring its run home: trellis fetch demo --namespace here" in said
    else:
        assert "Go on with: trellis run small.yaml --on kubernetes --release demo" in said
        assert "kubectl --namespace here delete pvc demo-results" in said


def test_no_cluster_is_told(trellis, world, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "no cluster is configured" in result.stderr
    assert "Set KUBECONFIG" in result.stderr


def test_a_cluster_that_does_not_answer_is_told(trellis, world):
    text = world.kubeconfig.read_text()
    world.kubeconfig.write_text(text.replace("http://127.0.0.1", "http://127.0.0.1:1/"))
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "the cluster of the context toy at http://127.0.0.1:1/" in result.stderr
    assert "Connection refused. Check that it runs" in result.stderr


def test_a_namespace_that_is_not_there_is_told(trellis):
    result = trellis(*RUN, "--namespace", "nowhere")
    assert result.exit_code == 2
    assert "Create it: kubectl create namespace nowhere" in result.stderr


def test_what_the_user_may_not_do_is_told(trellis, world):
    world.refuse = (403, 'services is forbidden: User "eve" cannot list')
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert 'does not allow it: services is forbidden: User "eve" cannot list. Ask' in result.stderr


def test_no_helm_is_told(trellis, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "the program helm is not on the PATH. Install Helm 3" in result.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--release", "Demo_1"), "--release Demo_1: a name has small letters"),
        (("--release", "x" * 41), "at most 40 characters"),
        (("--chart", "nowhere"), "nowhere is not a Helm chart"),
        (("--values", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
        (("--set", "peres=3"), "peres: is not a known key"),
    ],
)
def test_bad_options_are_told_before_anything_is_asked(trellis, world, options, told):
    result = trellis("run", "small.yaml", "--on", "kubernetes", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not world.asked


def test_names_of_releases_are_made_from_experiment_and_time(trellis, world):
    course(world)
    world.on_install(status=1, said="Error: stop here")
    name = "name=7-times-the-very-same-thing"
    assert trellis("run", "small.yaml", "--on", "kubernetes", "--set", name).exit_code == 2
    (call,) = [call for call in world.helm_calls if call[0] == "install"]
    assert call[1].startswith("run-7-times-the-very-sam-")
    assert len(call[1]) <= 40
