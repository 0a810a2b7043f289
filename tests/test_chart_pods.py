"""Which pods a release has, and what they are told."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from chart_rendering import (
    CHART,
    SMALL,
    container,
    containers,
    environment,
    experiment,
    find,
    kinds,
    load,
    needs_helm,
    pod_templates,
    render,
)

pytestmark = needs_helm


def _peer_sets(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in kinds(manifests, "StatefulSet") if m["metadata"]["name"].startswith("demo-peers-")]


@pytest.mark.parametrize(
    ("hosts", "replicas"),
    [
        (1, [1]),
        (20, [20]),
        (1000, [1000]),
        (1001, [1000, 1]),
        (3000, [1000, 1000, 1000]),
        (2500, [1000, 1000, 500]),
    ],
)
def test_peers_are_split_into_sets_of_at_most_a_thousand_pods(hosts: int, replicas: list[int]) -> None:
    sets = _peer_sets(render(spec=experiment(hosts, peers=max(hosts, 2))))
    assert [m["metadata"]["name"] for m in sets] == [f"demo-peers-{i}" for i in range(len(replicas))]
    assert [m["spec"]["replicas"] for m in sets] == replicas


def test_the_hosts_of_all_sets_are_numbered_without_a_gap() -> None:
    sets = _peer_sets(render(spec=experiment(2500, peers=2500)))
    numbers = [
        int(environment(m["spec"]["template"])["TRELLIS_HOST_OFFSET"]) + ordinal
        for m in sets
        for ordinal in range(m["spec"]["replicas"])
    ]
    assert numbers == list(range(2500))


def test_no_set_takes_the_pods_of_another() -> None:
    sets = _peer_sets(render(spec=experiment(2500, peers=2500)))
    selectors = [tuple(sorted(m["spec"]["selector"]["matchLabels"].items())) for m in sets]
    assert len(set(selectors)) == len(sets)


def test_all_pods_of_peers_start_at_once() -> None:
    assert {m["spec"]["podManagementPolicy"] for m in _peer_sets(render())} == {"Parallel"}


def test_an_experiment_that_names_no_number_of_hosts_has_two_pods() -> None:
    (peers,) = _peer_sets(render(spec={"name": "test", "peers": 10, "runtime": {"kind": "kubernetes"}}))
    assert peers["spec"]["replicas"] == 2


def test_a_peer_pod_is_told_who_it_is_and_where_the_others_are() -> None:
    peer = pod_templates(render())["demo-peers-0"]
    assert container(peer)["command"][:4] == ["python", "-m", "services.peer", "--stay"]
    told = environment(peer)
    assert told["TRELLIS_POD"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert told["TRELLIS_COORDINATOR"] == "demo-coordinator:7000"
    assert told["TRELLIS_COLLECTOR"] == "http://demo-collector:4317"
    assert told["TRELLIS_LISTEN"] == "$(POD_IP):7001"
    assert list(told).index("POD_IP") < list(told).index("TRELLIS_LISTEN")


def test_no_program_listens_on_the_interfaces_of_ipv4_alone() -> None:
    manifests = json.dumps(render({"analysis": {"executors": {"count": 2}}}))
    assert "0.0.0.0" not in manifests
    assert {"--listen=*:8080", "--metrics=*:9100", "--listen=*:4317"} <= set(
        re.findall(r"--\w+=\*:\d+", manifests)
    )


def _requests(manifests: list[dict[str, Any]]) -> tuple[int, int]:
    asked = container(pod_templates(manifests)["demo-peers-0"])["resources"]["requests"]
    return int(asked["cpu"].removesuffix("m")), int(asked["memory"].removesuffix("Mi"))


def test_pods_with_more_peers_ask_for_more() -> None:
    cost = {"podCpuMillis": 10, "podMemoryMiB": 50, "peerCpuMillis": 0.5, "peerMemoryKiB": 512}
    values = {"peers": {"cost": cost}}
    assert _requests(render(values, experiment(hosts=20, peers=200))) == (15, 55)
    assert _requests(render(values, experiment(hosts=20, peers=201))) == (16, 56)
    assert _requests(render(values, experiment(hosts=20, peers=20))) == (11, 51)
    traced = values | {"telemetry": {"programs": {"enabled": True}}}
    assert _requests(render(traced, experiment(hosts=20, peers=20))) == (11, 58)


@pytest.mark.parametrize(
    ("runtime", "peers", "millis"),
    [
        ({"hosts": 20, "time_scale": 2}, 200, 59),
        ({"hosts": 200, "time_scale": 12}, 200, 5),
        ({"hosts": 2}, 2000, 1000),
    ],
    ids=["quickstart", "one peer a pod", "more than a core"],
)
def test_pods_ask_for_the_cpu_that_was_measured_or_a_core(
    runtime: dict[str, Any], peers: int, millis: int
) -> None:
    spec = experiment(peers=peers) | {"runtime": {"kind": "kubernetes", **runtime}}
    assert _requests(render({}, spec))[0] == millis


def test_pods_on_a_small_node_ask_for_less_cpu_and_the_same_memory() -> None:
    quickstart = experiment(peers=200, hosts=20)
    (less, memory), (more, same) = _requests(render(SMALL, quickstart)), _requests(render({}, quickstart))
    assert (less, memory) == (9, same) and more == 114


@pytest.mark.parametrize(("limit", "millis"), [("300m", 300), ("0.5", 500), (2, 1000)])
def test_pods_ask_for_no_more_cpu_than_they_may_have(limit: str | int, millis: int) -> None:
    values = {"peers": {"cpuLimit": limit}}
    assert _requests(render(values, experiment(hosts=2, peers=2000)))[0] == millis


def test_the_fastest_variant_counts_where_the_time_scale_is_varied() -> None:
    spec = experiment(hosts=20, peers=200, vary={"runtime.time_scale": [4, 2, 8]})
    assert _requests(render({}, spec))[0] == 59


def test_the_largest_variant_counts_where_the_number_of_peers_is_varied() -> None:
    cost = {"podCpuMillis": 10, "podMemoryMiB": 50, "peerCpuMillis": 0.5, "peerMemoryKiB": 512}
    varied = experiment(hosts=20, peers=20, vary={"peers": [20, 200, 40]})
    assert _requests(render({"peers": {"cost": cost}}, varied)) == (15, 55)


@pytest.mark.parametrize("begin", ['# Ümläute, "quotes", {{ braces }}\n', "\n  # spaces  \n\n#\ttab\n"])
def test_the_experiment_reaches_its_pods_unchanged(begin: str) -> None:
    text = begin + "peers: 10\nruntime:\n  kind: kubernetes\n  hosts: 2\n"
    manifests = render(spec=text)
    assert find(manifests, "ConfigMap", "demo-experiment")["data"]["experiment.yaml"] == text
    check = pod_templates(manifests)["demo-check"]
    assert check["metadata"]["annotations"]["trellis/experiment"] == text


def test_results_and_analysis_know_which_experiment_they_are_for() -> None:
    templates = pod_templates(render())
    for name in ("demo-results", "demo-analysis"):
        assert "--experiment=/etc/trellis-experiment/experiment.yaml" in container(templates[name])["command"]
        assert _mounts(templates[name])["/etc/trellis-experiment"]["readOnly"] is True


def test_the_claim_remembers_what_the_experiment_says_however_it_is_written() -> None:
    def digest(spec: str) -> str:
        claim = find(render(spec=spec), "PersistentVolumeClaim", "demo-results")
        return str(claim["metadata"]["annotations"]["trellis/experiment-digest"])

    text = "peers: 10\nruntime: {kind: kubernetes, hosts: 2}\n"
    assert digest(text) == digest("# the same\nruntime: {hosts: 2, kind: kubernetes}\npeers: 10\n")
    assert digest(text) != digest(text.replace("10", "11"))


def test_the_experiment_is_checked_before_anything_is_made() -> None:
    check = find(render(), "Job", "demo-check")
    assert "pre-install" in check["metadata"]["annotations"]["helm.sh/hook"]
    assert "serviceAccountName" not in check["spec"]["template"]["spec"]
    assert check["spec"]["backoffLimit"] == 0
    assert container(check["spec"]["template"])["terminationMessagePolicy"] == "FallbackToLogsOnError"


@pytest.mark.parametrize(
    "how", [{"runtime": {"churn": "pods"}}, {"vary": {"runtime.churn": ["peers", "pods"]}}]
)
def test_a_controller_comes_where_sessions_end_with_their_pods(how: dict[str, Any]) -> None:
    spec = experiment(hosts=20, peers=20)
    spec = {**spec, **how, "runtime": spec["runtime"] | how.get("runtime", {})}
    command = container(pod_templates(render(spec=spec))["demo-churn"])["command"]
    assert "--pods=demo-peers" in command


def test_there_is_no_controller_where_peers_stop_in_their_pods() -> None:
    assert "demo-churn" not in pod_templates(render())


def test_images_are_the_ones_that_the_values_name() -> None:
    images = {
        "emulator": "here/trellis-emulator:one",
        "analysis": "here/trellis-analysis:one",
        "collector": "here/collector@sha256:" + "0" * 64,
        "pullPolicy": "Always",
        "pullSecrets": ["key"],
    }
    spec = experiment(20, 20)
    spec["runtime"]["churn"] = "pods"
    templates = pod_templates(render({"images": images}, spec))
    used = {name: container(found)["image"] for name, found in templates.items()}
    gate = next(each for each in containers(templates["demo-collector"]) if each["name"] == "gate")
    assert gate["image"] == images["emulator"]
    assert used.pop("demo-analysis") == images["analysis"]
    assert used.pop("demo-collector") == images["collector"]
    assert set(used.values()) == {images["emulator"]}
    assert {container(found)["imagePullPolicy"] for found in templates.values()} == {"Always"}
    assert all(found["spec"]["imagePullSecrets"] == [{"name": "key"}] for found in templates.values())


def _mounts(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {mount["mountPath"]: mount for mount in container(found).get("volumeMounts", [])}


_USERS = {"demo-coordinator", "demo-collector", "demo-analysis", "demo-results", "demo-executor"}


def test_the_volume_is_where_results_are_made_and_nowhere_else() -> None:
    templates = pod_templates(render({"analysis": {"executors": {"count": 2}}}))
    users = {name for name, found in templates.items() if "/var/lib/trellis" in _mounts(found)}
    assert users == _USERS
    assert _mounts(templates["demo-results"])["/var/lib/trellis"]["readOnly"] is True


@pytest.mark.parametrize(("mode", "together"), [("ReadWriteOnce", True), ("ReadWriteMany", False)])
def test_pods_stay_on_one_node_where_only_one_can_mount_the_volume(mode: str, together: bool) -> None:
    values = {"storage": {"accessMode": mode}, "analysis": {"executors": {"count": 2}}}
    templates = pod_templates(render(values))
    bound = {name for name, found in templates.items() if "podAffinity" in found["spec"].get("affinity", {})}
    assert bound == (_USERS - {"demo-coordinator"} if together else set())


@pytest.mark.parametrize(
    ("storage", "expected"),
    [({}, None), ({"className": None}, None), ({"className": ""}, ""), ({"className": "fast"}, "fast")],
)
def test_the_storage_class_is_the_default_unless_named(storage: dict[str, Any], expected: str | None) -> None:
    claim = find(render({"storage": storage}), "PersistentVolumeClaim", "demo-results")
    assert claim["spec"].get("storageClassName") == expected
    assert ("storageClassName" in claim["spec"]) == (expected is not None)


def test_a_claim_that_is_there_is_used_and_none_is_made() -> None:
    manifests = render({"storage": {"existingClaim": "mine"}})
    assert not kinds(manifests, "PersistentVolumeClaim")
    volumes = [v for found in pod_templates(manifests).values() for v in found["spec"].get("volumes", [])]
    assert {v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v} == {
        "mine"
    }


def test_inputs_are_read_by_the_coordinator_and_the_check_alone() -> None:
    templates = pod_templates(render({"inputs": {"existingClaim": "traces"}}))
    readers = {
        name: _mounts(found)["/inputs"] for name, found in templates.items() if "/inputs" in _mounts(found)
    }
    assert set(readers) == {"demo-coordinator", "demo-check"}
    assert all(mount["readOnly"] is True for mount in readers.values())
    assert all(environment(templates[name])["TRELLIS_DATA"] == "/inputs" for name in readers)


def test_nothing_outlives_the_release_but_the_claim() -> None:
    values = {"analysis": {"executors": {"count": 2}}, "grafana": {"dashboard": True}}
    manifests = render(values)
    kept = [m for m in manifests if "helm.sh/resource-policy" in m["metadata"].get("annotations", {})]
    assert [(m["kind"], m["metadata"]["name"]) for m in kept] == [("PersistentVolumeClaim", "demo-results")]
    hooks = [m for m in manifests if "helm.sh/hook" in m["metadata"].get("annotations", {})]
    assert {m["metadata"]["name"] for m in hooks} == {"demo-check", "demo-test"}
    for hook in hooks:
        assert "hook-succeeded" in hook["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert hook["spec"]["ttlSecondsAfterFinished"] <= 600


_EVERYTHING = {
    "trust": {"existingSecret": "made-by-hand"},
    "analysis": {"executors": {"count": 2}},
    "grafana": {"dashboard": True},
    "telemetry": {"forward": {"endpoint": "tempo:4317"}},
}


@pytest.mark.parametrize("name", ["true", "null"])
def test_a_release_may_have_a_name_that_yaml_takes_for_something_else(name: str) -> None:
    spec = experiment()
    spec["runtime"]["churn"] = "pods"

    def read(release: str) -> str:
        manifests = render(_EVERYTHING, spec, release)
        for data in (each["data"] for each in kinds(manifests, "ConfigMap")):
            data |= {file: load(text) for file, text in data.items() if file.endswith(".yaml")}
        return json.dumps(manifests)

    assert read(name) == read("demo").replace("demo", name)


@pytest.mark.parametrize("other", ["demo-peers", "demo-peers-0", "demo-0", "other"])
def test_two_releases_share_no_object_and_no_pod(other: str) -> None:
    spec = experiment(2001, 2001)
    spec["runtime"]["churn"] = "pods"
    taken: list[set[tuple[str, str]]] = []
    for release in ("demo", other):
        manifests = render(_EVERYTHING, spec, release)
        names = {(m["kind"], m["metadata"]["name"]) for m in manifests}
        pods = {
            ("Pod", f"{m['metadata']['name']}-{ordinal}")
            for m in kinds(manifests, "StatefulSet")
            for ordinal in range(m["spec"]["replicas"])
        }
        assert len(names) == len(manifests)
        assert all(name == release or name.startswith(f"{release}-") for _, name in names)
        taken.append(names | pods)
        for found in (*kinds(manifests, "Service"), *kinds(manifests, "NetworkPolicy")):
            wanted = found["spec"].get("selector") or found["spec"]["podSelector"]["matchLabels"]
            assert wanted["app.kubernetes.io/instance"] == release
    assert not taken[0] & taken[1]


def test_executors_are_made_only_when_asked_for() -> None:
    alone = render()
    assert not any(
        "executors" in part for part in container(pod_templates(alone)["demo-analysis"])["command"]
    )
    driver = pod_templates(render({"analysis": {"executors": {"count": 3, "memory": "2Gi"}}}))[
        "demo-analysis"
    ]
    assert "--executors=3" in container(driver)["command"]
    assert environment(driver)["TRELLIS_EXECUTOR_MEMORY"] == "2Gi"


@pytest.mark.parametrize("scrape", [True, False])
def test_prometheus_is_told_of_coordinator_gate_and_results_unless_it_is_not_wanted(scrape: bool) -> None:
    templates = pod_templates(render({"prometheus": {"scrape": scrape}}))
    for name in ("demo-coordinator", "demo-collector", "demo-results"):
        told = templates[name]["metadata"]["annotations"].get("prometheus.io/port")
        assert told == ("9100" if scrape else None)


def test_metrics_of_the_results_are_of_the_release() -> None:
    results = pod_templates(render())["demo-results"]
    assert environment(results) == {"TRELLIS_RELEASE": "demo"}
    assert "--metrics=*:9100" in container(results)["command"]


@pytest.mark.parametrize("wanted", [True, False])
def test_dashboards_are_given_to_grafana_when_asked_for(wanted: bool) -> None:
    files = {path.name for path in (CHART / "dashboards").glob("*.json")}
    found = [
        m
        for m in kinds(render({"grafana": {"dashboard": wanted}}), "ConfigMap")
        if "grafana_dashboard" in m["metadata"]["labels"]
    ]
    given = set().union(*(m["data"] for m in found)) if found else set()
    assert given == (files if wanted else set())


def test_peers_alone_may_be_sent_to_nodes_of_their_own() -> None:
    toleration = {"key": "peers", "operator": "Exists"}
    values = {
        "nodeSelector": {"zone": "a"},
        "peers": {"nodeSelector": {"pool": "peers"}, "tolerations": [toleration]},
    }
    manifests = render(values)
    peers = {m["metadata"]["name"] for m in _peer_sets(manifests)}
    for name, pod in pod_templates(manifests).items():
        asked = pod["spec"]
        if name in peers:
            assert asked["nodeSelector"] == {"zone": "a", "pool": "peers"}
            assert asked["tolerations"] == [toleration]
        else:
            assert asked["nodeSelector"] == {"zone": "a"}
            assert "tolerations" not in asked


@pytest.mark.parametrize("release", ["y", "no", "on", "off", "true", "null", "nan"])
@pytest.mark.parametrize("executors", [0, 2])
def test_a_release_whose_name_yaml_reads_as_something_else_is_rendered_with_its_name(
    release: str, executors: int
) -> None:
    def names(part: Any, key: str = "") -> list[tuple[str, Any]]:
        if isinstance(part, dict):
            return [found for inner, value in part.items() for found in names(value, str(inner))]
        if isinstance(part, list):
            return [found for value in part for found in names(value, key)]
        return [(key, part)] if "name" in key.lower() or key.startswith("app.") else []

    found = names(render({"analysis": {"executors": {"count": executors}}}, release=release))
    assert ("app.kubernetes.io/instance", release) in found
    assert [each for each in found if not isinstance(each[1], str)] == []
