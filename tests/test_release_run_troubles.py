"""A run in pods that cannot start or breaks off: it is told soon, and nothing is left."""

import time
from pathlib import Path

import pytest
from release_course import EXPERIMENT, RUN, begin, end_trial, report
from release_world import event, pod, waiting, workload

from trellis.command.release import waiting as waits


@pytest.fixture(autouse=True)
def file(trellis):
    Path("small.yaml").write_text(EXPERIMENT)


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
