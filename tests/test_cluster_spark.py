"""The chart's analysis in a real cluster: Spark with executors gives the tables of a local one.

Needs KUBECONFIG, and in TRELLIS_IMAGES the prefix of an image `trellis-analysis:test` that the cluster has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from analysis_golden import EXPERIMENT, TRIAL, golden_run
from chart_rendering import Manifest, needs_helm, render
from cluster_analysis import complete, pods, wait_until
from cluster_volume import IMAGES, LIMIT, apply, kubectl, namespace_of, needs_cluster, needs_images, volume
from pyspark.sql import SparkSession

from analysis.pipeline import analyze
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.telemetry_totals import Written

pytestmark = [needs_cluster, needs_helm, needs_images]
EXECUTORS = 2
JOB_LIMIT = 800.0
"""Seconds for the analysis of a small run on a busy machine."""


def recorded(path: Path) -> RunDirectory:
    """Record a run of one trial that is over."""
    run = golden_run(path)
    told = json.loads(run.trial(TRIAL).fidelity.read_text())["written"]
    written = [Written(**start) for start in told]
    Fidelity("virtual", "virtual clock", written=written).write(run.trial(TRIAL).fidelity)
    return run


def contents(run: RunDirectory) -> dict[str, pa.Table]:
    """Return rows of all tables in their order, by path."""
    files = sorted(path for path in run.tables.rglob("*") if path.is_file())
    return {str(path.relative_to(run.tables)): pq.read_table(path, partitioning=None) for path in files}


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """The tables of the same run, analysed here."""
    run = recorded(tmp_path_factory.mktemp("local") / "run")
    analyze(run, lambda _: None, spark)
    return contents(run)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, RunDirectory, Manifest]]:
    """A namespace, a run on a volume in it, and the chart's Job; what that needs is there."""
    run = recorded(tmp_path / "run")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    values = {
        "images": {"analysis": f"{IMAGES}trellis-analysis:test"},
        "analysis": {"executors": {"count": EXECUTORS}},
        "storage": {"existingClaim": "run", "accessMode": "ReadWriteMany"},
    }
    kinds = ("ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Job")
    names = ("demo", "demo-analysis", "demo-executor", "demo-experiment")
    found = [m for m in render(values) if m["kind"] in kinds and m["metadata"]["name"] in names]
    (experiment,) = [m for m in found if m["metadata"]["name"] == "demo-experiment"]
    experiment["data"]["experiment.yaml"] = EXPERIMENT
    (job,) = [m for m in found if m["kind"] == "Job"]
    with namespace_of("spark") as namespace, volume(namespace, "run", tmp_path):
        for manifest in found:
            manifest["metadata"].pop("namespace", None)
            for subject in manifest.get("subjects", []):
                subject["namespace"] = namespace
        apply(namespace, *(m for m in found if m is not job))
        yield namespace, run, job


@pytest.mark.timeout(1800)
def test_executors_make_the_tables_of_a_local_analysis_and_are_gone_at_the_end(
    cluster: tuple[str, RunDirectory, Manifest], expected: dict[str, pa.Table]
) -> None:
    namespace, run, job = cluster
    apply(namespace, job)
    wait_until(lambda: len(pods(namespace, "spark-role=executor")) == EXECUTORS, JOB_LIMIT, namespace)
    wait_until(lambda: complete(namespace), JOB_LIMIT, namespace)
    wait_until(lambda: not pods(namespace, "spark-role=executor"), LIMIT, namespace)
    assert contents(run) == expected
    assert json.loads(run.summary.read_text())["trials"][0]["measures"]["hit_ratio"] == 3 / 4
    assert run.report.exists()


@pytest.mark.timeout(1800)
def test_an_analysis_that_is_deleted_half_way_takes_its_executors_along_and_starts_again(
    cluster: tuple[str, RunDirectory, Manifest], expected: dict[str, pa.Table]
) -> None:
    namespace, run, job = cluster
    apply(namespace, job)
    wait_until(lambda: (run.tables / "points").exists(), JOB_LIMIT, namespace)
    executors = pods(namespace, "spark-role=executor")
    assert executors
    kubectl("delete", "pod", "--namespace", namespace, "--selector", "job-name=demo-analysis", "--wait=false")
    wait_until(lambda: not set(executors) & set(pods(namespace, "spark-role=executor")), LIMIT, namespace)
    wait_until(lambda: complete(namespace), JOB_LIMIT, namespace)
    wait_until(lambda: not pods(namespace, "spark-role=executor"), LIMIT, namespace)
    assert contents(run) == expected
