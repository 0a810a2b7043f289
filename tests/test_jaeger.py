"""A real Jaeger finds what a trial sends it, by the names that its users know, and shows whole trees.

Needs in TRELLIS_JAEGER the program `all-in-one` of Jaeger, and for what a release forwards in
TRELLIS_OTELCOL an OpenTelemetry Collector, and helm.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from chart_rendering import find, needs_helm, render
from recorded_telemetry import begin, hop, recorder
from recorded_telemetry import spans as spans_in
from small_trial import trial_spec
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.telemetry import names
from emulator.telemetry.backend_traces import BackendTraces
from emulator.telemetry.exporter import Exporter
from emulator.testing.trial_spans import Span, read_spans
from emulator.tracing import spans
from emulator.trials.sweep import about
from emulator.trials.trial import run_trial
from trellis.command.cli import app

JAEGER = os.environ.get("TRELLIS_JAEGER", "")
COLLECTOR = os.environ.get("TRELLIS_OTELCOL", "")
pytestmark = pytest.mark.skipif(not JAEGER, reason="TRELLIS_JAEGER names no program of Jaeger")
_LIMIT = 60.0
_PARTS = (
    *("collector.grpc-server.host-port", "collector.http-server.host-port", "collector.otlp.http.host-port"),
    *("http-server.host-port", "query.grpc-server.host-port", "admin.http.host-port"),
    *("processor.jaeger-binary.server-host-port", "processor.jaeger-compact.server-host-port"),
    "processor.zipkin-compact.server-host-port",
)
"""The other addresses at which Jaeger listens, each on a free port of the loopback."""
EXPERIMENT = """\
name: traced
system: vitis
peers: 12
workload:
  subscriptions: {kind: random, topics: 3, per_peer: 2, buckets: 1}
  publications: {events: 10}
phases: {join: 2 s, settle: 10 s, measure: 5 s, drain: 3 s}
"""


class Jaeger:
    """A Jaeger of this test, which keeps traces in memory."""

    def __init__(self, otlp: int, query: int) -> None:
        self.endpoint = f"http://127.0.0.1:{otlp}"
        self._query = f"http://127.0.0.1:{query}/api"

    def ask(self, path: str, **asked: Any) -> Any:
        with urlopen(f"{self._query}/{path}?{urlencode(asked)}", timeout=_LIMIT) as answer:
            return json.loads(answer.read())["data"]

    def found(self, **asked: Any) -> list[dict[str, Any]]:
        """Return the traces that a search of the last hour finds."""
        found: list[dict[str, Any]] = self.ask("traces", lookback="1h", limit=1000, **asked)
        return found

    def trace(self, number: str) -> dict[str, Any]:
        """Return what is stored of a trace so far. Jaeger answers 404 for a trace of which it has nothing."""
        try:
            (trace,) = self.ask(f"traces/{number}")
        except HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return {"spans": [], "processes": {}}
        whole: dict[str, Any] = trace
        return whole

    def until(self, condition: Callable[[], Any], stored: Callable[[], Any] = lambda: "") -> None:
        """Wait until this is true. Jaeger answers before it has stored all that it was sent."""
        deadline = time.monotonic() + _LIMIT
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain, {stored()}"
            time.sleep(0.2)

    def answers(self) -> bool:
        try:
            self.ask("services")
        except (URLError, ConnectionError):
            return False
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    otlp, query, *others = _free_ports(len(_PARTS) + 2)
    listening = [f"--{part}=127.0.0.1:{port}" for part, port in zip(_PARTS, others, strict=True)]
    listening += [f"--collector.otlp.grpc.host-port=127.0.0.1:{otlp}"]
    listening += [f"--query.http-server.host-port=127.0.0.1:{query}"]
    made = Jaeger(otlp, query)
    log = tmp_path_factory.mktemp("jaeger") / "log"
    with log.open("wb") as told:
        program = subprocess.Popen([JAEGER, *listening], stdout=told, stderr=told)
    try:
        made.until(lambda: made.answers() or program.poll() is not None)
        assert program.poll() is None, log.read_text()[-1000:]
        yield made
    finally:
        program.kill()  # its own end takes ten seconds
        program.wait(_LIMIT)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("traced")
    (folder / "traced.yaml").write_text(EXPERIMENT)
    spec = load(folder / "traced.yaml")
    run = create_run(spec, folder)
    (trial,) = trials(spec)
    run_trial(trial.spec, run.trial(trial.name), lambda _: None, about(trial, "trellis run"))
    return run


@pytest.fixture(scope="module")
def replayed(jaeger: Jaeger, run: RunDirectory) -> RunDirectory:
    """Return a run whose traces were sent to Jaeger."""
    sent = CliRunner().invoke(app, ["traces", str(run.path), "--to", jaeger.endpoint])
    assert sent.exit_code == 0, sent.output
    return run


def edges(trace: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Return how often a span of one name is below one of another name, in a trace of Jaeger."""
    of = {span["spanID"]: span["operationName"] for span in trace["spans"]}
    above = {
        span["spanID"]: next((r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"), "")
        for span in trace["spans"]
    }
    assert all(parent in of for parent in above.values() if parent), "a parent is missing"
    return Counter((of.get(above[span], ""), name) for span, name in of.items())


def edges_told(told: list[Span]) -> Counter[tuple[str, str]]:
    """Return the same of spans of one trace in the telemetry of a trial."""
    of = {span.span: span.name for span in told}
    return Counter((of.get(span.parent, ""), span.name) for span in told)


def test_a_publication_is_found_by_its_name_and_its_tree_is_whole(
    jaeger: Jaeger, replayed: RunDirectory
) -> None:
    (trial,) = replayed.trials()
    told = read_spans(trial.telemetry)
    there = BackendTraces(trial)
    published = {there.id(span.trace).hex(): span.trace for span in told if span.name == "publish"}
    jaeger.until(lambda: len(jaeger.found(service="trellis", operation="publish")) == len(published))
    traces = {each["traceID"]: each for each in jaeger.found(service="trellis", operation="publish")}
    assert traces.keys() == published.keys() and len(traces) == 10
    for number, trace in published.items():
        whole = [span for span in told if span.trace == trace]
        jaeger.until(lambda n=number, w=whole: len(jaeger.trace(n)["spans"]) == len(w))
        assert edges(jaeger.trace(number)) == edges_told(whole)
        assert any(span.attributes.get(names.DELIVERED) for span in whole)


def test_a_publication_is_found_by_its_topic(jaeger: Jaeger, replayed: RunDirectory) -> None:
    """`messaging.*` are the attributes by which people of other systems look for a message."""
    (trial,) = replayed.trials()
    topics = Counter(
        span.attributes[names.TOPIC] for span in read_spans(trial.telemetry) if span.name == "publish"
    )
    topic, events = topics.most_common(1)[0]
    tags = json.dumps({"messaging.operation.type": "send", "messaging.destination.name": f"topic {topic}"})
    jaeger.until(lambda: len(jaeger.found(service="trellis", tags=tags)) == events)


def test_a_trial_in_processes_is_one_tree_of_coordinator_and_hosts(
    jaeger: Jaeger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = {f"{name}_p99": "25 s" for name in ("timer_lateness", "delay_error", "session_error")}
    spec = trial_spec(
        *("vitis", 6, 1.0),
        runtime={"kind": "processes", "hosts": 2, "time_scale": 0.5},
        fidelity=loose | {"loop_stall": "25 s"},
    )
    directory = RunDirectory(tmp_path / "told").trial("vitis-1")
    directory.path.mkdir(parents=True)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", jaeger.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "30")  # a busy machine may need more than the usual 3 s
    spans.begin("coordinator")
    try:
        run_trial(spec, directory, lambda _: None)
    finally:
        spans.end()
    number = directory.read_status()["trace"].split("-")[1]

    def stored() -> Counter[tuple[str, str]]:
        return Counter((span["operationName"], span["processID"]) for span in jaeger.trace(number)["spans"])

    def has_come() -> bool:
        found = [name for name, _ in stored()]
        return found.count("finish") == 2 and "trial" in found

    jaeger.until(has_come, stored)
    trace = jaeger.trace(number)
    assert edges(trace)["", "trial"] == 1
    assert sum(count for (parent, _), count in edges(trace).items() if not parent) == 1
    services = {each["serviceName"] for each in trace["processes"].values()}
    assert services == {"trellis-coordinator", "trellis-host"}


@needs_helm
@pytest.mark.skipif(not COLLECTOR, reason="TRELLIS_OTELCOL names no Collector")
def test_what_the_collector_of_a_release_forwards_is_found_and_in_its_files(
    jaeger: Jaeger, tmp_path: Path
) -> None:
    """The configuration is the chart's own, but for ports and the folder, which are this test's."""
    forward = {"endpoint": jaeger.endpoint.removeprefix("http://"), "tls": False}
    manifests = render({"telemetry": {"forward": forward}})
    config = find(manifests, "ConfigMap", "demo-collector")["data"]["config.yaml"]
    receiving, health = _free_ports(2)
    for there, here in (
        ("127.0.0.1:4316", f"127.0.0.1:{receiving}"),
        (":13133", f"127.0.0.1:{health}"),
        ("/var/lib/trellis", str(tmp_path)),
    ):
        assert there in config
        config = config.replace(there, here)
    (tmp_path / "config.yaml").write_text(config)
    telemetry = tmp_path / "run" / "trials" / "vitis-1" / "telemetry"
    telemetry.mkdir(parents=True)
    log = tmp_path / "log"
    with log.open("wb") as told:
        program = subprocess.Popen(
            [COLLECTOR, "--config", tmp_path / "config.yaml"], stdout=told, stderr=told
        )
    try:
        sink = Exporter(f"http://127.0.0.1:{receiving}")
        tested = recorder(tmp_path, "host-0", trial="vitis-1", sink=sink, start_unix_ns=time.time_ns())
        root = begin(tested, "publish", 3, 0, {names.EVENT: 8}, topic=7, event=8)
        hop(tested, hop(tested, root), interested=False)
        tested.close()
        jaeger.until(lambda: len(jaeger.trace(root.trace_id.hex())["spans"]) == 3)
        assert edges(jaeger.trace(root.trace_id.hex())) == {
            ("", "publish"): 1,
            ("publish", "Notification"): 1,
            ("Notification", "Notification"): 1,
        }
        assert {span.trace_id for span in spans_in(telemetry)} == {root.trace_id}
    finally:
        program.kill()
        program.wait(_LIMIT)
