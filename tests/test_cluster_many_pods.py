"""A release of many pods on simulated nodes: it installs, and the command stays usable.

Needs what `test_cluster_release.py` needs, and kwok. TRELLIS_MANY_PODS sets the number of pods; with 1,200 of
them two cores need some minutes.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chart_rendering import needs_helm
from cluster_command import call, command, left, room_for, run_command
from cluster_volume import apply, kubectl, namespace_of, needs_cluster, needs_images

pytestmark = [
    needs_cluster,
    needs_images,
    needs_helm,
    pytest.mark.skipif(shutil.which("kwok") is None, reason="needs kwok, which simulates nodes"),
]
PODS = int(os.environ.get("TRELLIS_MANY_PODS", "250"))
PODS_A_NODE = 300
PODS_A_SET = 1000
"""As many pods are in a StatefulSet of the chart at most."""
LIMIT = 600.0
"""Seconds for a cluster to make all pods, and to end them."""

EXPERIMENT = f"""\
name: many
system: {{name: vitis}}
peers: {PODS}
workload:
  subscriptions: {{kind: random, topics: 20, per_peer: 2, buckets: 1}}
  publications: {{events: 10}}
phases: {{join: 3 s, settle: 8 s, measure: 8 s, drain: 3 s}}
runtime: {{kind: kubernetes, hosts: {PODS}}}
"""
VALUES = """\
peers:
  nodeSelector: {trellis-test: simulated}
  tolerations: [{key: trellis-test, operator: Exists}]
"""


@contextmanager
def simulated_nodes() -> Iterator[None]:
    """Make nodes on which pods are ready as soon as they are there, and do nothing."""
    names = [f"trellis-simulated-{number}" for number in range(math.ceil(PODS / PODS_A_NODE))]
    capacity = {"cpu": "1000", "memory": "4Ti", "pods": str(PODS_A_NODE + 10)}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"trellis-test": "simulated", "kubernetes.io/hostname": name},
            },
            "spec": {"taints": [{"key": "trellis-test", "effect": "NoSchedule"}]},
            "status": {"capacity": capacity, "allocatable": capacity},
        }
        for name in names
    ]
    line = ["kwok", "--kubeconfig", os.environ["KUBECONFIG"], "--node-lease-duration-seconds=40"]
    line.append("--manage-nodes-with-label-selector=trellis-test=simulated")
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as kwok:
        try:
            apply("default", *nodes)
            yield
        finally:
            kubectl("delete", "node", *names, "--ignore-not-found")
            kwok.terminate()


@pytest.mark.timeout(2 * LIMIT)
def test_a_release_of_many_pods_installs_and_the_command_stays_usable(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "many.yaml").write_text(EXPERIMENT)
    (tmp_path / "values.yaml").write_text(VALUES)
    with (
        simulated_nodes(),
        namespace_of("many") as namespace,
        room_for("many", namespace, tmp_path / "volume"),
    ):
        line = run_command(
            tmp_path / "many.yaml", "many", namespace, "--values", str(tmp_path / "values.yaml")
        )
        began = time.monotonic()
        with subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
            try:
                ready = _follow(run, f"{PODS + 3:,} of {PODS + 3:,} pods are ready", began + LIMIT)
                _look_at_it(namespace, tmp_path)
            finally:
                run.send_signal(signal.SIGINT)
                _, said = run.communicate(timeout=LIMIT)
        assert run.returncode == 130, said
        while left(namespace, "many"):
            assert time.monotonic() < ready + LIMIT
            time.sleep(2.0)
    print(f"{PODS} pods ready after {ready - began:.0f} s, gone {time.monotonic() - ready:.0f} s later")


def _follow(run: subprocess.Popen[str], line: str, deadline: float) -> float:
    """Wait until the command has said so, and return when it did."""
    assert run.stderr is not None
    said = []
    for each in run.stderr:
        said.append(each.strip())
        if line in each:
            return time.monotonic()
        assert time.monotonic() < deadline, said
    raise AssertionError(said)


def _look_at_it(namespace: str, folder: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = call(command("status", "many", namespace=namespace), folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert status.returncode == 0, status.stderr
    for number in range(math.ceil(PODS / PODS_A_SET)):
        size = min(PODS_A_SET, PODS - number * PODS_A_SET)
        assert f"many-peers-{number}: {size} of {size} pods ready" in status.stdout
    assert "experiment many: 1 trial," in status.stdout
    assert seconds < 5.0
    print(f"its status took {seconds:.1f} s of processor time")
