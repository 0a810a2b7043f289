"""The secrets of a release: which pod is given which, and by what way."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from chart_rendering import (
    CHART,
    Manifest,
    Refused,
    containers,
    experiment,
    find,
    kinds,
    needs_helm,
    pod_templates,
    render,
)

pytestmark = needs_helm
_VALUES = (CHART / "values.yaml").read_text()
_KEYS = {"token", "churn", "collector", "results"}
_TLS = {"trust": {"tls": {"enabled": True, "existingSecret": "mine"}}}


def _on_pods() -> dict[str, Any]:
    spec = experiment(3, 3)
    spec["runtime"]["churn"] = "pods"
    return spec


def _given(template: Manifest) -> set[str]:
    """Return keys of the release's Secret that a pod mounts."""
    volumes = [v for v in template["spec"].get("volumes", []) if v["name"] == "trust"]
    return {item["key"] for volume in volumes for item in volume["secret"]["items"]}


def test_every_pod_is_given_the_keys_that_it_needs_and_no_other() -> None:
    templates = pod_templates(render({"analysis": {"executors": {"count": 2}}}, _on_pods()))
    given = {name: keys for name, found in templates.items() if (keys := _given(found))}
    assert given == {
        "demo-coordinator": {"token", "churn", "collector"},
        "demo-peers-0": {"token"},
        "demo-churn": {"churn"},
        "demo-collector": {"collector"},
        "demo-results": {"results"},
    }


def test_two_installations_have_different_secrets() -> None:
    first, second = (find(render(), "Secret", "demo-trust")["data"] for _ in range(2))
    assert set(first) == set(second) == _KEYS
    values = [base64.b64decode(value) for value in (*first.values(), *second.values())]
    assert len(set(values)) == 2 * len(_KEYS)
    assert min(map(len, values)) >= 32


def test_no_secret_is_in_a_command_an_environment_or_anything_else_but_the_secret() -> None:
    manifests = render(spec=_on_pods())
    (secret,) = kinds(manifests, "Secret")
    rest = json.dumps([m for m in manifests if m is not secret])
    for value in secret["data"].values():
        assert value not in rest and base64.b64decode(value).decode() not in rest
    for template in pod_templates(manifests).values():
        for each in containers(template):
            assert not any("secretKeyRef" in json.dumps(entry) for entry in each.get("env", []))
            assert "envFrom" not in each


def test_a_secret_that_is_there_is_used_and_none_is_made() -> None:
    manifests = render({"trust": {"existingSecret": "mine"}}, _on_pods())
    assert not kinds(manifests, "Secret")
    named = {
        volume["secret"]["secretName"]
        for template in pod_templates(manifests).values()
        for volume in template["spec"].get("volumes", [])
        if volume["name"] == "trust"
    }
    assert named == {"mine"}


def test_the_secret_of_the_recipe_for_gitops_has_every_key_that_pods_mount() -> None:
    tracing = {"telemetry": {"programs": {"enabled": True}}, "trust": {"existingSecret": "trellis-trust"}}
    mounted = set().union(*map(_given, pod_templates(render(tracing, _on_pods())).values()))
    recipe = (CHART.parent.parent / "docs" / "kubernetes.md").read_text()
    assert set(re.findall(r"--from-literal=(\w+)=", recipe)) == mounted
    (comment,) = re.findall(r"# A Secret with the keys (token(?:.|\n)*?)\n  existingSecret", _VALUES)
    assert all(key in comment for key in mounted)


def test_results_may_be_opened() -> None:
    results = pod_templates(render({"results": {"open": True}}))["demo-results"]
    assert not _given(results)
    assert not any("--token" in part for part in containers(results)[0]["command"])


def test_telemetry_comes_in_by_the_gate_alone() -> None:
    manifests = render()
    config = find(manifests, "ConfigMap", "demo-collector")["data"]["config.yaml"]
    assert "endpoint: 127.0.0.1:4316" in config and "4317" not in config
    ports = {
        port["containerPort"]: each["name"]
        for each in containers(pod_templates(manifests)["demo-collector"])
        for port in each["ports"]
    }
    assert ports[4317] == "gate"


@pytest.mark.parametrize("with_tls", [True, False])
def test_pods_that_talk_to_each_other_have_certificates_where_they_are_asked_for(with_tls: bool) -> None:
    templates = pod_templates(render(_TLS if with_tls else {}, _on_pods()))
    having = {
        name
        for name, found in templates.items()
        if any(volume["name"] == "tls" for volume in found["spec"].get("volumes", []))
    }
    talking = {"demo-coordinator", "demo-peers-0", "demo-churn", "demo-collector"}
    assert having == (talking if with_tls else set())
    told = [each for name in talking for each in containers(templates[name]) if each["name"] != "collector"]
    for each in told:
        environment = {entry["name"]: entry.get("value") for entry in each.get("env", [])}
        assert environment.get("TRELLIS_CERTIFICATES") == ("/etc/trellis-tls" if with_tls else None)
        assert environment.get("TRELLIS_CERTIFICATE_NAME") == ("demo.default.svc" if with_tls else None)
    assert f"http{'s' if with_tls else ''}://demo-collector:4317" in json.dumps(templates["demo-peers-0"])


def test_cert_manager_is_asked_for_a_certificate_where_it_is_to_make_one() -> None:
    tls = {"enabled": True, "issuer": {"name": "authority", "kind": "ClusterIssuer"}}
    manifests = render({"trust": {"tls": tls}})
    spec = find(manifests, "Certificate", "demo-pods")["spec"]
    assert spec["secretName"] == "demo-tls" and spec["dnsNames"] == ["demo.default.svc"]
    assert spec["issuerRef"] == {"name": "authority", "kind": "ClusterIssuer", "group": "cert-manager.io"}
    assert not kinds(render(_TLS), "Certificate")


@pytest.mark.parametrize("more", [{}, {"existingSecret": "mine", "issuer": {"name": "authority"}}])
def test_tls_without_one_source_of_certificates_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"trust\.tls"):
        render({"trust": {"tls": {"enabled": True, **more}}})


def test_metrics_can_be_forwarded() -> None:
    (coordinator,) = containers(pod_templates(render())["demo-coordinator"])
    assert "--metrics=*:9100" in coordinator["command"], "what is forwarded comes by the loopback"
