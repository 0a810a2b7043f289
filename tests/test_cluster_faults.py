"""Two releases in one namespace of a real cluster: everything happens to one, and to the other only the
faults of its experiment.

Needs KUBECONFIG, helm, and in TRELLIS_IMAGES the prefix of the images that the cluster has.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chart_rendering import CHART, SMALL, arguments, helm, needs_helm
from cluster_volume import IMAGES, kubectl, namespace_of, needs_cluster, needs_images, volume

pytestmark = [needs_cluster, needs_helm, needs_images, pytest.mark.timeout(900)]
LIMIT = 420.0
"""Seconds from the installation to the report of both."""
SPEC: dict[str, Any] = {
    "name": "faults",
    "peers": 12,
    "system": {"name": "vitis"},
    "network": {"latency": {"kind": "constant", "rtt": "60 ms"}},
    "workload": {
        "subscriptions": {"kind": "high", "topics": 20, "buckets": 4, "per_peer": 4},
        "publications": {"events": 60},
    },
    "phases": {"join": "3 s", "settle": "17 s", "measure": "30 s", "drain": "5 s"},
    "runtime": {"kind": "kubernetes", "hosts": 6},
    # The machine may be busy, and what is tested here is not its speed.
    "fidelity": {
        "timer_lateness_p99": "5 s",
        "delay_error_p99": "5 s",
        "session_error_p99": "60 s",
        "fault_error": "60 s",
        "loop_stall": "20 s",
    },
}
FAULTS = [
    {"name": "split", "at": "22 s", "for": "5 s", "partition": {"peers": [0, 1, 2]}},
    {"name": "kept", "at": "38 s", "for": "4 s", "crash": {"peers": [5, 11], "state": "kept"}},
    {
        "name": "route",
        "at": "40 s",
        "for": "8 s",
        "links": {"between": [{"peers": [0, 1, 2]}, {"peers": [6, 7, 8]}], "delay": "50 ms"},
    },
]


class Release:
    def __init__(self, namespace: str, name: str, folder: Path, faults: list[dict[str, Any]]) -> None:
        self.namespace, self.name, self.folder = namespace, name, folder
        self.spec = SPEC | ({"faults": faults} if faults else {})

    def install(self, scratch: Path) -> None:
        images = {
            "emulator": f"{IMAGES}trellis-emulator:test",
            "analysis": f"{IMAGES}trellis-analysis:test",
            "collector": f"{IMAGES}opentelemetry-collector-contrib:0.155.0",
        }
        values = {"images": images, "storage": {"existingClaim": f"{self.name}-results"}, **SMALL}
        helm(
            "--namespace", self.namespace, "install", self.name, str(CHART),
            *arguments(scratch, values, self.spec),
        )  # fmt: skip

    def trial(self, file: str) -> dict[str, Any]:
        path = self.folder / "run" / "trials" / "vitis-1" / file
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def at(self) -> float:
        """Return the trial time as the trial's status has it; the status is written each 5 s."""
        return float((self.trial("status.json").get("progress") or {}).get("trial_time", 0.0))

    def ended(self) -> bool:
        return self.trial("status.json").get("state") in ("valid", "invalid", "failed")

    def analysed(self) -> bool:
        job = ["--namespace", self.namespace, "get", "job", f"{self.name}-analysis", "--output", "json"]
        return bool(json.loads(kubectl(*job))["status"].get("succeeded"))

    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "run" / "summary.json").read_text())
        return found

    def delete_pod(self, name: str, *options: str) -> None:
        pod = f"{self.name}-{name}"
        kubectl("--namespace", self.namespace, "delete", "pod", pod, "--wait=false", *options)

    def delete_pods_of(self, component: str) -> None:
        selector = (
            f"--selector=app.kubernetes.io/instance={self.name},app.kubernetes.io/component={component}"
        )
        kubectl("--namespace", self.namespace, "delete", "pod", selector, "--wait=false")

    def kill_process_of(self, pod: str) -> None:
        """Kill its program by SIGKILL from outside, where the pod's node is this machine."""
        get = ["--namespace", self.namespace, "get", "pod", f"{self.name}-{pod}"]
        uid = kubectl(*get, "--output=jsonpath={.metadata.uid}")
        for process in Path("/proc").glob("[0-9]*"):
            try:
                group, program = (process / "cgroup").read_text(), (process / "cmdline").read_text()
            except OSError:
                continue
            if (uid in group or uid.replace("-", "_") in group) and "services.peer" in program:
                os.kill(int(process.name), signal.SIGKILL)
                return
        pytest.skip("the cluster's node is another machine, whose processes cannot be killed from here")


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Release]]:
    """`hurt` and `well`, both with their reports."""
    scratch = tmp_path_factory.mktemp("releases")
    with namespace_of("faults") as namespace:
        made = {}
        for name, faults in (("hurt", []), ("well", FAULTS)):
            folder = scratch / name
            folder.mkdir()
            made[name] = Release(namespace, name, folder, faults)
        hurt, well = made.values()
        with volume(namespace, "hurt-results", hurt.folder), volume(namespace, "well-results", well.folder):
            for release in made.values():
                release.install(scratch)
            deadline = time.monotonic() + LIMIT
            _wait(lambda: hurt.at() >= 15, deadline)
            hurt.kill_process_of("peers-0-1")
            hurt.delete_pod("peers-0-2", "--grace-period=0", "--force")
            hurt.delete_pods_of("collector")
            _wait(lambda: hurt.at() >= 25, deadline)
            hurt.delete_pod("coordinator-0")
            for release in made.values():
                _wait(release.ended, deadline)
            hurt.delete_pods_of("analysis")
            for release in made.values():
                _wait(release.analysed, deadline)
            yield made
            for name in made:
                helm("--namespace", namespace, "uninstall", name)


def _wait(condition: Callable[[], bool], deadline: float) -> None:
    while not condition():
        assert time.monotonic() < deadline, kubectl("get", "pods", "--all-namespaces")
        time.sleep(0.5)


def test_a_killed_peer_and_a_deleted_pod_are_told_with_their_peers_and_times(
    releases: dict[str, Release],
) -> None:
    fidelity = releases["hurt"].trial("fidelity.json")
    states = {host["host"]: host["state"] for host in fidelity["hosts"]}
    assert states == {f"host-{n}": "restarted" if n in (1, 2) else "finished" for n in range(6)}
    (reason,) = [reason for reason in fidelity["reasons"] if "hosts restarted: 2 hosts" in reason]
    assert "host-1 with peers 1, 7 came back at" in reason
    assert "its program ended with status 137" in reason
    assert "host-2 with peers 2, 8 came back at" in reason


def test_a_deleted_coordinator_and_collector_and_analysis_lose_nothing(releases: dict[str, Release]) -> None:
    hurt = releases["hurt"]
    assert {check["name"] for check in hurt.trial("fidelity.json")["checks"] if not check["ok"]} == {
        "hosts restarted"
    }
    (trial,) = hurt.summary()["trials"]
    assert trial["measures"]["lost_telemetry"] == 0
    assert trial["measures"]["hit_ratio"] == 1.0


def test_the_release_beside_it_is_whole(releases: dict[str, Release]) -> None:
    well = releases["well"]
    assert well.trial("status.json")["reasons"] == []
    (trial,) = well.summary()["trials"]
    assert trial["valid"]
    assert trial["measures"]["lost_telemetry"] == 0


def test_faults_of_the_experiment_are_told_by_each_pod_and_nothing_crosses(
    releases: dict[str, Release],
) -> None:
    fidelity = releases["well"].trial("fidelity.json")
    checks = {check["name"]: check["measured"] for check in fidelity["checks"]}
    assert checks["messages that crossed a partition"] == 0
    told = fidelity["faults"]
    assert sorted((each["name"], each["host"]) for each in told) == [
        (name, f"host-{n}") for name in ("kept", "route", "split") for n in range(6)
    ]
    assert all(each["begun_s"] is not None and each["ended_s"] is not None for each in told)
    hit = {name: sum(e["peers"] for e in told if e["name"] == name) for name in ("kept", "route", "split")}
    assert hit == {"kept": 2, "route": 6, "split": 3}
    did = Counter[str]()
    for each in told:
        did.update({f"{each['name']} {what}": number for what, number in each.get("messages", {}).items()})
    assert did["split stopped"] > 0 and did["route delayed"] > 0 and not did["route stopped"]


def test_the_status_tells_the_image_that_ran(releases: dict[str, Release]) -> None:
    image = releases["well"].trial("status.json")["image"]
    assert image["name"].endswith("trellis-emulator:test")
    assert "sha256:" in image["digest"]
