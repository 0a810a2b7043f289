"""A sweep in a real cluster: executors run the trials, and the run directory is the one of a sweep at home.

Needs KUBECONFIG, and in TRELLIS_IMAGES the prefix of images `trellis-analysis:test` and
`trellis-emulator:test` that the cluster has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chart_rendering import Manifest, needs_helm, render
from cluster_analysis import complete, pods, wait_until
from cluster_volume import IMAGES, LIMIT, apply, kubectl, namespace_of, needs_cluster, needs_images, volume

from emulator.experiment.file.load import load
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import make_run
from emulator.trials.sweep import run_sweep

pytestmark = [needs_cluster, needs_helm, needs_images]
EXECUTORS = 2
JOB_LIMIT = 800.0
"""Seconds for a small sweep and its analysis on a busy machine."""
SPEC = {
    "name": "sweep",
    "system": {"name": "vitis"},
    "peers": 20,
    "repeat": 4,
    "runtime": {"kind": "virtual"},
    "phases": {"join": "1 s", "settle": "5 s", "measure": "400 s", "drain": "2 s"},
    "workload": {"subscriptions": {"kind": "random", "topics": 20, "per_peer": 2, "buckets": 1}},
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, RunDirectory, Manifest]]:
    """A namespace, a volume for the run, and the chart's Job; what that needs is there."""
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume").chmod(0o777)
    values = {
        "images": {"analysis": f"{IMAGES}trellis-analysis:test"},
        "analysis": {"executors": {"count": EXECUTORS}},
        "storage": {"existingClaim": "run", "accessMode": "ReadWriteMany"},
    }
    kinds = ("ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Job")
    names = ("demo", "demo-analysis", "demo-executor", "demo-experiment")
    found = [m for m in render(values, SPEC) if m["kind"] in kinds and m["metadata"]["name"] in names]
    (job,) = [m for m in found if m["kind"] == "Job"]
    with namespace_of("sweep") as namespace, volume(namespace, "run", tmp_path / "volume"):
        for manifest in found:
            manifest["metadata"].pop("namespace", None)
            for subject in manifest.get("subjects", []):
                subject["namespace"] = namespace
        apply(namespace, *(m for m in found if m is not job))
        yield namespace, RunDirectory(tmp_path / "volume" / "run"), job


def executors(namespace: str) -> list[str]:
    return pods(namespace, "spark-role=executor")


def states(run: RunDirectory) -> list[str]:
    return [trial.read_status().get("state", "") for trial in run.trials()]


def files(run: RunDirectory) -> dict[str, bytes]:
    """Return what trials left, but for their status."""
    found = [path for path in (run.path / "trials").rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run.path)): path.read_bytes() for path in found if path.name != "status.json"
    }


@pytest.mark.timeout(1800)
def test_a_sweep_whose_executor_is_deleted_makes_the_run_directory_of_one_at_home(
    cluster: tuple[str, RunDirectory, Manifest], tmp_path: Path
) -> None:
    namespace, run, job = cluster
    apply(namespace, job)
    wait_until(
        lambda: "running" in states(run) and len(executors(namespace)) == EXECUTORS, JOB_LIMIT, namespace
    )
    kubectl("delete", "pod", "--namespace", namespace, executors(namespace)[0], "--wait=false")
    wait_until(lambda: complete(namespace), JOB_LIMIT, namespace)
    wait_until(lambda: not executors(namespace), LIMIT, namespace)
    assert states(run) == ["valid"] * 4
    assert all("-exec-" in trial.read_status()["executor"] for trial in run.trials())
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC))
    spec = load(tmp_path / "spec.yaml")
    home = make_run(spec, tmp_path / "home" / "run")
    run_sweep(home, spec, 2, lambda _: None)
    assert files(run) == files(home)
    assert run.report.exists()
