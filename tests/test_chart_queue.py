"""A release in a queue has no pods but one until its turn comes, and that one has few rights."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import (
    Refused,
    container,
    environment,
    experiment,
    find,
    kinds,
    needs_helm,
    pod_templates,
    render,
)

pytestmark = needs_helm

QUEUE: dict[str, Any] = {"queue": {"enabled": True, "slots": 2, "priority": -3, "name": "night"}}
VIRTUAL: dict[str, Any] = {"name": "test", "peers": 10}


def test_a_release_in_a_queue_has_no_pods_until_its_turn() -> None:
    spec = experiment(1500, 1500)
    spec["runtime"]["churn"] = "pods"
    manifests = render(QUEUE, spec)
    sets = [*kinds(manifests, "StatefulSet"), *kinds(manifests, "Deployment")]
    assert {each["metadata"]["name"]: each["spec"]["replicas"] for each in sets} == dict.fromkeys(
        ("demo-coordinator", "demo-peers-0", "demo-peers-1", "demo-churn", "demo-collector", "demo-results"),
        0,
    )
    assert find(manifests, "Job", "demo-analysis")["spec"]["suspend"] is True
    assert "suspend" not in find(manifests, "Job", "demo-queue")["spec"]
    arguments = container(pod_templates(manifests)["demo-queue"])["command"]
    assert {a.removeprefix("--") for a in arguments if a.startswith(("--trials", "--lasting"))} == {
        "trials=statefulsets/demo-peers-0=1000",
        "trials=statefulsets/demo-peers-1=500",
        "trials=deployments/demo-collector=1",
        "trials=deployments/demo-churn=1",
        "lasting=deployments/demo-results=1",
        "lasting=statefulsets/demo-coordinator=1",
    }


def test_without_a_queue_nothing_of_it_is_there() -> None:
    manifests = render()
    assert not kinds(manifests, "Lease")
    assert not [m for m in manifests if m["metadata"]["name"] == "demo-queue"]
    assert "TRELLIS_QUEUE_ENTRY" not in environment(pod_templates(manifests)["demo-coordinator"])
    assert "suspend" not in find(manifests, "Job", "demo-analysis")["spec"]
    assert find(manifests, "StatefulSet", "demo-peers-0")["spec"]["replicas"] == 20


def test_the_entry_names_its_queue_and_what_its_order_is_made_from() -> None:
    lease = find(render(QUEUE), "Lease", "demo-queue")
    assert lease["metadata"]["labels"]["trellis/queue"] == "night"
    assert lease["metadata"]["annotations"] == {"trellis/priority": "-3", "trellis/slots": "2"}
    assert "spec" not in lease, "an upgrade leaves alone what its program wrote"


def test_the_program_of_the_queue_may_change_its_own_release_and_the_places_alone() -> None:
    manifests = render(QUEUE, experiment(2, 2))
    rules = find(manifests, "Role", "demo-queue")["rules"]
    told = [(r["resources"], r["verbs"], r.get("resourceNames")) for r in rules]
    assert told == [
        (["leases"], ["list", "create"], None),
        (["leases"], ["update", "patch"], ["demo-queue", "trellis-night-0", "trellis-night-1"]),
        (["statefulsets/scale"], ["patch"], ["demo-coordinator", "demo-peers-0"]),
        (["deployments/scale"], ["patch"], ["demo-results", "demo-collector"]),
        (["jobs"], ["get", "patch"], ["demo-analysis"]),
    ]
    pod = pod_templates(manifests)["demo-queue"]
    assert (pod["spec"]["serviceAccountName"], pod["spec"]["automountServiceAccountToken"]) == (
        "demo-queue",
        True,
    )
    assert "volumes" not in pod["spec"], "it needs no token of the release and no results"


def test_the_coordinator_may_see_and_mark_the_entry_of_its_release() -> None:
    manifests = render(QUEUE)
    rule = find(manifests, "Role", "demo-coordinator")["rules"][-1]
    assert (rule["resources"], rule["verbs"], rule["resourceNames"]) == (
        ["leases"],
        ["get", "patch"],
        ["demo-queue"],
    )
    assert environment(pod_templates(manifests)["demo-coordinator"])["TRELLIS_QUEUE_ENTRY"] == "demo-queue"


def test_a_sweep_in_a_queue_has_a_coordinator_neither_there_nor_in_its_rights() -> None:
    manifests = render(QUEUE, VIRTUAL)
    assert find(manifests, "Job", "demo-analysis")["spec"]["suspend"] is True
    resources = [rule["resources"] for rule in find(manifests, "Role", "demo-queue")["rules"]]
    assert resources == [["leases"], ["leases"], ["deployments/scale"], ["jobs"]]
    assert not any("--trials" in a for a in container(pod_templates(manifests)["demo-queue"])["command"])


def test_the_queue_reaches_the_api_server_and_nothing_else() -> None:
    policy = find(render(QUEUE), "NetworkPolicy", "demo-queue")["spec"]
    assert policy["ingress"] == []
    assert [port["port"] for rule in policy["egress"] for port in rule["ports"]] == [443, 6443]


def test_kueue_is_told_by_labels_of_jobs_and_sets() -> None:
    kueue = {"kueue": {"queueName": "team", "priorityClass": "night"}}
    manifests = render(kueue)
    labels = {
        "kueue.x-k8s.io/queue-name": "team",
        "kueue.x-k8s.io/priority-class": "night",
    }
    named = [("StatefulSet", "demo-peers-0"), ("StatefulSet", "demo-coordinator"), ("Job", "demo-analysis")]
    for kind, name in named:
        assert labels.items() <= find(manifests, kind, name)["metadata"]["labels"].items(), name
    assert "kueue" not in str(find(manifests, "Job", "demo-check")), "a check waits for nobody"
    assert "kueue" not in str(render())


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (QUEUE | {"kueue": {"queueName": "team"}}, "both say when pods may start"),
        ({"queue": {"enabled": True, "slots": 0}}, "slots"),
        ({"queue": {"enabled": True, "priorty": 1}}, "priorty"),
        ({"queue": {"enabled": True, "name": "A b"}}, "name"),
    ],
)
def test_values_of_a_queue_that_make_no_sense_are_refused(values: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        render(values)
