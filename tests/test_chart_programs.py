"""How a release has its programs tell of themselves: spans to a Collector, and logs as JSON."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from chart_rendering import (
    Manifest,
    Refused,
    containers,
    experiment,
    find,
    kinds,
    needs_helm,
    pod_templates,
    render,
    template,
)

pytestmark = needs_helm

ON: dict[str, Any] = {"telemetry": {"programs": {"enabled": True}}}
ELSEWHERE: dict[str, Any] = {
    "telemetry": {"programs": {"enabled": True, "endpoint": "http://tempo.monitoring:4318"}}
}
TLS: dict[str, Any] = {"trust": {"tls": {"enabled": True, "existingSecret": "mine"}}}
TELLING = {"coordinator", "peers", "churn", "gate", "results", "analysis"}
"""The containers of programs that tell of themselves."""


def _on_pods() -> dict[str, Any]:
    spec = experiment(3, 3)
    spec["runtime"]["churn"] = "pods"
    return spec


def _told(manifests: list[Manifest]) -> dict[str, dict[str, Any]]:
    """Return the environment of each container."""
    return {
        each["name"]: {
            entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in each.get("env", [])
        }
        for pod in pod_templates(manifests).values()
        for each in containers(pod)
    }


def _ports(manifests: list[Manifest], component: str) -> set[int]:
    """Return the ports that pods of this component may reach."""
    rules = find(manifests, "NetworkPolicy", f"demo-{component}")["spec"]["egress"]
    return {port["port"] for rule in rules for port in rule.get("ports", [])}


def _collector(manifests: list[Manifest]) -> Any:
    return yaml.safe_load(find(manifests, "ConfigMap", "demo-collector")["data"]["config.yaml"])


def test_by_default_nothing_is_told_and_no_key_is_made() -> None:
    manifests = render(spec=_on_pods())
    for told in _told(manifests).values():
        assert not [name for name in told if name.startswith("OTEL_")]
        assert "TRELLIS_LOG_FORMAT" not in told
    assert "programs" not in find(manifests, "Secret", "demo-trust")["data"]
    assert set(_collector(manifests)["service"]["pipelines"]) == {"traces/files", "metrics/files"}


def test_all_programs_tell_the_collector_who_they_are() -> None:
    told = _told(render(ON, _on_pods()))
    assert {name for name, variables in told.items() if "OTEL_EXPORTER_OTLP_ENDPOINT" in variables} == TELLING
    for name in TELLING:
        where = "http://127.0.0.1:4315" if name == "gate" else "http://demo-collector:4317"
        assert told[name]["OTEL_EXPORTER_OTLP_ENDPOINT"] == where
        attributes = dict(each.split("=") for each in told[name]["OTEL_RESOURCE_ATTRIBUTES"].split(","))
        assert attributes["k8s.container.name"] == name and attributes["service.namespace"] == "demo"
        for variable in re.findall(r"\$\((\w+)\)", told[name]["OTEL_RESOURCE_ATTRIBUTES"]):
            assert "fieldRef" in told[name][variable]


def test_variables_stand_after_those_that_they_are_made_of() -> None:
    for pod in pod_templates(render(ON, _on_pods())).values():
        for each in containers(pod):
            names = [entry["name"] for entry in each.get("env", [])]
            if "OTEL_RESOURCE_ATTRIBUTES" in names:
                of = [names.index(name) for name in names if name.startswith("K8S_")]
                assert len(of) == 4 and max(of) < names.index("OTEL_RESOURCE_ATTRIBUTES")


@pytest.mark.parametrize("opened", [False, True])
def test_each_program_is_given_the_token_for_it_as_a_file(opened: bool) -> None:
    manifests = render(ON | {"results": {"open": opened}}, _on_pods())
    assert "programs" in find(manifests, "Secret", "demo-trust")["data"]
    told = _told(manifests)
    for name in TELLING - {"gate"}:
        assert told[name]["TRELLIS_PROGRAMS_TOKEN_FILE"] == "/etc/trellis-trust/programs"
    for name, pod in pod_templates(manifests).items():
        volumes = [v for v in pod["spec"].get("volumes", []) if v["name"] == "trust"]
        keys = {item["key"] for volume in volumes for item in volume["secret"]["items"]}
        mounted = any(m["name"] == "trust" for each in containers(pod) for m in each.get("volumeMounts", []))
        assert mounted is bool(volumes), name
        telling = TELLING & {each["name"] for each in containers(pod)}
        assert ("programs" in keys) is bool(telling), name


def test_with_tls_programs_show_the_certificate() -> None:
    manifests = render(ON | TLS, _on_pods())
    told = _told(manifests)
    for name in TELLING - {"gate"}:
        assert told[name]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "https://demo-collector:4317"
        assert told[name]["TRELLIS_CERTIFICATES"] == "/etc/trellis-tls"
    for name, pod in pod_templates(manifests).items():
        if TELLING & {each["name"] for each in containers(pod)}:
            assert any(v["name"] == "tls" for v in pod["spec"]["volumes"]), name


@pytest.mark.parametrize("forward", ["", "tempo.monitoring:4317"])
def test_the_collector_keeps_what_programs_tell_apart_from_trials(forward: str) -> None:
    values = {"telemetry": {"programs": {"enabled": True}, "forward": {"endpoint": forward}}}
    config = _collector(render(values, _on_pods()))
    pipelines = config["service"]["pipelines"]
    assert pipelines["traces/programs"]["exporters"] == ["file/programs"]
    assert ("traces/programs-forward" in pipelines) is bool(forward)
    for name, pipeline in pipelines.items():
        of_programs = name.startswith("traces/programs")
        assert pipeline["receivers"] == (["otlp/programs"] if of_programs else ["otlp"])
        assert set(pipeline["exporters"]) <= set(config["exporters"])
    kept = config["exporters"]["file/programs"]
    assert "/trials/" not in kept["path"] and kept["rotation"]["max_backups"] == 1
    assert config["receivers"]["otlp/programs"]["protocols"]["grpc"]["endpoint"].startswith("127.0.0.1:")


@pytest.mark.parametrize("forward", ["", "tempo.monitoring:4317"])
def test_logs_are_sent_and_kept_beside_spans_where_they_are_asked_for(forward: str) -> None:
    values = {"telemetry": {"programs": {"enabled": True, "logs": True}, "forward": {"endpoint": forward}}}
    manifests = render(values, _on_pods())
    told = _told(manifests)
    assert {name for name, of in told.items() if of.get("OTEL_LOGS_EXPORTER") == "otlp"} == TELLING
    config = _collector(manifests)
    pipelines = config["service"]["pipelines"]
    assert ("logs/programs-forward" in pipelines) is bool(forward)
    for signal in ("traces", "logs"):
        (exporter,) = pipelines[f"{signal}/programs"]["exporters"]
        assert config["exporters"][exporter]["path"] == f"/var/lib/trellis/programs/{signal}.otlp"
        assert config["exporters"][exporter]["rotation"]["max_backups"] == 1
        assert pipelines[f"{signal}/programs"]["receivers"] == ["otlp/programs"]


def test_logs_are_not_sent_unless_asked_for_and_not_without_spans() -> None:
    manifests = render(ON, _on_pods())
    assert not [name for name, of in _told(manifests).items() if "OTEL_LOGS_EXPORTER" in of]
    assert not [name for name in _collector(manifests)["service"]["pipelines"] if name.startswith("logs")]
    with pytest.raises(Refused, match=r"telemetry\.programs\.logs needs telemetry\.programs\.enabled"):
        template({"telemetry": {"programs": {"logs": True}}}, _on_pods())


def test_policies_let_programs_reach_the_collector_and_nothing_more() -> None:
    before, after = render(spec=_on_pods()), render(ON, _on_pods())
    for component in ("coordinator", "results", "analysis"):
        assert 4317 not in _ports(before, component)
        assert _ports(after, component) == _ports(before, component) | {4317, 53}
    rules = find(after, "NetworkPolicy", "demo-collector")["spec"]["ingress"]
    (rule,) = [each for each in rules if each["ports"][0]["port"] == 4317]
    senders = {p["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for p in rule["from"]}
    assert senders == {"peers", "test", "churn", "coordinator", "results", "analysis"}


def test_another_endpoint_gets_no_token_and_is_reached_by_all() -> None:
    manifests = render(ELSEWHERE, _on_pods())
    told = _told(manifests)
    for name in TELLING:
        assert told[name]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://tempo.monitoring:4318"
        assert "TRELLIS_PROGRAMS_TOKEN_FILE" not in told[name]
    assert "programs" not in find(manifests, "Secret", "demo-trust")["data"]
    for component in ("coordinator", "peers", "churn", "collector", "results", "analysis"):
        assert 4318 in _ports(manifests, component), component


def test_an_experiment_on_the_virtual_clock_needs_an_endpoint() -> None:
    spec = {"name": "test", "peers": 20}
    with pytest.raises(Refused, match=r"telemetry\.programs\.endpoint"):
        template(ON, spec)
    told = _told(render(ELSEWHERE, spec))
    assert told["analysis"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://tempo.monitoring:4318"


@pytest.mark.parametrize(
    "endpoint", ["tempo:4317", "http://tempo", "http://tempo:4317/v1/traces", "ftp://tempo:1"]
)
def test_an_endpoint_has_a_scheme_and_a_port(endpoint: str) -> None:
    with pytest.raises(Refused, match="endpoint"):
        template({"telemetry": {"programs": {"enabled": True, "endpoint": endpoint}}})


def test_logs_are_json_where_values_ask_for_it() -> None:
    told = _told(render({"logs": {"format": "json"}}, _on_pods()))
    assert {
        name for name, variables in told.items() if variables.get("TRELLIS_LOG_FORMAT") == "json"
    } == TELLING
    with pytest.raises(Refused, match="format"):
        template({"logs": {"format": "xml"}})


def test_a_secret_of_ones_own_is_used_for_the_token() -> None:
    manifests = render(ON | {"trust": {"existingSecret": "mine"}}, _on_pods())
    assert not kinds(manifests, "Secret")
