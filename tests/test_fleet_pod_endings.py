"""Why a host in a pod was lost or came back, by what the cluster tells."""

from __future__ import annotations

from typing import Any

import pytest
from coordinator_world import SECOND, VERSIONS, begin, five_peers, register, result

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.pods.pod_endings import ending_of, note_endings


@pytest.fixture
def coordinator(monkeypatch: pytest.MonkeyPatch) -> Coordinator:
    """A trial in which host-1 came back and host-0 has finished."""
    monkeypatch.setenv("TRELLIS_RELEASE", "demo")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    coordinator = five_peers()
    begin(coordinator)
    register(coordinator, "host-1", start="second", at=4 * SECOND)
    for host in ("host-0", "host-1"):
        coordinator.finish(result(host), 10 * SECOND)
    return coordinator


def pod(state: str = "lastState", at: str = "2026-01-31T12:00:00Z", **ended: Any) -> dict[str, Any]:
    status = {"name": "peers", state: {"terminated": {"finishedAt": at} | ended}}
    limits = {"name": "peers", "resources": {"limits": {"memory": "242Mi"}}}
    return {"spec": {"containers": [limits]}, "status": {"containerStatuses": [status]}}


KILLED = {"reason": "OOMKilled", "exitCode": 137}


def verdict(coordinator: Coordinator) -> str:
    return "\n".join(judge(coordinator, VERSIONS).reasons)


def test_a_host_that_was_killed_for_lack_of_memory_is_named_as_such_with_its_limit(
    coordinator: Coordinator,
) -> None:
    asked: list[str] = []

    def read(name: str) -> dict[str, Any]:
        asked.append(name)
        return pod(**KILLED)

    note_endings(coordinator, read)
    assert asked == ["demo-peers-0-1"], "the host that finished is not asked for"
    assert (
        "host-1 with peers 1, 3 came back at 2.5 s; its program was killed for lack of memory (OOMKilled); "
        "its limit is 242Mi: raise peers.memoryHeadroomMiB or runtime.hosts"
    ) in verdict(coordinator)


@pytest.mark.parametrize("state", ["state", "lastState"])
def test_an_end_of_another_kind_is_told_with_its_status(state: str) -> None:
    told = ending_of(pod(state, reason="Error", exitCode=1), 0)
    assert told == "its program ended with status 1 (Error)"


def test_an_end_before_the_trial_began_is_none_of_its_ends() -> None:
    since = 1_769_860_800 * SECOND  # 2026-01-31T12:00:00Z
    assert ending_of(pod(**KILLED), since)
    assert ending_of(pod(at="2026-01-31T11:59:59Z", **KILLED), since) == ""


def test_a_pod_that_its_node_evicted_is_told_with_the_reason() -> None:
    evicted = {"status": {"reason": "Evicted", "message": "The node was low on resource: memory."}}
    assert ending_of(evicted, 0) == "its pod was ended (Evicted: The node was low on resource: memory.)"


def test_a_pod_that_was_made_anew_tells_of_no_end(coordinator: Coordinator) -> None:
    note_endings(coordinator, lambda name: {"status": {"containerStatuses": [{"name": "peers"}]}})
    assert "host-1 with peers 1, 3 came back at 2.5 s" in verdict(coordinator)
    assert "; its" not in verdict(coordinator)


@pytest.mark.parametrize("error", [OSError("it is away"), ValueError("no JSON")])
def test_a_cluster_that_does_not_tell_leaves_the_verdict_as_it_is(
    coordinator: Coordinator, error: Exception
) -> None:
    def read(name: str) -> dict[str, Any]:
        raise error

    note_endings(coordinator, read)
    assert f"the cluster does not tell why: {error}" in verdict(coordinator)


def test_outside_a_cluster_nothing_is_asked(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    note_endings(coordinator, lambda name: pytest.fail(name))
    assert "; its" not in verdict(coordinator)
