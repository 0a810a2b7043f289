"""What the chart refuses before anything is made, and what it says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from chart_rendering import CHART, Refused, arguments, experiment, helm, load, needs_helm, render
from jsonschema import Draft7Validator

pytestmark = needs_helm


def _refusal(
    values: dict[str, Any] | None = None, spec: dict[str, Any] | str | None = None, **how: str
) -> str:
    with pytest.raises(Refused) as refused:
        render(values, spec, **how)
    return str(refused.value)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"netem": {"enabled": "yes"}}, "netem.enabled"),
        ({"netem": True}, "netem"),
        ({"images": {"emulator": 5}}, "images.emulator"),
        ({"images": {"emulator": "two words"}}, "images.emulator"),
        ({"images": {"pullPolicy": "Sometimes"}}, "images.pullPolicy"),
        ({"images": {"pullSecrets": "key"}}, "images.pullSecrets"),
        ({"analysis": {"executors": {"count": "2"}}}, "analysis.executors.count"),
        ({"analysis": {"executors": {"count": -1}}}, "analysis.executors.count"),
        ({"analysis": {"executors": {"count": 1.5}}}, "analysis.executors.count"),
        ({"analysis": {"resources": {"limits": {"memory": 4}}}}, "analysis.resources.limits.memory"),
        ({"collector": {"resources": {"requests": {"cpu": "lots"}}}}, "collector.resources.requests.cpu"),
        ({"storage": {"size": "ten"}}, "storage.size"),
        ({"storage": {"accessMode": "ReadOnlyMany"}}, "storage.accessMode"),
        ({"storage": {"className": 1}}, "storage.className"),
        ({"telemetry": {"forward": {"endpoint": "http://tempo:4317"}}}, "telemetry.forward.endpoint"),
        ({"telemetry": {"forward": {"sample": 0}}}, "telemetry.forward.sample"),
        ({"telemetry": {"forward": {"sample": 10}}}, "telemetry.forward.sample"),
        ({"telemetry": {"forward": {"sample": "10 %"}}}, "telemetry.forward.sample"),
        ({"peers": {"cost": {"podMemoryMiB": "48Mi"}}}, "peers.cost.podMemoryMiB"),
        ({"peers": {"gracePeriodSeconds": 3600}}, "peers.gracePeriodSeconds"),
        ({"churn": {"rate": 0}}, "churn.rate"),
        ({"tolerations": {"key": "x"}}, "tolerations"),
        ({"nodeSelector": {"disk": 1}}, "nodeSelector.disk"),
        ({"labels": {"team": "two words"}}, "labels.team"),
        ({"annotations": {"paid": True}}, "annotations.paid"),
        ({"priorityClassName": "Not A Name"}, "priorityClassName"),
        ({"results": {"from": [{}]}}, "results.from.0"),
        ({"prometheus": {"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}}, "prometheus.from.0.ipBlock.cidr"),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "podAffinity",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(values: dict[str, Any], place: str) -> None:
    said = _refusal(values)
    assert place in said.replace("/", ".")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"netms": {"enabled": True}}, "netms"),
        ({"netem": {"enable": True}}, "enable"),
        ({"storage": {"storageClass": "fast"}}, "storageClass"),
        ({"coordinator": {"replicas": 2}}, "replicas"),
        ({"analysis": {"executors": {"number": 2}}}, "number"),
        ({"results": {"from": [{"namespaceSelector": {"matchLables": {"team": "a"}}}]}}, "matchLables"),
        ({"prometheus": {"from": [{"namespaceSelecter": {}}]}}, "namespaceSelecter"),
        ({"tolerations": [{"key": "x", "effects": "NoSchedule"}]}, "effects"),
        ({"peers": {"affinity": {"nodeAfinity": {}}}}, "nodeAfinity"),
        ({"podDisruptionBudget": {"minAvailable": 1}}, "minAvailable"),
    ],
)
def test_an_unknown_value_is_refused_with_its_name(values: dict[str, Any], name: str) -> None:
    assert name in _refusal(values)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "--set-file experiment="),
        ("peers: [", "no YAML mapping"),
        ("- a\n- list\n", "no YAML mapping"),
        ("just text", "no YAML mapping"),
        ("runtime: kubernetes", '"runtime" is no mapping'),
        ("runtime: {kind: kubernetes}\nvary: [a]", '"vary" is no mapping'),
        ("runtime: {kind: kubernetes}\nvary: {peers: 5}", "vary.peers is no list"),
        ("runtime: {kind: processes, hosts: 4}", 'runtime.kind is "processes"'),
        ("runtime: {kind: kubernetes, hosts: many}", 'runtime.hosts is "many"'),
        ("runtime: {kind: kubernetes, hosts: -1}", "runtime.hosts is -1"),
        ("runtime: {kind: kubernetes, hosts: 0}", "runtime.hosts is 0,"),
        ('runtime: {kind: kubernetes, hosts: "20"}', 'runtime.hosts is "20",'),
        ("runtime: {kind: kubernetes, hosts: 2.5}", "runtime.hosts is 2.5"),
        ("runtime: {kind: kubernetes, hosts: 20001}", "runtime.hosts is 20001"),
        ("x" * 200_001, "200001 characters"),
    ],
)
def test_an_experiment_that_no_release_could_run_is_refused(spec: str, says: str) -> None:
    assert says in _refusal(spec=spec)


@pytest.mark.parametrize("key", ["runtime", "runtime.hosts", "runtime.kind"])
def test_pods_are_not_varied_between_trials(key: str) -> None:
    said = _refusal(spec=experiment(vary={key: [1, 2]}))
    assert f"varies {key}," in said


@pytest.mark.parametrize(
    "more",
    [
        {"network": {"enforce": "netem"}},
        {"vary": {"network.enforce": ["delay-line", "netem"]}},
        {"vary": {"network": [{"enforce": "netem"}]}},
    ],
)
def test_netem_is_refused_unless_pods_may_use_it(more: dict[str, Any]) -> None:
    spec = experiment(20, 20, **more)
    assert "--set netem.enabled=true" in _refusal(spec=spec)
    assert render({"netem": {"enabled": True}}, spec)


@pytest.mark.parametrize("enforce", ["auto", "delay-line"])
def test_other_ways_of_delaying_need_no_capability(enforce: str) -> None:
    assert render(spec=experiment(network={"enforce": enforce}))


def test_a_release_name_that_pods_cannot_bear_is_refused() -> None:
    assert render(release="a" * 40)
    assert "use at most 40" in _refusal(release="a" * 41)


@pytest.mark.parametrize("release", ["1demo", "demo.x"])
def test_a_release_name_that_services_refuse_is_refused_with_the_reason(release: str) -> None:
    assert "none that a Service can have" in _refusal(release=release)


def test_helm_finds_nothing_wrong_with_the_chart(tmp_path: Path) -> None:
    said = helm("lint", "--strict", "--kube-version", "1.33.0", str(CHART), *arguments(tmp_path, {}, None))
    assert "0 chart(s) failed" in said


def _schema() -> dict[str, Any]:
    return dict(json.loads((CHART / "values.schema.json").read_text()))


def _mappings(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = [(path, schema)] if schema.get("type") == "object" else []
    for part in ("properties", "definitions"):
        for name, inside in schema.get(part, {}).items():
            found += _mappings(inside, f"{path}.{name}")
    return found


def test_the_schema_is_one_and_closed_everywhere_but_where_keys_are_free() -> None:
    Draft7Validator.check_schema(_schema())
    free = {path for path, found in _mappings(_schema()) if found.get("additionalProperties") is not False}
    assert free == {".global", ".nodeSelector", ".labels", ".texts"}


def _leaves(values: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    return [
        leaf
        for name, value in values.items()
        for leaf in (_leaves(value, (*path, name)) if isinstance(value, dict) and value else [(*path, name)])
    ]


def test_every_value_of_the_chart_has_a_type() -> None:
    (values,) = load((CHART / "values.yaml").read_text())
    validator = Draft7Validator(_schema())
    assert not list(validator.iter_errors(values))
    for path in _leaves(values):
        changed = copy.deepcopy(values)
        here = changed
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = [["not", "a", "value"]]
        assert list(validator.iter_errors(changed)), ".".join(path)
