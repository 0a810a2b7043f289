"""What pods of a release may do: users, capabilities, rights at the API, and who may talk to whom."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import (
    Manifest,
    container,
    containers,
    environment,
    experiment,
    find,
    kinds,
    needs_helm,
    pod_templates,
    render,
)

pytestmark = needs_helm


def _on_pods(hosts: int = 20) -> dict[str, Any]:
    spec = experiment(hosts, hosts)
    spec["runtime"]["churn"] = "pods"
    return spec


_EXECUTORS: dict[str, Any] = {"analysis": {"executors": {"count": 2}}}
_NETEM: dict[str, Any] = {"netem": {"enabled": True}}
_ALL_VALUES: list[dict[str, Any]] = [{}, _EXECUTORS, _NETEM, _NETEM | _EXECUTORS]


@pytest.mark.parametrize("values", _ALL_VALUES)
def test_no_pod_can_write_its_image_or_gain_rights(values: dict[str, Any]) -> None:
    templates = pod_templates(render(values, _on_pods()))
    assert {"demo-churn", "demo-check", "demo-test", "demo-peers-0"} <= set(templates)
    for found in templates.values():
        for security in (each["securityContext"] for each in containers(found)):
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"]["drop"] == ["ALL"]
            assert not security.get("privileged")
        assert found["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(found["spec"])
        assert not any("hostPath" in volume for volume in found["spec"].get("volumes", []))


@pytest.mark.parametrize("values", _ALL_VALUES)
def test_only_peers_that_use_netem_are_root_and_have_a_capability(values: dict[str, Any]) -> None:
    roots, capable = set(), {}
    for name, found in pod_templates(render(values, _on_pods())).items():
        if found["spec"]["securityContext"].get("runAsNonRoot") is not True:
            roots.add(name)
        if "add" in container(found)["securityContext"]["capabilities"]:
            capable[name] = container(found)["securityContext"]["capabilities"]["add"]
    netem = "netem" in values
    assert roots == ({"demo-peers-0"} if netem else set())
    assert capable == ({"demo-peers-0": ["NET_ADMIN"]} if netem else {})


@pytest.mark.parametrize("netem", [True, False])
def test_peers_are_told_of_netem_only_where_they_may_use_it(netem: bool) -> None:
    told = environment(pod_templates(render({"netem": {"enabled": netem}}))["demo-peers-0"])
    assert told.get("TRELLIS_NETEM") == ("1" if netem else None)


def _rights(manifests: list[Manifest]) -> dict[str, list[dict[str, Any]]]:
    return {role["metadata"]["name"]: role["rules"] for role in kinds(manifests, "Role")}


def _rights_of_others(manifests: list[Manifest]) -> dict[str, list[dict[str, Any]]]:
    rights = _rights(manifests)
    del rights["demo-coordinator"]
    return rights


def test_without_executors_and_pod_churn_the_coordinator_alone_may_see_itself_and_its_peers() -> None:
    manifests = render(spec=experiment(hosts=2))
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        assert not kinds(manifests, kind)
    own = {
        "apiGroups": [""],
        "resources": ["pods"],
        "verbs": ["get"],
        "resourceNames": ["demo-coordinator-0", "demo-peers-0-0", "demo-peers-0-1"],
    }
    events = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
    assert _rights(manifests) == {"demo-coordinator": [own, events]}


def test_the_controller_may_delete_the_pods_of_its_peers_alone() -> None:
    rights = _rights_of_others(render(spec=_on_pods(1002)))
    watch, delete = rights.pop("demo-churn")
    assert not rights
    assert (
        (watch["apiGroups"], watch["resources"])
        == ([""], ["pods"])
        == (delete["apiGroups"], delete["resources"])
    )
    assert sorted(watch["verbs"]) == ["get", "list", "watch"]
    assert delete["verbs"] == ["delete"]
    names = delete["resourceNames"]
    assert len(names) == len(set(names)) == 1002
    assert {names[0], names[999], names[1000], names[1001]} == {
        "demo-peers-0-0", "demo-peers-0-999", "demo-peers-1-0", "demo-peers-1-1"
    }  # fmt: skip


def test_the_driver_of_executors_may_manage_pods_and_nothing_else() -> None:
    assert _rights_of_others(render(_EXECUTORS)) == {
        "demo-analysis": [
            {
                "apiGroups": [""],
                "resources": ["pods"],
                "verbs": ["get", "list", "watch", "create", "delete", "deletecollection"],
            }
        ]
    }


@pytest.mark.parametrize(
    ("values", "spec", "with_token"),
    [
        ({}, experiment(), set()),
        (_EXECUTORS, experiment(), {"demo-analysis"}),
        ({}, _on_pods(), {"demo-churn"}),
        (_EXECUTORS | _NETEM, _on_pods(), {"demo-churn", "demo-analysis"}),
    ],
)
def test_only_pods_that_use_the_api_have_credentials(
    values: dict[str, Any], spec: dict[str, Any], with_token: set[str]
) -> None:
    manifests = render(values, spec)
    templates = pod_templates(manifests)
    told = {name: found["spec"]["automountServiceAccountToken"] for name, found in templates.items()}
    with_token = with_token | {"demo-coordinator"}
    assert {name for name, mounted in told.items() if mounted} == with_token
    bound = {s["name"] for b in kinds(manifests, "RoleBinding") for s in b["subjects"]}
    assert bound == with_token
    for name, found in templates.items():
        account = found["spec"].get("serviceAccountName")
        assert account == (name if name in with_token else None if name == "demo-check" else "demo")


def _component(selector: dict[str, Any]) -> str:
    labels = selector["podSelector"]["matchLabels"]
    assert labels["app.kubernetes.io/instance"] == "demo"
    return str(labels["app.kubernetes.io/component"])


def _flows(manifests: list[Manifest]) -> tuple[set[tuple[str, str, int]], set[tuple[str, str, int]]]:
    """Return (from, to, port) that are let out, and that are let in; "*" for anywhere, port 0 for all of
    them."""
    let_out, let_in = set(), set()
    for policy in kinds(manifests, "NetworkPolicy"):
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        own = policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policy["spec"]["egress"]:
            for port in rule.get("ports", [{"port": 0}]):
                for to in rule.get("to", [None]):
                    let_out.add((own, _component(to) if to else "*", port["port"]))
        for rule in policy["spec"]["ingress"]:
            for port in rule.get("ports", [{"port": 0}]):
                for source in rule.get("from", [None]):
                    let_in.add((_component(source) if source else "*", own, port["port"]))
    return let_out, let_in


_FLOWS = {("peers", "peers", 7001), ("peers", "coordinator", 7000), ("peers", "collector", 4317)}
_TESTED = {
    ("test", "results", 8080),
    ("test", "results", 9100),
    ("test", "coordinator", 9100),
    ("test", "collector", 4317),
    ("test", "collector", 9100),
}
_CHURN = {("churn", "coordinator", 7000), ("churn", "collector", 4317)}
_SPARK = {("analysis", "executor", 0), ("executor", "analysis", 0), ("executor", "executor", 0)}
_API = {("coordinator", "*", 443), ("coordinator", "*", 6443)}


@pytest.mark.parametrize(
    ("values", "spec", "flows", "outside"),
    [
        ({}, experiment(), _FLOWS, set()),
        ({}, _on_pods(), _FLOWS | _CHURN, {("churn", "*", 443), ("churn", "*", 6443)}),
        (_EXECUTORS, experiment(), _FLOWS | _SPARK, {("analysis", "*", 443), ("analysis", "*", 6443)}),
        (
            {"telemetry": {"forward": {"endpoint": "tempo:9999"}}},
            experiment(),
            _FLOWS,
            {("collector", "*", 9999)},
        ),
    ],
)
def test_only_the_flows_that_there_are_pass(
    values: dict[str, Any],
    spec: dict[str, Any],
    flows: set[tuple[str, str, int]],
    outside: set[tuple[str, str, int]],
) -> None:
    let_out, let_in = _flows(render(values, spec))
    assert {flow for flow in let_out if flow[2] != 53} == flows | _TESTED | _API | outside
    assert let_in == flows | _TESTED


def test_peers_may_echo_over_udp_too() -> None:
    policy = find(render(), "NetworkPolicy", "demo-peers")
    (rule,) = policy["spec"]["ingress"]
    assert {(port["port"], port["protocol"]) for port in rule["ports"]} == {(7001, "TCP"), (7001, "UDP")}


@pytest.mark.parametrize(
    ("value", "component", "port"),
    [
        ("prometheus", "coordinator", 9100),
        ("prometheus", "collector", 9100),
        ("prometheus", "results", 9100),
        ("results", "results", 8080),
    ],
)
def test_metrics_and_results_are_open_to_those_that_ask_for_them_alone(
    value: str, component: str, port: int
) -> None:
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    for asked in ([], [peer]):
        policy = find(render({value: {"from": asked}}), "NetworkPolicy", f"demo-{component}")
        (rule,) = [r for r in policy["spec"]["ingress"] if r["ports"][0]["port"] == port]
        assert [source for source in rule["from"] if "namespaceSelector" in source] == asked
        assert len(rule["from"]) == len(asked) + 1, "the test of the release"


def test_every_pod_of_a_running_release_is_under_a_policy() -> None:
    manifests = render(_EXECUTORS, _on_pods())
    governed = {
        p["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for p in kinds(manifests, "NetworkPolicy")
    }
    components = {
        found["metadata"]["labels"]["app.kubernetes.io/component"]
        for found in pod_templates(manifests).values()
    }
    assert components - governed == {"check"}, "the check runs before policies are made"


@pytest.mark.parametrize(("hosts", "most"), [(1, 102), (20, 140), (3000, 6100)])
def test_programs_that_hosts_call_take_connections_by_the_number_of_hosts(hosts: int, most: int) -> None:
    templates = pod_templates(render(spec=experiment(hosts, max(hosts, 2))))
    commands = [
        each["command"]
        for name in ("demo-coordinator", "demo-collector", "demo-peers-0")
        for each in containers(templates[name])
        if "command" in each
    ]
    assert len(commands) == 3
    assert all(f"--connections={most}" in command for command in commands)


def test_policies_can_be_left_out() -> None:
    assert not kinds(render({"networkPolicies": {"enabled": False}}), "NetworkPolicy")
