"""The chart's Collector in a real cluster: what hosts send it is in its files once, also if it dies.

Needs KUBECONFIG, in TRELLIS_IMAGES the prefix of the image `trellis-emulator:test`, and the image of the
Collector, whose name may be given in TRELLIS_COLLECTOR_IMAGE.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chart_rendering import find, needs_helm, render
from cluster_volume import IMAGES, LIMIT, apply, kubectl, namespace_of, needs_cluster, needs_images, volume
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import recorder as recording
from emulator.telemetry.exporter import Exporter, ExportError
from emulator.telemetry.otlp_files import read_frames
from emulator.telemetry.recorder import Recorder
from emulator.telemetry.repeated_messages import scan_once
from emulator.trust.tickets import key_of, write_ticket

pytestmark = [needs_cluster, needs_images, needs_helm]
IMAGE = os.environ.get("TRELLIS_COLLECTOR_IMAGE", "localhost/opentelemetry-collector-contrib:0.155.0")
DEPLOYMENT = "deployment/demo-collector"
TRIAL = "vitis-1"
HOSTS = 3
DEATHS = 3
SPANS_IN_RECORD = 50


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, RunDirectory, str]]:
    """A namespace with the chart's Collector, the run directory that it writes to, and the key of tickets."""
    folder = tmp_path_factory.mktemp("volume")
    values = {
        "images": {
            "collector": IMAGE,
            "emulator": f"{IMAGES}trellis-emulator:test",
            "pullPolicy": "Never",
        },
        "storage": {"existingClaim": "run", "accessMode": "ReadWriteMany"},
    }
    manifests = render(values)
    parts = [
        m
        for m in manifests
        if m["metadata"]["name"] in ("demo-collector", "demo-trust") and m["kind"] != "NetworkPolicy"
    ]
    secret = base64.b64decode(find(manifests, "Secret", "demo-trust")["data"]["collector"]).decode()
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "demo"}}
    with namespace_of("collector") as namespace, volume(namespace, "run", folder):
        apply(namespace, account, *parts)
        kubectl("rollout", "status", DEPLOYMENT, "--namespace", namespace, f"--timeout={LIMIT:g}s")
        yield namespace, RunDirectory(folder / "run"), key_of(secret, "demo")


@contextmanager
def forwarded(namespace: str) -> Iterator[str]:
    """Yield the Collector's endpoint on this machine, whichever pod it is."""
    ended = threading.Event()
    opened: list[subprocess.Popen[str]] = []
    ports: list[str] = []

    def forward() -> None:
        while not ended.is_set():
            line = ["kubectl", "port-forward", "--namespace", namespace, DEPLOYMENT]
            wanted = f"{ports[0] if ports else ''}:4317"
            with subprocess.Popen(
                [*line, wanted], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ) as program:
                opened.append(program)
                assert program.stdout is not None
                found = re.search(r"127\.0\.0\.1:(\d+)", program.stdout.readline())
                if found and not ports:
                    ports.append(found[1])
                program.wait()
            ended.wait(0.5)

    thread = threading.Thread(target=forward, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + LIMIT
        while not ports:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        ended.set()
        while thread.is_alive():
            opened[-1].terminate()
            thread.join(1)


def pod(namespace: str) -> str:
    """Return the Collector's pod that is ready, or ""."""
    return kubectl(
        *("get", "pods", "--namespace", namespace, "--output"),
        'jsonpath={range .items[?(@.status.containerStatuses[0].ready==true)]}{.metadata.name}{"\\n"}{end}',
    ).strip()


@pytest.mark.timeout(900)
def test_every_span_is_in_the_files_once_or_counted_as_lost_although_the_collector_dies(
    run: tuple[str, RunDirectory, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace, directory, key = run
    monkeypatch.setattr(recording, "_SPANS_IN_RECORD", SPANS_IN_RECORD)
    sent = 0
    until = round(time.time() + 3600)
    with forwarded(namespace) as endpoint:
        hosts = [
            Recorder(
                tmp_path,
                f"host-{index}",
                experiment="example",
                trial=TRIAL,
                seed=1,
                start_unix_ns=1_000_000_000 * 10**9,
                sink=Exporter(endpoint, closing=LIMIT, ticket=ticket),
            )
            for index in range(HOSTS)
            for ticket in [write_ticket(key, TRIAL, f"host-{index}", until)]
        ]

        def send(seconds: float) -> int:
            end = time.monotonic() + seconds
            count = 0
            while time.monotonic() < end:
                for host in hosts:
                    for event in range(SPANS_IN_RECORD):
                        host.operation(host.begin(1), "publish", event, count, {"trellis.event": event})
                    count += SPANS_IN_RECORD
                time.sleep(0.02)
            return count

        dead: set[str] = set()
        for _ in range(DEATHS):
            sent += send(3.0)
            dead.add(pod(namespace))
            kubectl(
                "delete",
                "pod",
                *dead - {""},
                "--namespace",
                namespace,
                "--force",
                "--grace-period=0",
                "--ignore-not-found",
            )
            deadline = time.monotonic() + LIMIT
            while (now := pod(namespace)) in dead | {""}:
                assert time.monotonic() < deadline
                sent += send(0.5)
            assert now
        sent += send(3.0)
        for host in hosts:
            host.write_interval(10**9, 1, 0)
            try:
                host.close()
            except ExportError as error:
                print(error)
    lost = sum(host.lost_spans for host in hosts)
    telemetry = directory.trial(TRIAL).telemetry
    contents = scan_once(sorted(telemetry.glob("*-traces-*.otlp")))
    found = [
        span.span_id
        for each in contents
        for message in read_frames(each.path, each.records)
        for resource in TracesData.FromString(message).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert len(found) == len(set(found))
    assert len(found) + lost == sent
    assert lost == 0
    assert not [cut for each in contents for cut in each.cuts]
    assert list(telemetry.glob("*-metrics-*.otlp"))
