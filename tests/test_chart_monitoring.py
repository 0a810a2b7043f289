"""The objects for the Prometheus operator: asked for alone, found by labels, and about this release."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import Refused, containers, find, kinds, needs_helm, pod_templates, render

pytestmark = needs_helm
BOTH: dict[str, Any] = {"prometheus": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}}}
VIRTUAL: dict[str, Any] = {"name": "test", "peers": 10, "runtime": {"kind": "virtual"}}


def test_a_cluster_without_the_operator_gets_none_of_its_kinds() -> None:
    assert not [manifest for manifest in render() if manifest["apiVersion"].startswith("monitoring")]


@pytest.mark.parametrize(("kind", "value"), [("PodMonitor", "podMonitor"), ("PrometheusRule", "rules")])
def test_each_kind_is_made_alone_with_the_labels_by_which_it_is_found(kind: str, value: str) -> None:
    labels = {"release": "kube-prometheus-stack", "app.kubernetes.io/component": "other"}
    made = render({"prometheus": {value: {"enabled": True, "labels": labels}}})
    assert [m["kind"] for m in made if m["apiVersion"].startswith("monitoring")] == [kind]
    found = find(made, kind, "demo")["metadata"]["labels"]
    assert (found["release"], found["app.kubernetes.io/component"]) == ("kube-prometheus-stack", "metrics")


@pytest.mark.parametrize(
    ("spec", "names"),
    [(None, {"demo-coordinator", "demo-collector", "demo-results"}), (VIRTUAL, {"demo-results"})],
    ids=["pods", "virtual"],
)
def test_the_monitor_finds_the_pods_that_have_metrics_and_no_others(
    spec: dict[str, Any] | None, names: set[str]
) -> None:
    manifests = render(BOTH, spec)
    monitor = find(manifests, "PodMonitor", "demo")["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    (expression,) = monitor["selector"]["matchExpressions"]
    assert expression["operator"] == "In"
    found = {
        name: template
        for name, template in pod_templates(manifests).items()
        if monitor["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        and template["metadata"]["labels"][expression["key"]] in expression["values"]
    }
    assert found.keys() == names
    for template in found.values():
        ports = {
            port["name"]: port["containerPort"] for each in containers(template) for port in each["ports"]
        }
        assert ports[endpoint["port"]] == 9100


def test_the_monitor_scrapes_as_often_as_it_is_told_to() -> None:
    monitor = {"podMonitor": {"enabled": True, "interval": "5s"}}
    (endpoint,) = kinds(render({"prometheus": monitor}), "PodMonitor")[0]["spec"]["podMetricsEndpoints"]
    assert endpoint["interval"] == "5s"
    (endpoint,) = kinds(render(BOTH), "PodMonitor")[0]["spec"]["podMetricsEndpoints"]
    assert "interval" not in endpoint


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"podMonitor": {"enabled": "yes"}}, "prometheus.podMonitor.enabled"),
        ({"podMonitor": {"interval": "often"}}, "prometheus.podMonitor.interval"),
        ({"rules": {"labels": {"release": 1}}}, "prometheus.rules.labels.release"),
        ({"rule": {"enabled": True}}, "rule"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(values: dict[str, Any], place: str) -> None:
    with pytest.raises(Refused) as refused:
        render({"prometheus": values})
    assert place.replace(".", "/") in str(refused.value)
