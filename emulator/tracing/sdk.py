"""Spans by the OpenTelemetry SDK, sent by OTLP.

The SDK reads its own variables: the endpoint, headers, sampler, limits of spans and of the queue, and the
resource. This module adds what the SDK cannot know: the role and the version of the program.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from emulator.tracing.tracer import Attributes, CannotTrace, Span
from emulator.trust.credentials import Credentials

_SCOPE = "trellis.programs"
_FORMAT = TraceContextTextMapPropagator()
_HEADER = "traceparent"
TRACES, LOGS = "TRACES", "LOGS"
"""The signals, as they are in names of variables."""
_PROTOCOL, _TIME_OUT = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TIMEOUT"
_PATIENCE = 3.0
"""The seconds for which an endpoint that is away is asked, if no variable says otherwise. It is less than
programs have to end."""


class SdkTracer:
    """The tracer of a program."""

    def __init__(
        self, role: str, instance: str, credentials: Credentials, environment: Mapping[str, str]
    ) -> None:
        """Raises CannotTrace for a protocol that there is not."""
        exporter = OTLPSpanExporter(**exporter_options(TRACES, credentials, environment))
        tell_failures_once("spans")
        self._ids = _Ids()
        self._provider = TracerProvider(resource=resource_of(role, instance), id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(_SCOPE, version("trellis"))

    @contextlib.contextmanager
    def span(
        self, name: str, attributes: Attributes, parent: str, links: Sequence[str], serving: bool
    ) -> Iterator[Span]:
        linked = [Link(found) for link in links if (found := _identity(link)).is_valid]
        kind = SpanKind.SERVER if serving else SpanKind.INTERNAL
        made = self._tracer.start_span(name, _below(parent), kind, dict(attributes), linked)
        with trace.use_span(made, end_on_exit=True):
            yield _SdkSpan(made)

    @contextlib.contextmanager
    def root(self, name: str, attributes: Attributes, again: str, start_ns: int) -> Iterator[Span]:
        with self._ids.given(_identity(again)):
            made = self._tracer.start_span(
                name, context.Context(), attributes=dict(attributes), start_time=start_ns or None
            )
        told = _SdkSpan(made)
        try:
            with trace.use_span(made):
                yield told
        finally:
            if not told.left:
                made.end()

    def record(
        self, name: str, start_ns: int, end_ns: int, attributes: Attributes, parent: str, error: str
    ) -> None:
        made = self._tracer.start_span(name, _below(parent), attributes=dict(attributes), start_time=start_ns)
        if error:
            made.set_status(Status(StatusCode.ERROR, error))
        made.end(max(end_ns, start_ns))

    def current(self) -> str:
        return _traceparent(trace.get_current_span())

    def close(self) -> None:
        self._provider.shutdown()


class _SdkSpan:
    def __init__(self, made: trace.Span) -> None:
        self._made = made
        self.left = False

    @property
    def traceparent(self) -> str:
        return _traceparent(self._made)

    def set(self, attributes: Attributes) -> None:
        self._made.set_attributes(dict(attributes))

    def fail(self, why: str) -> None:
        self._made.set_status(Status(StatusCode.ERROR, why))

    def leave(self) -> None:
        self.left = True


class _Ids(RandomIdGenerator):
    """Draws the numbers of spans, unless those of a root are given."""

    def __init__(self) -> None:
        self._given: SpanContext | None = None

    @contextlib.contextmanager
    def given(self, identity: SpanContext) -> Iterator[None]:
        """Give spans that begin meanwhile this identity, if it is one."""
        self._given = identity if identity.is_valid else None
        try:
            yield
        finally:
            self._given = None

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self._given is None else self._given.trace_id

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self._given is None else self._given.span_id


def _below(parent: str) -> context.Context | None:
    """Return the context of a child of this traceparent; None for one of the span that is under way."""
    return _FORMAT.extract({_HEADER: parent}, context.Context()) if parent else None


def _identity(traceparent: str) -> SpanContext:
    """Return what a traceparent says, which is not valid if it is none."""
    return trace.get_current_span(_below(traceparent) or context.Context()).get_span_context()


def _traceparent(made: trace.Span) -> str:
    carrier: dict[str, str] = {}
    _FORMAT.inject(carrier, trace.set_span_in_context(made, context.Context()))
    return carrier.get(_HEADER, "")


def resource_of(role: str, instance: str) -> Resource:
    """Return what the program is. The variables of OpenTelemetry have the last word."""
    told = OTELResourceDetector().detect().attributes
    own = {
        "service.name": f"trellis-{role}",
        "service.version": version("trellis"),
        "service.instance.id": instance
        or told.get("k8s.pod.name")
        or f"{socket.gethostname()}-{os.getpid()}",
        "process.pid": os.getpid(),
    }
    return Resource.create({**own, **told})


def exporter_options(signal: str, credentials: Credentials, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of what sends a signal by gRPC, beside the SDK's variables.

    Raises CannotTrace if the variables ask for another protocol.
    """
    names = [f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", _PROTOCOL]
    protocol = next((value for name in names if (value := environment.get(name, "").strip())), "grpc")
    headers = dict(credentials.metadata)
    told = any(name in environment for name in (f"OTEL_EXPORTER_OTLP_{signal}_TIMEOUT", _TIME_OUT))
    more: dict[str, Any] = {} if told else {"timeout": _PATIENCE}
    if headers:
        more["headers"] = headers
    if protocol != "grpc":
        raise CannotTrace(
            f'{_PROTOCOL} is "{protocol}". Write grpc, and name its port in the endpoint, usually 4317'
        )
    if credentials.certificates is not None:
        more["credentials"] = credentials.certificates.of_client()
        more["channel_options"] = (("grpc.ssl_target_name_override", credentials.certificates.name),)
    return more


class _Once(logging.Handler):
    """Tells the first thing that goes wrong with sending, and no more: an endpoint may be away for hours."""

    def __init__(self, what: str) -> None:
        super().__init__(logging.WARNING)
        self.what = what
        self._told = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._told:
            self._told = True
            text = f"{self.what} of this program are not taken: {record.getMessage()}"
            print(text, file=sys.stderr, flush=True)


def tell_failures_once(what: str) -> None:
    """Let the SDK's warnings go to standard error once, and not to whatever logs this process has.

    `what` is sent beside what an earlier call named.
    """
    logger = logging.getLogger("opentelemetry")
    before = [handler.what for handler in logger.handlers if isinstance(handler, _Once)]
    logger.handlers[:] = [_Once(" or ".join(dict.fromkeys([*before, what])))]
    logger.propagate = False
