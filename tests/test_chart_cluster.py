"""The chart and a real API server.

Needs KUBECONFIG; what installs a release needs in TRELLIS_IMAGES the prefix of the images that the cluster
has, `trellis-emulator:test` among them. Nothing is analysed, and no volume is needed.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chart_rendering import (
    CHART,
    QUOTA,
    SMALL,
    Refused,
    arguments,
    experiment,
    helm,
    load,
    needs_helm,
    pod_templates,
    template,
)
from cluster_volume import IMAGES, LIMIT, kubectl, namespace_of, needs_cluster, needs_images

pytestmark = [needs_helm, needs_cluster]


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    with namespace_of("chart") as name:
        yield name


def _churned(hosts: int) -> dict[str, Any]:
    spec = experiment(hosts, hosts)
    spec["runtime"]["churn"] = "pods"
    return spec


OPERATORS = {
    "labels": {"team": "overlays"},
    "annotations": {"owner": "ops@example.org"},
    "priorityClassName": "low",
    "runtimeClassName": "kata",
    "podDisruptionBudget": {"enabled": True},
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]},
                }
            ]
        }
    },
    "results": {"from": [{"namespaceSelector": {"matchLabels": {"team": "overlays"}}}]},
}


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        ({}, experiment()),
        ({"analysis": {"executors": {"count": 2}}, "grafana": {"dashboard": True}}, _churned(1001)),
        ({"netem": {"enabled": True}, "inputs": {"existingClaim": "traces"}}, experiment(50, 50)),
        (
            {
                "storage": {"className": "", "accessMode": "ReadWriteMany", "size": "1Ti"},
                "telemetry": {"forward": {"endpoint": "tempo:4317"}},
                "networkPolicies": {"enabled": False},
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "tolerations": [{"key": "peers", "operator": "Exists"}],
                "images": {"pullSecrets": ["key"]},
            },
            experiment(1, 2),
        ),
        (OPERATORS, _churned(2)),
    ],
)
def test_the_api_server_takes_every_manifest(
    values: dict[str, Any], spec: dict[str, Any], namespace: str
) -> None:
    rendered = template(values, spec)
    check = ["apply", "--dry-run=server", "--validate=strict", "--filename", "-"]
    said = kubectl("--namespace", namespace, *check, text=rendered)
    assert len(said.splitlines()) == rendered.count("\nkind: ")


def test_every_pod_is_let_into_a_namespace_with_a_quota_and_restricted_pods() -> None:
    with namespace_of("quota") as name:
        hard = "limits.cpu=100,limits.memory=200Gi,requests.cpu=100,requests.memory=200Gi"
        kubectl("--namespace", name, "create", "quota", "all", f"--hard={hard}")

        def refused(values: dict[str, Any]) -> list[str]:
            """Return the workloads whose pods are not let in."""
            return [
                workload
                for workload, about in pod_templates(load(template(values, _churned(4)))).items()
                if not _is_let_in(name, workload, about)
            ]

        assert "demo-peers-0" in refused({})
        assert refused(QUOTA) == []


def _is_let_in(namespace: str, workload: str, about: dict[str, Any]) -> bool:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": workload}, "spec": about["spec"]}
    pod["spec"] |= {"serviceAccountName": "default", "restartPolicy": "Never"}
    try:
        kubectl("--namespace", namespace, "create", "--dry-run=server", "-f", "-", text=json.dumps(pod))
    except AssertionError as refusal:
        assert "failed quota" in str(refusal)
        return False
    return True


def test_what_is_said_after_installing_names_the_next_steps(namespace: str, tmp_path: Path) -> None:
    said = helm(
        "--namespace", namespace, "install", "demo", str(CHART), "--dry-run=server",
        *arguments(tmp_path, {}, experiment(20, 200)),
    ).partition("NOTES:")[2]  # fmt: skip
    for part in (
        "200 peers in 20 pods",
        f"trellis open demo --namespace {namespace}",
        "port-forward service/demo-results 8080",
        f"kubectl --namespace {namespace} get secret demo-trust --output 'go-template={{{{.data.results",
        f"trellis fetch demo --namespace {namespace}",
        "helm uninstall demo",
        "the claim demo-results",
    ):
        assert part in said


@pytest.mark.parametrize(("value", "kind"), [("podMonitor", "PodMonitor"), ("rules", "PrometheusRule")])
def test_a_cluster_without_the_operator_of_prometheus_says_so(
    value: str, kind: str, namespace: str, tmp_path: Path
) -> None:
    if kind in kubectl("api-resources", "--api-group=monitoring.coreos.com"):
        pytest.skip("this cluster has the Prometheus operator's kinds")
    asked = arguments(tmp_path, {"prometheus": {value: {"enabled": True}}}, experiment(2, 10))
    with pytest.raises(Refused, match=f"this cluster has no {kind}.*prometheus.{value}.enabled"):
        helm("--namespace", namespace, "install", "demo", str(CHART), "--dry-run=server", *asked)


def _images() -> dict[str, str]:
    return {
        "emulator": f"{IMAGES}trellis-emulator:test",
        "analysis": f"{IMAGES}trellis-analysis:test",
        "collector": f"{IMAGES}opentelemetry-collector-contrib:0.155.0",
    }


def _install(namespace: str, folder: Path, release: str, spec: dict[str, Any]) -> None:
    values = {"images": _images(), "storage": {"className": ""}, **SMALL}
    helm("--namespace", namespace, "install", release, str(CHART), *arguments(folder, values, spec))


def _objects(namespace: str, release: str) -> set[tuple[str, str]]:
    kinds = "all,configmap,serviceaccount,role,rolebinding,networkpolicy,persistentvolumeclaim"
    of_release = f"--selector=app.kubernetes.io/instance={release}"
    found = json.loads(kubectl("--namespace", namespace, "get", kinds, "--output=json", of_release))
    return {(item["kind"], item["metadata"]["name"]) for item in found["items"]}


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(1)


def _complete(spec: dict[str, Any]) -> dict[str, Any]:
    subscriptions = {"kind": "high", "topics": 20, "buckets": 4, "per_peer": 4}
    return {"system": {"name": "vitis"}, "workload": {"subscriptions": subscriptions}, **spec}


@needs_images
def test_an_experiment_with_an_error_is_refused_before_any_pod_starts(namespace: str, tmp_path: Path) -> None:
    spec = _complete(experiment(2, 10)) | {"pears": 5}
    with pytest.raises(Refused, match="wrong-check"):
        _install(namespace, tmp_path, "wrong", spec)
    made = _objects(namespace, "wrong")
    assert {(kind, name) for kind, name in made if kind != "Pod"} == {("Job", "wrong-check")}
    (pod,) = [name for kind, name in made if kind == "Pod"]
    state = json.loads(kubectl("--namespace", namespace, "get", "pod", pod, "--output", "json"))["status"]
    assert "pears" in state["containerStatuses"][0]["state"]["terminated"]["message"]


@pytest.fixture(scope="module")
def releases(namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two in one namespace whose pods are deleted by their own controllers alone."""
    names = ["one", "one-peers"]
    try:
        for name in names:
            _install(namespace, tmp_path_factory.mktemp(name), name, _complete(_churned(3)))
        yield names
    finally:
        for name in names:
            subprocess.run(
                ["helm", "--namespace", namespace, "uninstall", name, "--ignore-not-found"],
                capture_output=True,
                timeout=LIMIT,
                check=False,
            )


def _may(namespace: str, account: str, verb: str, what: str) -> bool:
    done = subprocess.run(
        ["kubectl", "--namespace", namespace, "auth", "can-i", verb, what,
         "--as", f"system:serviceaccount:{namespace}:{account}"],
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    return done.stdout.strip() == "yes"


@needs_images
def test_a_controller_may_delete_no_pod_of_another_release(releases: list[str], namespace: str) -> None:
    for own, other in (releases, reversed(releases)):
        assert _may(namespace, f"{own}-churn", "delete", f"pod/{own}-peers-0-2")
        assert not _may(namespace, f"{own}-churn", "delete", f"pod/{other}-peers-0-2")
        assert not _may(namespace, f"{own}-churn", "delete", f"pod/{own}-coordinator-0")
        assert not _may(namespace, f"{own}-churn", "get", "secrets")
        assert not _may(namespace, own, "list", "pods")


@needs_images
def test_only_the_claim_is_left_of_a_release(releases: list[str], namespace: str) -> None:
    first, second = releases
    before = _objects(namespace, second)
    said = helm("--namespace", namespace, "uninstall", first)
    assert f"{first}-results" in said
    left = {("PersistentVolumeClaim", f"{first}-results")}
    _wait_until(lambda: _objects(namespace, first) == left, f"more is left than {left}")
    assert _objects(namespace, second) >= {found for found in before if found[0] != "Pod"}
