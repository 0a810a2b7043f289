"""The controller that deletes pods when the plan says so, with a fake coordinator and a fake Kubernetes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest
from churn_toys import FakeCoordinator, plan_of, served
from kubernetes.aio.client.exceptions import ApiException
from opentelemetry.proto.trace.v1 import trace_pb2
from otlp_receiver import receiving, traced, values

from emulator.fleet.pods import churn_controller, kubernetes_api
from emulator.fleet.pods.churn_controller import run_churn
from emulator.fleet.pods.kill_schedule import Pace, Pod
from emulator.fleet.pods.kubernetes_api import Pods, PodsDenied
from emulator.fleet.pods.pod_names import pod_namer
from emulator.telemetry.otlp_files import FileSink, read_records
from emulator.telemetry.recorder import SinkFactory
from emulator.tracing import spans
from trellis.v1 import control_pb2_grpc

ROOT = Path(__file__).parent.parent


def test_a_host_is_the_pod_of_its_number() -> None:
    name = pod_namer("demo-peers")
    assert [name(f"host-{n}") for n in (0, 999, 1000, 2017)] == [
        "demo-peers-0-0",
        "demo-peers-0-999",
        "demo-peers-1-0",
        "demo-peers-2-17",
    ]


@pytest.mark.parametrize("host", ["", "host", "host-", "pod-1", "host-x", "host--1"])
def test_a_host_of_another_kind_has_no_pod(host: str) -> None:
    with pytest.raises(ValueError, match="host-17"):
        pod_namer("demo-peers")(host)


class FakeCluster:
    """As much of `CoreV1Api` as the controller uses. A deleted pod is gone and back at once."""

    def __init__(self, pods: int) -> None:
        self.pods = {f"peers-0-{n}": self._pod(f"peers-0-{n}", f"first-{n}") for n in range(pods)}
        self.pods["peers-other"] = self._pod("peers-other", "another release")
        self.deletions: list[tuple[str, str, int | None]] = []
        self.failures: list[Exception] = []
        """What the next deletions meet."""
        self.list_failure: Exception | None = None
        self.watchers: list[asyncio.Queue[bytes]] = []

    def _pod(self, name: str, uid: str, phase: str = "Running") -> dict[str, Any]:
        metadata = {
            "name": name,
            "uid": uid,
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "resourceVersion": "7",
        }
        return {"metadata": metadata, "status": {"phase": phase}}

    def tell(self, kind: str, item: dict[str, Any]) -> None:
        for watcher in self.watchers:
            watcher.put_nowait(json.dumps({"type": kind, "object": item}).encode() + b"\n")

    async def list_namespaced_pod_without_preload_content(self, namespace: str, **options: Any) -> Any:
        if self.list_failure is not None:
            raise self.list_failure
        return _FakeAnswer(self, watch=options.get("watch", False))

    async def delete_namespaced_pod(self, name: str, namespace: str, *, body: Any, **options: Any) -> None:
        if self.failures:
            raise self.failures.pop(0)
        pod = self.pods[name]
        if pod["metadata"]["uid"] != body.preconditions.uid:
            raise ApiException(status=409, reason="Conflict")
        self.deletions.append((name, body.preconditions.uid, body.grace_period_seconds))
        self.tell("DELETED", pod)
        self.pods[name] = self._pod(name, f"{pod['metadata']['uid']}'")
        self.tell("ADDED", self.pods[name])

    async def read_namespaced_pod(self, name: str, namespace: str, **options: Any) -> Any:
        uid = self.pods[name]["metadata"]["uid"]
        return SimpleNamespace(metadata=SimpleNamespace(uid=uid))


class _FakeAnswer:
    status = 200

    def __init__(self, cluster: FakeCluster, watch: bool) -> None:
        self._cluster = cluster
        self.content = self
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        if watch:
            cluster.watchers.append(self._lines)

    async def read(self) -> bytes:
        pods = list(self._cluster.pods.values())
        return json.dumps({"metadata": {"resourceVersion": "7"}, "items": pods}).encode()

    async def readline(self) -> bytes:
        return await self._lines.get()

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(churn_controller, "_LOOK_PERIOD", 0.05)
    monkeypatch.setattr(churn_controller, "_BACK_OFF", (0.02, 0.1))
    monkeypatch.setattr(kubernetes_api, "_BACK_OFF", (0.02, 0.1))


@asynccontextmanager
async def reached(coordinator: FakeCoordinator) -> AsyncIterator[Any]:
    """Yield a stub of the coordinator."""
    async with served(coordinator) as address, grpc.aio.insecure_channel(address) as channel:
        yield control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]


def files_in(directory: Path) -> SinkFactory:
    return lambda path: FileSink(directory / path.name)


def replay(coordinator: FakeCoordinator, cluster: FakeCluster, directory: Path) -> None:
    """Replay trials until there is no further one."""

    async def run() -> None:
        async with reached(coordinator) as stub, asyncio.timeout(20):
            pods = Pods(cluster, "default", "peers")
            await run_churn(stub, pods, "peers", files_in(directory), Pace())

    asyncio.run(run())


def test_a_crash_has_no_grace_and_a_graceful_leave_the_pods_own(tmp_path: Path) -> None:
    cluster = FakeCluster(2)
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False), (1, 0.2, True)))
    replay(coordinator, cluster, tmp_path)
    assert cluster.deletions == [("peers-0-0", "first-0", 0), ("peers-0-1", "first-1", None)]


def test_what_was_asked_and_seen_is_reported_in_trial_time(tmp_path: Path) -> None:
    lead = 3_600 * 10**9
    coordinator = FakeCoordinator(plan_of("a", (0, 4.0, False), lead_ns=lead))
    coordinator.clock_lead_ns = lead
    replay(coordinator, FakeCluster(1), tmp_path)
    (killed,) = coordinator.killed
    assert (killed.peer, killed.session, killed.host, killed.error) == (0, 3, "host-0", "")
    assert 4.0 <= killed.requested_s <= killed.gone_s < 7.9


def test_the_end_of_a_crashed_session_is_recorded_and_a_graceful_one_left_to_its_peer(tmp_path: Path) -> None:
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False), (1, 0.2, True)))
    replay(coordinator, FakeCluster(2), tmp_path)
    (path,) = tmp_path.glob("churn-0-traces-*.otlp")
    (span,) = [
        span
        for record in read_records(path)
        for resource in trace_pb2.TracesData.FromString(record).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    attributes = {a.key: a.value for a in span.attributes}
    assert span.name == "leave"
    assert attributes["trellis.peer"].int_value == 0
    assert attributes["trellis.session"].int_value == 3
    assert attributes["trellis.graceful"].bool_value is False
    by_peer = {killed.peer: killed for killed in coordinator.killed}
    at_s = (span.start_time_unix_nano - coordinator_start(path)) * 1e-9
    assert at_s == pytest.approx(by_peer[0].gone_s, abs=1e-6)


def test_operators_are_told_each_deletion_in_the_trace_of_the_trial(tmp_path: Path) -> None:
    plan = plan_of("a", (0, 0.1, False))
    with receiving() as receiver:
        with traced(receiver, "churn"):
            with spans.root("trial") as told:
                plan.trace = told.traceparent
            replay(FakeCoordinator(plan), FakeCluster(1), tmp_path)
        deleted = receiver.only("delete pod")
        assert deleted.parent_span_id == receiver.only("trial").span_id
    about = values(deleted.attributes)
    assert about.pop("trellis.late_s") >= 0.0
    assert about == {
        "k8s.pod.name": "peers-0-0",
        "trellis.host": "host-0",
        "trellis.peer": 0,
        "trellis.session": 3,
        "trellis.graceful": False,
    }
    assert deleted.start_time_unix_nano < deleted.end_time_unix_nano


def coordinator_start(path: Path) -> int:
    (record, *_) = read_records(path)
    (resource,) = trace_pb2.TracesData.FromString(record).resource_spans
    values = {a.key: a.value for a in resource.resource.attributes}
    start: int = values["trellis.start_unix_ns"].int_value
    return start


def test_trials_are_replayed_one_after_the_other(tmp_path: Path) -> None:
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False)), plan_of("b", (0, 0.2, False)))
    cluster = FakeCluster(1)
    replay(coordinator, cluster, tmp_path)
    assert [killed.trial for killed in coordinator.killed] == ["a", "b"]
    assert [uid for _, uid, _ in cluster.deletions] == ["first-0", "first-0'"]


def test_a_coordinator_that_is_away_is_asked_again_and_nothing_is_lost(tmp_path: Path) -> None:
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False), (1, 0.1, False)))
    coordinator.failing = 4
    replay(coordinator, FakeCluster(2), tmp_path)
    assert sorted(killed.peer for killed in coordinator.killed) == [0, 1]


def test_a_trial_that_ends_early_takes_no_more_pods(tmp_path: Path) -> None:
    coordinator = FakeCoordinator(plan_of("a", (0, 30.0, False)))
    cluster = FakeCluster(1)

    async def run() -> None:
        async with reached(coordinator) as stub, asyncio.timeout(10):
            sink = lambda path: FileSink(tmp_path / path.name)  # noqa: E731
            work = asyncio.create_task(
                run_churn(stub, Pods(cluster, "default", "peers"), "peers", sink, Pace())
            )
            await asyncio.sleep(0.3)
            coordinator.plans.clear()
            await work

    asyncio.run(run())
    assert cluster.deletions == []


def test_a_trial_whose_kills_are_done_is_not_asked_for_in_a_busy_loop(tmp_path: Path) -> None:
    coordinator = FakeCoordinator(plan_of("a"))

    async def run() -> None:
        async with reached(coordinator) as stub:
            pods = Pods(FakeCluster(1), "default", "peers")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await run_churn(stub, pods, "peers", files_in(tmp_path), Pace())

    asyncio.run(run())
    assert coordinator.asked < 15


def refusal(status: int, **headers: str) -> ApiException:
    error = ApiException(status=status, reason="because")
    error.headers = {key.replace("_", "-"): value for key, value in headers.items()}
    return error


@pytest.mark.parametrize("failure", [refusal(429, Retry_After="0.3"), refusal(500), OSError("reset")])
def test_what_passes_is_tried_again(failure: Exception, tmp_path: Path) -> None:
    cluster = FakeCluster(1)
    cluster.failures = [failure]
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False)))
    replay(coordinator, cluster, tmp_path)
    assert len(cluster.deletions) == 1
    assert coordinator.killed[0].error == ""


def test_kubernetes_is_left_alone_for_as_long_as_it_asks(tmp_path: Path) -> None:
    cluster = FakeCluster(1)
    cluster.failures = [refusal(429, Retry_After="0.5")]
    began = time.monotonic()
    assert asyncio.run(Pods(cluster, "default", "peers").delete("peers-0-0", "first-0", graceful=False)) == ""
    assert time.monotonic() - began >= 0.5


def test_a_pod_that_is_gone_already_needs_no_deletion() -> None:
    cluster = FakeCluster(1)
    pods = Pods(cluster, "default", "peers")
    assert asyncio.run(pods.delete("peers-0-0", "an earlier one", graceful=False)) == ""
    cluster.failures = [refusal(404)]
    assert asyncio.run(pods.delete("peers-0-0", "first-0", graceful=False)) == ""
    assert cluster.deletions == []


def test_a_conflict_over_the_same_pod_is_tried_again() -> None:
    cluster = FakeCluster(1)
    cluster.failures = [refusal(409)]
    assert asyncio.run(Pods(cluster, "default", "peers").delete("peers-0-0", "first-0", graceful=True)) == ""
    assert cluster.deletions == [("peers-0-0", "first-0", None)]


def test_what_kubernetes_will_never_take_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    cluster = FakeCluster(2)
    cluster.failures = [refusal(422)]
    coordinator = FakeCoordinator(plan_of("a", (0, 0.1, False), (1, 0.2, False)))
    replay(coordinator, cluster, tmp_path)
    by_peer = {killed.peer: killed for killed in coordinator.killed}
    assert "422, because" in by_peer[0].error
    assert by_peer[0].gone_s < 0 < by_peer[1].gone_s


@pytest.mark.parametrize("status", [401, 403])
def test_a_controller_that_may_not_delete_ends_and_says_what_it_needs(status: int, tmp_path: Path) -> None:
    cluster = FakeCluster(1)
    cluster.failures = [refusal(status)]
    with pytest.raises(PodsDenied, match=r"may not delete pods in the namespace default.*Role"):
        replay(FakeCoordinator(plan_of("a", (0, 0.1, False))), cluster, tmp_path)


def test_a_controller_that_may_not_list_ends_and_says_what_it_needs(tmp_path: Path) -> None:
    cluster = FakeCluster(1)
    cluster.list_failure = refusal(403)
    with pytest.raises(PodsDenied, match="may not list and watch pods"):
        replay(FakeCoordinator(plan_of("a")), cluster, tmp_path)


def test_a_watch_that_expired_begins_with_a_new_list() -> None:
    cluster = FakeCluster(1)
    seen: list[tuple[str, str | None]] = []

    def note(name: str, pod: Pod | None) -> None:
        seen.append((name, pod and pod.uid))

    async def run() -> None:
        listed = asyncio.Event()
        work = asyncio.create_task(Pods(cluster, "default", "peers-0").follow(note, listed))
        await asyncio.wait_for(listed.wait(), 5)
        while not cluster.watchers:
            await asyncio.sleep(0.01)
        del cluster.pods["peers-0-0"]
        cluster.watchers[0].put_nowait(b'{"type": "ERROR", "object": {"code": 410}}\n')
        while len(cluster.watchers) < 2:
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 10))
    assert seen == [("peers-0-0", "first-0"), ("peers-0-0", None)]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--collector", "collector:4317", "Write http://HOST:4317"),
        ("--rate", "0", "above 0"),
        ("--calls", "-1", "above 0"),
    ],
)
def test_the_program_refuses_what_it_cannot_work_with(
    option: str, value: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("token")
    token = {"--token": str(tmp_path / "token")}
    values = token | {
        "--coordinator": "127.0.0.1:1",
        "--pods": "demo-peers",
        "--collector": "http://127.0.0.1:1",
    }
    arguments = [part for pair in (values | {option: value}).items() for part in pair]
    program = [sys.executable, "-m", "services.churn", *arguments]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_program_without_credentials_says_where_it_looked(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    program = (
        *(sys.executable, "-m", "services.churn", "--coordinator", "127.0.0.1:1"),
        *("--pods", "demo-peers", "--collector", "http://127.0.0.1:1", "--token", str(token)),
    )
    environment = os.environ | {"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}
    ended = subprocess.run(
        program, capture_output=True, text=True, timeout=60, check=False, env=environment, cwd=ROOT
    )
    assert ended.returncode == 1
    assert "neither a pod's own nor those of KUBECONFIG" in ended.stderr
    assert "Traceback" not in ended.stderr
