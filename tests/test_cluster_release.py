"""The command and a real cluster: a run that is interrupted and goes on to its report, and what can go wrong.

Needs KUBECONFIG, helm, and in TRELLIS_IMAGES the prefix of the images `trellis-emulator:test` and
`trellis-analysis:test` that the cluster has; TRELLIS_COLLECTOR_IMAGE may name the Collector's.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chart_rendering import needs_helm
from cluster_command import RUN_LIMIT, call, claims, command, left, room_for, run_command
from cluster_volume import kubectl, namespace_of, needs_cluster, needs_images

from emulator.experiment.run.directory import RunDirectory

pytestmark = [needs_cluster, needs_images, needs_helm]
EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 2
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
  publications: {events: 10}
phases: {join: 3 s, settle: 8 s, measure: 8 s, drain: 3 s}
runtime: {kind: kubernetes, hosts: 2}
"""


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    with namespace_of("release") as name:
        yield name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


@pytest.mark.timeout(900)
def test_a_run_that_is_interrupted_goes_on_to_its_report(namespace: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    with room_for("demo", namespace, tmp_path / "volume") as volume:
        interrupted = _interrupt_after_first_trial(file, namespace, tmp_path, volume)
        assert "the volume claim demo-results stays" in interrupted
        assert not left(namespace, "demo")
        assert claims(namespace) == ["persistentvolumeclaim/demo-results"]

        done = call(run_command(file, "demo", namespace), tmp_path)
        assert done.returncode in (0, 1), done.stderr
        assert "going on with what is on the volume of demo" in done.stderr
        assert "deleted the volume claim demo-results" in done.stderr
        assert not left(namespace, "demo")
        assert not claims(namespace)
    (home,) = (tmp_path / "runs").iterdir()
    run = RunDirectory(home)
    summary = json.loads(run.summary.read_text())
    assert done.stdout.splitlines()[1] == f"report: {run.report.relative_to(tmp_path)}"
    assert summary["valid"] == (done.returncode == 0) == done.stdout.startswith("valid")
    assert [trial["trial"] for trial in summary["trials"]] == ["vitis-1", "vitis-2"]
    assert {trial.read_status()["state"] for trial in run.trials()} <= {"valid", "invalid"}


def _interrupt_after_first_trial(file: Path, namespace: str, folder: Path, volume: Path) -> str:
    """Interrupt the command after the first trial and return what it says; on the way, check what the
    other commands say of the release."""
    with subprocess.Popen(
        run_command(file, "demo", namespace),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            first = RunDirectory(volume / "run").trial("vitis-1")
            deadline = time.monotonic() + RUN_LIMIT
            while first.read_status().get("state") not in ("valid", "invalid"):
                assert time.monotonic() < deadline and process.poll() is None, process.communicate()[1]
                time.sleep(0.5)
            _ask_the_other_commands(namespace, folder)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=180)
        finally:
            process.kill()
    assert process.returncode == 130, said
    return str(said)


def _ask_the_other_commands(namespace: str, folder: Path) -> None:
    status = call(command("status", "demo", namespace=namespace), folder)
    assert status.returncode == 0, status.stderr
    assert "demo-peers-0: 2 of 2 pods ready" in status.stdout
    assert "experiment small: 2 trials" in status.stdout
    logs = call(command("logs", "demo", "--component", "coordinator", namespace=namespace), folder)
    assert "vitis-1" in logs.stdout
    fetched = call(command("fetch", "demo", "--out", "meanwhile", namespace=namespace), folder)
    assert fetched.returncode == 1
    (home,) = (folder / "meanwhile").iterdir()
    assert RunDirectory(home).trial("vitis-1").read_status()["state"] in ("valid", "invalid")


@pytest.mark.parametrize(
    ("release", "more", "told"),
    [
        (
            "image",
            ["--chart-set", "images.emulator=localhost/none:1"],
            "the image localhost/none:1 cannot be pulled (ErrImageNeverPull)",
        ),
        (
            "large",
            ["--chart-set", "peers.cost.podMemoryMiB=900000"],
            "large-peers-0-0, large-peers-0-1: cannot be scheduled: 0/",
        ),
        (
            "claim",
            ["--chart-set", "storage.className=none"],
            'claim-results: the claim has no volume: storageclass.storage.k8s.io "none" not found',
        ),
    ],
)
def test_pods_that_cannot_start_are_told_within_half_a_minute(
    namespace: str, file: Path, tmp_path: Path, release: str, more: list[str], told: str
) -> None:
    (tmp_path / "volume").mkdir()
    room = (
        contextlib.nullcontext() if release == "claim" else room_for(release, namespace, tmp_path / "volume")
    )
    with room:
        done = call(run_command(file, release, namespace, *more), tmp_path)
    assert done.returncode == 2, done.stdout
    assert told in done.stderr
    assert not left(namespace, release)
    assert not [claim for claim in claims(namespace) if release in claim]


def test_a_quota_is_told(file: Path, tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    with namespace_of("quota") as namespace, room_for("few", namespace, tmp_path / "volume"):
        kubectl("create", "quota", "few", "--hard=pods=3", "--namespace", namespace)
        done = call(run_command(file, "few", namespace, "--patience", "15"), tmp_path)
    assert done.returncode == 2
    assert "few-peers-0: its pods cannot be made: exceeded quota: few, requested: pods=1" in done.stderr


def test_an_experiment_that_pods_refuse_is_told_with_their_reason(
    namespace: str, file: Path, tmp_path: Path
) -> None:
    latency = ["--set", "network.latency={kind: p2psim-matrix, file: /inputs/none.matrix}"]
    done = call(run_command(file, "check", namespace, *latency), tmp_path)
    assert done.returncode == 2
    assert 'network.latency.file: is "/inputs/none.matrix", but there is no such file' in done.stderr
    assert not left(namespace, "check")
