"""A span has the bytes that the OpenTelemetry SDK gives it.

The SDK adds two fields to each span that say nothing here, so they are taken away from its message first:
`status`, which is an empty message where no status was set, and `flags`, which tell whether the parent is
remote. All other fields are compared in the order in which the SDK writes them.
"""

from __future__ import annotations

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from opentelemetry.trace import Status as SpanStatus

from emulator.telemetry import names, span_encoding

TRACE = bytes(range(1, 17))
START, END = 1_700_000_000_123_456_789, 1_700_000_000_234_567_890
RESOURCE: dict[str, int | str] = {names.SERVICE: "trellis", names.HOST: "host-3", names.INCARNATION: 0}
HOP: dict[str, bool | int | float | str] = {
    names.PEER: 0,
    names.SENDER: 70_000,
    names.BYTES: -1,
    names.MESSAGE_KIND: "notification",
    names.INTERESTED: False,
    names.DELIVERED: True,
    names.VALUE: 0.1,
    names.CHANNEL: "überlagert " * 2_000,
}
KINDS = {SpanKind.INTERNAL: 1, SpanKind.PRODUCER: 4, SpanKind.CONSUMER: 5}
"""The number that OTLP has for each kind."""


def by_sdk(
    name: str,
    kind: SpanKind,
    span: int,
    parent: int,
    attributes: dict[str, bool | int | float | str],
    failure: str = "",
) -> bytes:
    def context(number: int) -> SpanContext:
        of = int.from_bytes(number.to_bytes(8, "little"), "big")
        return SpanContext(int.from_bytes(TRACE, "big"), of, is_remote=True)

    made = ReadableSpan(
        name,
        context(span),
        parent=context(parent) if parent else None,
        resource=Resource(RESOURCE),
        attributes=attributes,
        kind=kind,
        start_time=START,
        end_time=END,
        status=SpanStatus(StatusCode.ERROR, failure) if failure else SpanStatus(),
        instrumentation_scope=InstrumentationScope("trellis"),
    )
    message = encode_spans([made])
    (encoded,) = message.resource_spans[0].scope_spans[0].spans
    if not failure:
        assert encoded.status == Status()
        encoded.ClearField("status")
    encoded.ClearField("flags")
    written: bytes = message.SerializeToString()
    return written


@pytest.mark.parametrize("attributes", [{}, {names.PEER: 3}, HOP], ids=["none", "one", "all"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("span", "parent"), [(1 << 32 | 5, 0), ((1 << 64) - 2, 1 << 63 | 7)])
def test_a_span_has_the_bytes_of_the_sdk(
    span: int, parent: int, kind: SpanKind, attributes: dict[str, bool | int | float | str]
) -> None:
    told = [span_encoding.span_attribute(key, value) for key, value in attributes.items()]
    name = span_encoding.name_and_kind("Notification", KINDS[kind])
    encoded = span_encoding.span(TRACE, span, parent, name, START, END, told)
    ours = span_encoding.traces_data(span_encoding.resource(RESOURCE), "trellis", [encoded])
    assert ours == by_sdk("Notification", kind, span, parent, attributes)


@pytest.mark.parametrize("attributes", [{}, HOP], ids=["none", "all"])
def test_a_span_of_a_failure_has_the_status_of_the_sdk(
    attributes: dict[str, bool | int | float | str],
) -> None:
    told = [span_encoding.span_attribute(key, value) for key, value in attributes.items()]
    told.append(span_encoding.error_status("the network lost the message"))
    name = span_encoding.name_and_kind("observation", 1)
    encoded = span_encoding.span(TRACE, 5, 4, name, START, END, told)
    ours = span_encoding.traces_data(span_encoding.resource(RESOURCE), "trellis", [encoded])
    lost = by_sdk("observation", SpanKind.INTERNAL, 5, 4, attributes, "the network lost the message")
    assert ours == lost
