"""The churn controller as a program, with pods of a real cluster.

Needs KUBECONFIG, and in TRELLIS_IMAGES the prefix of an image `trellis-emulator:test` that the cluster has.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest
import yaml
from churn_toys import FakeCoordinator, plan_of, served
from kubernetes import client, config
from opentelemetry.proto.trace.v1 import trace_pb2

from emulator.compact.durations import Distribution
from emulator.runtime.realtime.clock import unix_ns
from trellis.v1 import control_pb2

IMAGES = os.environ.get("TRELLIS_IMAGES")
pytestmark = pytest.mark.skipif(
    not os.environ.get("KUBECONFIG") or IMAGES is None,
    reason="needs a cluster: set KUBECONFIG, and TRELLIS_IMAGES to the prefix of its images",
)

PODS = 6
PROGRAM = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); time.sleep(3600)"
SLACK = 4.0
"""Seconds that a busy machine may add. The figures of a quiet one are printed, and in docs/churn.md."""
READY_LIMIT = 120.0
"""Seconds until pods run, with nothing to download."""


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """A namespace with `PODS` pods `peers-0-<n>`, which end as soon as they are asked to."""
    config.load_kube_config()
    name = f"trellis-churn-{secrets.token_hex(3)}"
    core = client.CoreV1Api()
    core.create_namespace({"metadata": {"name": name}})
    try:
        client.AppsV1Api().create_namespaced_stateful_set(name, _peers())
        yield name
    finally:
        core.delete_namespace(name)


def _peers() -> dict[str, object]:
    labels = {"app": "peers"}
    container = {
        "name": "peer",
        "image": f"{IMAGES}trellis-emulator:test",
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", PROGRAM],
    }
    pod = {
        "terminationGracePeriodSeconds": 10,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    return {
        "metadata": {"name": "peers-0"},
        "spec": {
            "replicas": PODS,
            "serviceName": "peers",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def running(namespace: str) -> dict[str, str]:
    """Return the uid of each pod that runs and is not about to end."""
    pods = client.CoreV1Api().list_namespaced_pod(namespace, label_selector="app=peers").items
    return {
        pod.metadata.name: pod.metadata.uid
        for pod in pods
        if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
    }


def all_running(namespace: str) -> dict[str, str]:
    """Return the same once all of them run."""
    limit = time.monotonic() + READY_LIMIT
    while len(found := running(namespace)) < PODS:
        assert time.monotonic() < limit, "the pods do not run"
        time.sleep(0.3)
    return found


def seconds_until(coordinator: FakeCoordinator, trial_s: float) -> float:
    """Return the seconds until this trial time, for a time scale of 1."""
    return max(coordinator.plans[0].start_unix_ns * 1e-9 + trial_s - unix_ns() * 1e-9, 0.0)


def credentials(namespace: str, verbs: list[str], directory: Path) -> Path:
    """Write a kubeconfig for a new ServiceAccount that may do this to pods, and nothing else."""
    core, access = client.CoreV1Api(), client.RbacAuthorizationV1Api()
    name = f"churn-{secrets.token_hex(3)}"
    core.create_namespaced_service_account(namespace, {"metadata": {"name": name}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
    access.create_namespaced_role(namespace, {"metadata": {"name": name}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    access.create_namespaced_role_binding(
        namespace, {"metadata": {"name": name}, "roleRef": role, "subjects": subjects}
    )
    token = core.create_namespaced_service_account_token(name, namespace, {"spec": {}}).status.token
    own = client.Configuration.get_default_copy()
    cluster = {"server": own.host}
    if own.ssl_ca_cert:
        authority = base64.b64encode(Path(own.ssl_ca_cert).read_bytes()).decode()
        cluster["certificate-authority-data"] = authority
    path = directory / f"{name}.kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "here", "cluster": cluster}],
                "users": [{"name": name, "user": {"token": token}}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": name}}],
                "current-context": "here",
            }
        )
    )
    return path


class FakeCollector(grpc.GenericRpcHandler):
    """Keeps the spans that it is sent."""

    def __init__(self) -> None:
        self.spans: list[trace_pb2.Span] = []

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return grpc.unary_unary_rpc_method_handler(self._export)

    async def _export(self, message: bytes, context: object) -> bytes:
        for resource in trace_pb2.TracesData.FromString(message).resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return b""

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve it and yield its endpoint."""
        server = grpc.aio.server(handlers=[self])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await server.stop(0)


@asynccontextmanager
async def controller(
    namespace: str, coordinator: str, collector: str, kubeconfig: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    program = ("-m", "services.churn", "--coordinator", coordinator, "--collector", collector)
    token = kubeconfig.with_name("token")
    token.write_text("token")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *program, "--pods", "peers", "--namespace", namespace, "--token", str(token)),
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def reported(coordinator: FakeCoordinator, kills: int) -> None:
    async with asyncio.timeout(60):
        while len(coordinator.killed) < kills:
            await asyncio.sleep(0.05)


def describe(killed: list[control_pb2.Killed], due: dict[int, float]) -> str:
    late, took = Distribution(), Distribution()
    for each in killed:
        late.add(each.requested_s - due[each.peer])
        took.add(each.gone_s - each.requested_s)
    parts = [
        f"{name} median {d.quantile(0.5) * 1e3:.0f} ms, maximum {d.maximum * 1e3:.0f} ms"
        for name, d in (("asked for late by", late), ("gone after", took))
    ]
    return f"{len(killed)} pods: {'; '.join(parts)}"


def test_sessions_end_with_their_pods_when_the_plan_says_so(
    namespace: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    kubeconfig = credentials(namespace, ["delete", "get", "list", "watch"], tmp_path)
    before = all_running(namespace)
    due = {peer: 10.0 + 0.3 * peer for peer in range(PODS)}
    kills = [(peer, at, peer % 2 == 1) for peer, at in due.items()]
    coordinator, collector = FakeCoordinator(plan_of("a", *kills, time_scale=1)), FakeCollector()

    async def run() -> tuple[int | None, str, str]:
        async with (
            served(coordinator) as address,
            collector.served() as endpoint,
            controller(namespace, address, endpoint, kubeconfig) as process,
        ):
            await reported(coordinator, PODS)
            await asyncio.sleep(6)
            assert process.returncode is None, "it stays when there is no further trial"
            process.terminate()
            out, errors = await asyncio.wait_for(process.communicate(), 20)
            return process.returncode, out.decode(), errors.decode()

    status, out, errors = asyncio.run(run())
    crashed = [killed for killed in coordinator.killed if killed.peer % 2 == 0]
    left = [killed for killed in coordinator.killed if killed.peer % 2 == 1]
    for name, group in (("crashes", crashed), ("graceful", left)):
        print(f"{name}: {describe(group, due)}")
        record_property(name, describe(group, due))
    assert (status, errors) == (0, "")
    assert "6 pods are gone" in out
    assert "there is no further trial" in out
    assert [killed.error for killed in coordinator.killed] == [""] * PODS
    for killed in coordinator.killed:
        assert 0 <= killed.requested_s - due[killed.peer] < SLACK
        assert 0 < killed.gone_s - killed.requested_s < 10 + SLACK
    leaves = {attribute.value.int_value for span in collector.spans for attribute in span.attributes[:1]}
    assert leaves == {0, 2, 4}
    after = all_running(namespace)
    assert all(after[name] != before[name] for name in before)


def test_a_controller_that_is_killed_goes_on_with_what_is_left(namespace: str, tmp_path: Path) -> None:
    kubeconfig = credentials(namespace, ["delete", "get", "list", "watch"], tmp_path)
    before = all_running(namespace)
    coordinator = FakeCoordinator(plan_of("a", (0, 8, False), (1, 14, False), (2, 30, False), time_scale=1))

    async def run() -> None:
        async with served(coordinator) as address, FakeCollector().served() as endpoint:
            async with controller(namespace, address, endpoint, kubeconfig) as process:
                await reported(coordinator, 1)
                process.kill()
            await asyncio.sleep(seconds_until(coordinator, 15))
            async with controller(namespace, address, endpoint, kubeconfig):
                await reported(coordinator, 3)

    asyncio.run(run())
    by_peer = {killed.peer: killed for killed in coordinator.killed}
    assert [by_peer[peer].error for peer in range(3)] == ["", "", ""]
    assert by_peer[1].requested_s > 15, "it was late, and says so"
    assert 30 <= by_peer[2].requested_s < 30 + SLACK
    after = all_running(namespace)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"peers-0-0", "peers-0-1", "peers-0-2"}


def test_a_controller_without_the_right_ends_and_says_so(namespace: str, tmp_path: Path) -> None:
    kubeconfig = credentials(namespace, ["get", "list", "watch"], tmp_path)
    before = all_running(namespace)
    coordinator = FakeCoordinator(plan_of("a", (3, 0, False), time_scale=1))

    async def run() -> tuple[int | None, str]:
        async with (
            served(coordinator) as address,
            FakeCollector().served() as endpoint,
            controller(namespace, address, endpoint, kubeconfig) as process,
        ):
            _, errors = await asyncio.wait_for(process.communicate(), 30)
            return process.returncode, errors.decode()

    status, errors = asyncio.run(run())
    assert status == 1
    assert f"may not delete pods in the namespace {namespace}" in errors
    assert "Traceback" not in errors
    assert running(namespace) == before
