"""Attributes of OpenTelemetry's messaging conventions for spans that go to a backend.

They follow from what a span has, so telemetry is recorded without them.
"""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from emulator.telemetry import names

SYSTEM, OPERATION_TYPE, OPERATION_NAME, DESTINATION = (
    f"messaging.{name}" for name in ("system", "operation.type", "operation.name", "destination.name")
)
_OPERATIONS = {Span.SPAN_KIND_PRODUCER: ("send", "publish"), Span.SPAN_KIND_CONSUMER: ("process", "process")}
"""The type and the name of the operation by the kind of span."""


def add_messaging(span: Span) -> None:
    """Add them to the span of a publication or of a message that was handled; others stay as they are.

    The destination is the topic, or of a message without one the peer that handled it. A publication without
    a topic has none.
    """
    operation = _OPERATIONS.get(span.kind)
    if operation is None:
        return
    numbers = {each.key: each.value.int_value for each in span.attributes}
    added = dict(zip((OPERATION_TYPE, OPERATION_NAME), operation, strict=True)) | {SYSTEM: "trellis"}
    if names.TOPIC in numbers:
        added[DESTINATION] = f"topic {numbers[names.TOPIC]}"
    elif span.kind == Span.SPAN_KIND_CONSUMER:
        added[DESTINATION] = f"peer {numbers[names.PEER]}"
    for key, text in added.items():
        span.attributes.add(key=key).value.string_value = text
