"""What a release has when trials are on the virtual clock: a sweep on executors, and no pods of peers."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import container, environment, find, kinds, needs_helm, pod_templates, render

pytestmark = needs_helm
VIRTUAL = {"name": "test", "peers": 10, "runtime": {"kind": "virtual"}}
EXECUTORS = {"analysis": {"executors": {"count": 2}}}


@pytest.mark.parametrize("spec", [VIRTUAL, {"name": "test", "peers": 10}])
def test_there_are_only_the_check_the_sweep_the_results_and_the_test(spec: dict[str, Any]) -> None:
    manifests = render(spec=spec)
    assert pod_templates(manifests).keys() == {"demo-check", "demo-analysis", "demo-results", "demo-test"}
    assert {m["metadata"]["name"] for m in kinds(manifests, "Service")} == {"demo-results"}
    policies = {m["metadata"]["name"] for m in kinds(manifests, "NetworkPolicy")}
    assert policies == {"demo-analysis", "demo-results", "demo-test"}
    assert not kinds(manifests, "Role")


def test_the_sweep_is_given_the_experiment_and_its_executors_the_files_that_it_names() -> None:
    manifests = render(EXECUTORS | {"inputs": {"existingClaim": "traces"}}, VIRTUAL)
    templates = pod_templates(manifests)
    sweep = templates["demo-analysis"]
    assert container(sweep)["command"] == [
        *("python", "-m", "services.spark_driver", "--experiment=/etc/trellis-experiment/experiment.yaml"),
        *("--run=/var/lib/trellis/run", "--executors=2"),
    ]
    (volume,) = [v for v in sweep["spec"]["volumes"] if v["name"] == "experiment"]
    assert "experiment.yaml" in find(manifests, "ConfigMap", volume["configMap"]["name"])["data"]
    assert environment(sweep)["TRELLIS_DATA"] == "/inputs"
    for template in (sweep, templates["demo-executor"]):
        mounts = {mount["mountPath"] for mount in container(template)["volumeMounts"]}
        assert mounts > {"/inputs", "/var/lib/trellis"}
        assert {mount["name"] for mount in container(template)["volumeMounts"]} == {
            volume["name"] for volume in template["spec"]["volumes"]
        }
    assert {m["metadata"]["name"] for m in kinds(manifests, "Role")} == {"demo-analysis"}


@pytest.mark.parametrize(("mode", "together"), [("ReadWriteOnce", True), ("ReadWriteMany", False)])
def test_pods_that_share_a_volume_of_one_node_ask_for_each_other(mode: str, together: bool) -> None:
    templates = pod_templates(render(EXECUTORS | {"storage": {"accessMode": mode}}, VIRTUAL))
    for name in ("demo-analysis", "demo-results", "demo-executor"):
        affinity = templates[name]["spec"].get("affinity")
        assert (affinity is not None) == together
        if affinity is not None:
            (term,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            (expression,) = term["labelSelector"]["matchExpressions"]
            # Whoever comes first has to match what it asks for itself.
            assert expression["values"] == ["analysis", "results"]


def test_executors_may_tell_the_sweep_of_progress_at_any_port() -> None:
    (rule,) = find(render(EXECUTORS, VIRTUAL), "NetworkPolicy", "demo-analysis")["spec"]["ingress"]
    assert "ports" not in rule
    (sender,) = rule["from"]
    assert sender["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "executor"
