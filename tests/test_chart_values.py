"""The values that operators give reach all pods and objects of a release."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import (
    CHART,
    QUOTA,
    Manifest,
    container,
    containers,
    environment,
    experiment,
    find,
    kinds,
    load,
    merged,
    needs_helm,
    pod_templates,
    render,
)

pytestmark = needs_helm

EXECUTORS: dict[str, Any] = {"analysis": {"executors": {"count": 2}}}


def whole(values: dict[str, Any], release: str = "demo") -> list[Manifest]:
    """Return a release with all kinds of pods."""
    spec = experiment()
    spec["runtime"]["churn"] = "pods"
    return render(EXECUTORS | values, spec, release)


def test_all_pods_have_the_priority_and_the_runtime_that_values_name() -> None:
    templates = pod_templates(whole({"priorityClassName": "true", "runtimeClassName": "kata"}))
    assert len(templates) >= 9
    for pod in templates.values():
        assert (pod["spec"]["priorityClassName"], pod["spec"]["runtimeClassName"]) == ("true", "kata")
    for pod in pod_templates(whole({})).values():
        assert not {"priorityClassName", "runtimeClassName"} & set(pod["spec"])


def test_all_objects_and_pods_have_the_labels_and_annotations_that_values_name() -> None:
    more = {"labels": {"team": "true"}, "annotations": {"owner": "ops@example.org"}}
    grafana = {"grafana": {"dashboard": True}, "podDisruptionBudget": {"enabled": True}}
    manifests = whole(more | grafana)
    pods = list(pod_templates(manifests).values())
    for each in (*manifests, *pods):
        assert each["metadata"]["labels"]["team"] == "true", each
        assert each["metadata"]["annotations"]["owner"] == "ops@example.org", each
    plain = whole(grafana)
    for manifest in manifests:
        del manifest["metadata"]["labels"]["team"], manifest["metadata"]["annotations"]["owner"]
        found = find(plain, manifest["kind"], manifest["metadata"]["name"])
        assert found["metadata"].get("annotations", {}) == manifest["metadata"]["annotations"]


def test_what_the_chart_needs_itself_is_not_changed_by_values() -> None:
    changed = {
        "labels": {"app.kubernetes.io/instance": "other"},
        "annotations": {"helm.sh/resource-policy": "delete", "helm.sh/hook": "test"},
    }
    manifests = whole(changed)
    labels = [each["metadata"]["labels"]["app.kubernetes.io/instance"] for each in manifests]
    assert set(labels) == {"demo"}
    claim = find(manifests, "PersistentVolumeClaim", "demo-results")
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    check = find(manifests, "Job", "demo-check")
    assert check["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_argo_cd_is_told_of_hooks_and_of_the_claim_that_stays() -> None:
    manifests = whole({})
    told = {
        (each["kind"], each["metadata"]["name"]): {
            key.partition("/")[2]: value
            for key, value in each["metadata"].get("annotations", {}).items()
            if key.startswith("argocd.argoproj.io/")
        }
        for each in manifests
    }
    assert {key: value for key, value in told.items() if value} == {
        ("Job", "demo-check"): {"hook": "PreSync", "hook-delete-policy": "BeforeHookCreation,HookSucceeded"},
        ("Job", "demo-test"): {"hook": "Skip"},
        ("PersistentVolumeClaim", "demo-results"): {"sync-options": "Prune=false,Delete=false"},
    }


@pytest.mark.parametrize("enabled", [True, False])
def test_a_mesh_leaves_all_pods_alone_unless_it_is_wanted(enabled: bool) -> None:
    for name, pod in pod_templates(whole({"mesh": {"enabled": enabled}})).items():
        told = pod["metadata"].get("annotations", {})
        asked = {key: told.get(key) for key in ("sidecar.istio.io/inject", "linkerd.io/inject")}
        assert set(asked.values()) == ({None} if enabled else {"false", "disabled"}), name


ZONE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
        }
    }
}
APART = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "other"}}}
        ]
    }
}
OWN = {"demo-collector", "demo-analysis", "demo-results", "demo-executor"}
"""The pods that the chart itself keeps beside the coordinator, where one node alone mounts the volume."""


def test_an_affinity_holds_for_all_pods_and_leaves_the_volume_reachable() -> None:
    plain = pod_templates(whole({}))
    for name, pod in pod_templates(whole({"affinity": ZONE | APART})).items():
        affinity = pod["spec"]["affinity"]
        assert affinity["nodeAffinity"] == ZONE["nodeAffinity"]
        terms = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        own = plain[name]["spec"].get("affinity", {}).get("podAffinity", {})
        assert terms == [
            *APART["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"],
            *own.get("requiredDuringSchedulingIgnoredDuringExecution", []),
        ]
        assert (len(terms) == 2) is (name in OWN), name


def test_the_affinity_of_peers_takes_the_place_of_that_of_all_pods() -> None:
    templates = pod_templates(whole({"affinity": APART, "peers": {"affinity": ZONE}}))
    assert templates["demo-peers-0"]["spec"]["affinity"] == ZONE
    assert templates["demo-coordinator"]["spec"]["affinity"] == APART


def test_a_budget_keeps_the_pods_of_a_trial_from_being_evicted_when_asked_for() -> None:
    assert not kinds(whole({}), "PodDisruptionBudget")
    budget = find(whole({"podDisruptionBudget": {"enabled": True}}), "PodDisruptionBudget", "demo-trial")
    assert budget["spec"]["maxUnavailable"] == 0
    (expression,) = budget["spec"]["selector"]["matchExpressions"]
    assert expression["values"] == ["peers", "coordinator", "collector"]
    assert budget["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"] == "demo"
    virtual = {"name": "test", "peers": 10}
    assert not kinds(render({"podDisruptionBudget": {"enabled": True}}, virtual), "PodDisruptionBudget")


def test_every_program_that_listens_is_waited_for_until_it_does() -> None:
    listening = {
        (name, each["name"]): each
        for name, pod in pod_templates(whole({})).items()
        for each in containers(pod)
        if "ports" in each
    }
    assert {name for name, _ in listening} == {
        "demo-peers-0",
        "demo-coordinator",
        "demo-collector",
        "demo-results",
    }
    for key, each in listening.items():
        probe = each["startupProbe"]
        asked = (probe.get("httpGet") or probe["tcpSocket"])["port"]
        assert asked in [port["name"] for port in each["ports"]], key
        assert probe["periodSeconds"] * probe["failureThreshold"] == 900, "the coordinator waits as long"


def test_no_probe_ends_a_peer_or_the_coordinator_once_it_runs() -> None:
    templates = pod_templates(whole({}))
    for name in ("demo-peers-0", "demo-coordinator"):
        assert not any("livenessProbe" in each for each in containers(templates[name]))


@pytest.mark.parametrize("name", ["true", "null", "on", "y", "1e3"])
def test_names_that_yaml_reads_otherwise_stay_names(name: str) -> None:
    values = {
        "images": {"emulator": name, "analysis": name, "collector": name, "pullSecrets": [name]},
        "storage": {"existingClaim": name},
        "inputs": {"existingClaim": name},
        "trust": {"existingSecret": name, "tls": {"enabled": True, "existingSecret": name, "name": name}},
    }
    used: list[Any] = []
    for pod in pod_templates(whole(values)).values():
        used += [each["name"] for each in pod["spec"]["imagePullSecrets"]]
        used += [each["image"] for each in containers(pod) if "image" in each]
        for volume in pod["spec"].get("volumes", []):
            used += (
                [volume["persistentVolumeClaim"]["claimName"]] if "persistentVolumeClaim" in volume else []
            )
            used += [volume["secret"]["secretName"]] if "secret" in volume else []
    assert len(used) > 30
    assert set(used) == {name}
    assert all(isinstance(each, str) for each in used)


def test_the_list_of_images_has_all_that_a_release_pulls() -> None:
    (values,) = load((CHART / "values.yaml").read_text())
    listed = (CHART / "images.txt").read_text().split()
    assert set(listed) == {values["images"][name] for name in ("emulator", "analysis", "collector")}
    pulled = {
        each["image"]
        for pod in pod_templates(whole({})).values()
        for each in containers(pod)
        if "image" in each
    }
    assert pulled == set(listed)


def test_with_the_values_for_a_quota_each_container_asks_for_cpu_and_memory_and_has_limits_of_both() -> None:
    spec = experiment()
    spec["runtime"]["churn"] = "pods"
    values = merged(QUOTA, {"analysis": {"executors": {"count": 2}}})
    manifests = render(values, spec)
    templates = pod_templates(manifests) | {m["metadata"]["name"]: m for m in kinds(manifests, "Pod")}
    (analysis,) = [found for name, found in templates.items() if name == "demo-analysis"]
    assert environment(analysis)["TRELLIS_EXECUTOR_CPU_LIMIT"] == "2"
    del templates["demo-executor"]  # Spark gives it its resources.
    assert len(templates) >= 8
    for name, found in templates.items():
        for each in containers(found):
            resources = each["resources"]
            assert resources["limits"].keys() == resources["requests"].keys() == {"cpu", "memory"}, name


def test_without_them_peers_have_no_limit_of_cpu() -> None:
    peers = pod_templates(render())["demo-peers-0"]
    assert container(peers)["resources"]["limits"].keys() == {"memory"}
