"""The spans of a finished trial, read from its telemetry without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records


@dataclass(frozen=True)
class Span:
    """One span. Times are seconds of trial time."""

    name: str
    trace: bytes
    span: bytes
    parent: bytes
    start: float
    end: float
    attributes: dict[str, Any]


def values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """Return the attributes of a span or a resource by name."""
    return {a.key: getattr(a.value, a.value.WhichOneof("value") or "") for a in attributes}


def read_spans(telemetry: Path) -> list[Span]:
    """Return all spans in a folder of telemetry, file by file."""
    return [
        Span(
            span.name,
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            (span.start_time_unix_nano - start) / 1e9,
            (span.end_time_unix_nano - start) / 1e9,
            values(span.attributes),
        )
        for path in sorted(telemetry.glob("*-traces-*.otlp"))
        for record in read_records(path)
        for resource in TracesData.FromString(record).resource_spans
        for start in [values(resource.resource.attributes)[names.START]]
        for scope in resource.scope_spans
        for span in scope.spans
    ]
