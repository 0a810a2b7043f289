"""Exporting to a Collector by OTLP/gRPC."""

import subprocess
import sys
import threading
import time
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from emulator.telemetry import exporter as module
from emulator.telemetry.endpoint import BadEndpoint
from emulator.telemetry.exporter import Exporter, ExportError, GrpcSink
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder
from trellis.v1.pubsub import Notification

MEASURE_MEMORY = """
import resource
import emulator.telemetry.recorder, grpc, grpc.aio
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
import sys
known = set(sys.modules)
from emulator.telemetry.exporter import GrpcSink
sinks = [GrpcSink("http://127.0.0.1:1", signal, closing=0) for signal in ("traces", "metrics")]
for sink in sinks:
    sink.close()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(*sorted(set(sys.modules) - known))
"""


class Service:
    """Keeps requests as they came; `answers` are given first: a status to fail with, or a response."""

    def __init__(self):
        self.messages = []
        self.answers = []
        self.open = threading.Event()
        self.open.set()
        self.found = threading.Event()

    def export(self, request, context):
        if not request:
            self.found.set()
            return b""
        self.open.wait(10)
        answer = self.answers.pop(0) if self.answers else b""
        if isinstance(answer, grpc.StatusCode):
            context.abort(answer, "not now")
        self.messages.append(request)
        return answer


class Collector:
    def __init__(self, address):
        self.traces = Service()
        self.metrics = Service()
        self.logs = Service()
        self.pool = futures.ThreadPoolExecutor(2)
        self.server = grpc.server(self.pool)
        for name, service in (
            ("trace.v1.TraceService", self.traces),
            ("metrics.v1.MetricsService", self.metrics),
            ("logs.v1.LogsService", self.logs),
        ):
            export = grpc.unary_unary_rpc_method_handler(service.export)
            handler = grpc.method_handlers_generic_handler(
                f"opentelemetry.proto.collector.{name}", {"Export": export}
            )
            self.server.add_generic_rpc_handlers((handler,))
        self.port = self.server.add_insecure_port(address)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.server.start()

    def stop(self):
        self.traces.open.set()
        self.server.stop(None).wait()
        self.pool.shutdown()


@contextmanager
def running(address="127.0.0.1:0"):
    collector = Collector(address)
    try:
        yield collector
    finally:
        collector.stop()


@pytest.fixture
def collector():
    with running() as started:
        yield started


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.01)


def recorder(directory, **options):
    made = Recorder(
        directory,
        "host-7",
        experiment="example",
        trial="vitis-1",
        seed=1,
        start_unix_ns=1_000_000_000 * 10**9,
        **options,
    )
    for peer in range(3000):
        made.operation(made.begin(peer), "publish", peer, peer, {"trellis.event": peer})
    made.tallies.on("").tally(Notification(1), traced=True).add(made.tallies.place(1), 3, 100)
    made.write_interval(10**9, 5, 0)
    made.close()
    return made


def test_the_collector_gets_the_bytes_that_a_file_would_hold(collector, tmp_path):
    recorder(tmp_path / "file")
    recorded = recorder(tmp_path / "sent", sink=Exporter(collector.endpoint))
    assert collector.traces.messages == list(read_records(tmp_path / "file" / "host-7-traces-0.otlp"))
    assert collector.metrics.messages == list(read_records(tmp_path / "file" / "host-7-metrics-0.otlp"))
    assert recorded.lost_spans == 0
    assert not (tmp_path / "sent").exists()


@pytest.mark.parametrize("status", ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED"])
def test_what_is_refused_for_a_while_is_sent_again_in_order(collector, quick, status):
    collector.traces.answers = [getattr(grpc.StatusCode, status)] * 3
    sink = GrpcSink(collector.endpoint, "traces")
    sink.write(b"\x0a\x00", 1)
    sink.write(b"\x0a\x00\x0a\x00", 1)
    sink.close()
    assert collector.traces.messages == [b"\x0a\x00", b"\x0a\x00\x0a\x00"]
    assert sink.lost == 0


def test_what_is_refused_for_good_is_lost_at_once_and_the_next_is_sent(collector):
    collector.traces.answers = [grpc.StatusCode.INVALID_ARGUMENT]
    sink = GrpcSink(collector.endpoint, "traces")
    sink.write(b"\x0a\x00", 7)
    sink.write(b"\x0a\x00\x0a\x00", 5)
    with pytest.raises(ExportError, match=r"1 request of traces \(7 spans\): INVALID_ARGUMENT: not now"):
        sink.close()
    assert (sink.kept, sink.lost) == (5, 7)
    assert collector.traces.messages == [b"\x0a\x00\x0a\x00"]


def test_a_message_that_is_refused_too_long_makes_room_for_the_next(collector, quick):
    collector.traces.answers = [grpc.StatusCode.RESOURCE_EXHAUSTED] * 4
    sink = GrpcSink(collector.endpoint, "traces", patience=0.05)
    sink.write(b"\x0a\x00", 7)
    while collector.traces.answers and sink.lost == 0:
        time.sleep(0.01)
    collector.traces.answers = []
    sink.write(b"\x0a\x00\x0a\x00", 5)
    with pytest.raises(ExportError, match="RESOURCE_EXHAUSTED"):
        sink.close()
    assert sink.lost == 7
    assert collector.traces.messages == [b"\x0a\x00\x0a\x00"]


def test_what_an_idle_sink_is_given_waits_for_its_turn_but_not_for_the_end(collector):
    began = time.monotonic()
    sink = GrpcSink(collector.endpoint, "traces", hold=0.5)
    for number in range(3):
        sink.write(b"%d" % number, 1)
    while not collector.traces.messages:
        assert time.monotonic() - began < 10
        time.sleep(0.01)
    assert time.monotonic() - began >= 0.5
    sink._hold = 60.0
    sink.write(b"3", 1)
    sink.close()
    assert time.monotonic() - began < 30
    assert collector.traces.messages == [b"0", b"1", b"2", b"3"]


def test_the_collector_is_found_before_there_is_something_for_it(collector):
    sink = GrpcSink(collector.endpoint, "metrics")
    assert collector.metrics.found.wait(10)
    sink.close()
    assert collector.metrics.messages == []


def test_what_finds_the_queue_full_is_counted(collector):
    collector.traces.open.clear()
    sink = GrpcSink(collector.endpoint, "traces", queued_bytes=10)
    for _ in range(8):
        sink.write(b"\x0a\x00", 3)
    assert sink.lost == 9
    collector.traces.open.set()
    with pytest.raises(ExportError, match=r"3 requests of traces \(9 spans\): the queue was full"):
        sink.close()
    assert len(collector.traces.messages) == 5


def test_spans_of_a_partial_success_are_lost(collector):
    partial = ExportTracePartialSuccess(rejected_spans=2, error_message="too old")
    collector.traces.answers = [ExportTraceServiceResponse(partial_success=partial).SerializeToString()]
    sink = GrpcSink(collector.endpoint, "traces")
    sink.write(b"\x0a\x00", 7)
    with pytest.raises(ExportError, match="too old"):
        sink.close()
    assert (sink.kept, sink.lost) == (5, 2)


def test_a_reply_that_does_not_parse_is_told_and_ends_nothing(collector):
    collector.traces.answers = [b"\xff\xff\xff"]
    sink = GrpcSink(collector.endpoint, "traces")
    for number in range(6):
        sink.write(b"spans of request %d" % number, 250)
    with pytest.raises(ExportError, match=r"did not take 1 request of traces \(250 spans\): its reply could"):
        sink.close()
    assert (sink.kept, sink.lost) == (1250, 250)


def test_an_error_that_nobody_foresaw_loses_one_message(collector, monkeypatch):
    sink = GrpcSink(collector.endpoint, "traces")
    send = sink._export

    def fail_once(message, **how):
        if message == b"bad":
            raise RuntimeError("no more")
        return send(message, **how)

    monkeypatch.setattr(sink, "_export", fail_once)
    for message in (b"first", b"bad", b"last"):
        sink.write(message, 10)
    with pytest.raises(ExportError, match=r"10 spans\): RuntimeError: no more"):
        sink.close()
    assert collector.traces.messages == [b"first", b"last"]


def test_closing_waits_no_longer_than_it_may_and_counts_what_is_left(collector):
    collector.traces.open.clear()
    sink = GrpcSink(collector.endpoint, "traces", closing=0.3)
    for _ in range(3):
        sink.write(b"\x0a\x00", 5)
    began = time.monotonic()
    with pytest.raises(ExportError, match="3 requests"):
        sink.close()
    assert 0.25 < time.monotonic() - began < 2
    assert sink.lost == 15


def test_without_a_collector_everything_is_counted_and_closing_ends_in_the_middle_of_a_pause(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_PAUSE", 60)
    sink = GrpcSink("http://127.0.0.1:1", "traces", closing=0.2)
    sink.write(b"\x0a\x00", 5)
    began = time.monotonic()
    with pytest.raises(ExportError, match="UNAVAILABLE"):
        sink.close()
    assert time.monotonic() - began < 2
    assert sink.lost == 5


def test_lost_metrics_are_told_although_they_hold_no_spans():
    sink = GrpcSink("http://127.0.0.1:1", "metrics", closing=0.1)
    sink.write(b"\x0a\x00", 4)
    with pytest.raises(ExportError, match=r"1 request of metrics \(4 data points\)"):
        sink.close()


def test_nothing_is_lost_while_the_collector_starts_again():
    with running() as first:
        sink = GrpcSink(first.endpoint, "traces")
        sink.write(b"\x0a\x00", 1)
        while not first.traces.messages:
            time.sleep(0.01)
    for _ in range(20):
        sink.write(b"\x0a\x00", 1)
    time.sleep(0.5)
    with running(f"127.0.0.1:{first.port}") as second:
        sink.close()
    assert len(second.traces.messages) == 20
    assert sink.lost == 0


def test_what_is_no_endpoint_is_refused():
    with pytest.raises(BadEndpoint, match="4317"):
        Exporter("collector:4317")(Path("host-0-traces-0.otlp"))


def test_it_costs_a_host_little_memory():
    printed = subprocess.run(
        [sys.executable, "-c", MEASURE_MEMORY], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    kib, modules = printed.splitlines()
    assert int(kib) < 5000
    assert "opentelemetry.sdk" not in modules
    assert "numpy" not in modules
