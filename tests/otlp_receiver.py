"""A receiver of OTLP/gRPC in the process of a test, and what programs told it of themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from emulator.tracing import spans

_TRACES = "opentelemetry.proto.collector.trace.v1.TraceService"
_LOGS = "opentelemetry.proto.collector.logs.v1.LogsService"


def values(attributes: Any) -> dict[str, Any]:
    """Return attributes of OTLP by name."""
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return found


class Receiver:
    """Keeps what it is sent. It may be asked while it receives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._resource_spans: list[ResourceSpans] = []
        self._resource_logs: list[ResourceLogs] = []
        self.metadata: dict[str, str] = {}
        """The metadata of the last request."""
        self.port = 0

    def export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:
        with self._lock:
            self._resource_spans.extend(request.resource_spans)
            self.metadata = dict(context.invocation_metadata())
        return ExportTraceServiceResponse()

    def export_logs(self, request: ExportLogsServiceRequest, context: Any) -> ExportLogsServiceResponse:
        with self._lock:
            self._resource_logs.extend(request.resource_logs)
            self.metadata = dict(context.invocation_metadata())
        return ExportLogsServiceResponse()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self) -> list[tuple[dict[str, Any], Span]]:
        """Return the spans with the attributes of their resources, by their begin."""
        with self._lock:
            found = [
                (values(each.resource.attributes), span)
                for each in self._resource_spans
                for scope in each.scope_spans
                for span in scope.spans
            ]
        return sorted(found, key=lambda pair: pair[1].start_time_unix_nano)

    def records(self) -> list[tuple[dict[str, Any], str, LogRecord]]:
        """Return the log records with the attributes of their resources and the names of their loggers."""
        with self._lock:
            return [
                (values(each.resource.attributes), scope.scope.name, record)
                for each in self._resource_logs
                for scope in each.scope_logs
                for record in scope.log_records
            ]

    def named(self, name: str) -> list[Span]:
        return [span for _, span in self.told() if span.name == name]

    def only(self, name: str) -> Span:
        """Return the only span of this name."""
        (found,) = self.named(name)
        return found


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Serve a receiver on a free port of the loopback."""
    receiver = Receiver()
    traces = grpc.unary_unary_rpc_method_handler(
        receiver.export, ExportTraceServiceRequest.FromString, ExportTraceServiceResponse.SerializeToString
    )
    logs = grpc.unary_unary_rpc_method_handler(
        receiver.export_logs, ExportLogsServiceRequest.FromString, ExportLogsServiceResponse.SerializeToString
    )
    handlers = [
        grpc.method_handlers_generic_handler(service, {"Export": handler})
        for service, handler in ((_TRACES, traces), (_LOGS, logs))
    ]
    with futures.ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers(handlers)
        receiver.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield receiver
        finally:
            server.stop(None).wait()


@contextmanager
def traced(receiver: Receiver, role: str = "test") -> Iterator[None]:
    """Trace this process; what it told is with the receiver when the block has ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        spans.begin(role)
        try:
            yield
        finally:
            spans.end()
