"""Spans encoded by hand are what the protobuf library reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from emulator.telemetry import span_encoding

IDS = st.integers(1, 2**64 - 1)
TIMES = st.integers(0, 2**64 - 1)
TEXT = st.text(max_size=300)
VALUES = st.booleans() | st.integers(0, 2**63 - 1) | TEXT
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=12)


def read(attributes: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def typed(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return values together with their types: True is not 1."""
    return {key: (type(value), value) for key, value in attributes.items()}


def encoded(attributes: dict[str, Any]) -> bytes:
    return b"".join(span_encoding.span_attribute(key, value) for key, value in attributes.items())


@given(
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=IDS,
    parent=st.just(0) | IDS,
    name=TEXT,
    kind=st.integers(0, 5),
    times=st.tuples(TIMES, TIMES),
    attributes=ATTRIBUTES,
)
def test_a_span_is_read_back_field_by_field(
    trace_id: bytes,
    span_id: int,
    parent: int,
    name: str,
    kind: int,
    times: tuple[int, int],
    attributes: dict[str, Any],
) -> None:
    span = span_encoding.span(
        trace_id, span_id, parent, span_encoding.name_and_kind(name, kind), *times, [encoded(attributes)]
    )
    scope_spans = trace_pb2.ScopeSpans.FromString(span)
    assert scope_spans.ListFields() == [
        (trace_pb2.ScopeSpans.DESCRIPTOR.fields_by_name["spans"], scope_spans.spans)
    ]
    (decoded,) = scope_spans.spans
    assert decoded.trace_id == trace_id
    assert decoded.span_id == span_id.to_bytes(8, "little")
    assert decoded.parent_span_id == (parent.to_bytes(8, "little") if parent else b"")
    assert (decoded.name, decoded.kind) == (name, kind)
    assert (decoded.start_time_unix_nano, decoded.end_time_unix_nano) == times
    assert typed(read(decoded.attributes)) == typed(attributes)


@given(size=st.sampled_from([0, 20, 70, 80, 127, 128, 16_200, 16_300, 16_400, 70_000]))
def test_spans_of_any_length_are_read_back(size: int) -> None:
    name = span_encoding.name_and_kind("x", 1)
    span = span_encoding.span(bytes(16), 1, 0, name, 1, 2, [span_encoding.span_attribute("a", "b" * size)])
    (decoded,) = trace_pb2.ScopeSpans.FromString(span).spans
    assert read(decoded.attributes) == {"a": "b" * size}


@given(ATTRIBUTES, st.lists(TEXT, max_size=5))
def test_many_spans_share_resource_and_scope(attributes: dict[str, Any], span_names: list[str]) -> None:
    spans = [
        span_encoding.span(bytes(16), number, 0, span_encoding.name_and_kind(name, 5), 1, 2, [])
        for number, name in enumerate(span_names, 1)
    ]
    message = span_encoding.traces_data(span_encoding.resource(attributes), "scope", spans)
    (resource_spans,) = trace_pb2.TracesData.FromString(message).resource_spans
    assert typed(read(resource_spans.resource.attributes)) == typed(attributes)
    (scope_spans,) = resource_spans.scope_spans
    assert scope_spans.scope.name == "scope"
    assert [span.name for span in scope_spans.spans] == span_names


@given(st.floats(allow_nan=False))
def test_a_number_with_a_fraction_is_a_double(value: float) -> None:
    message = b"\x0a" + span_encoding.varint(len(pair := span_encoding.key_value("k", value))) + pair
    assert read(Resource.FromString(message).attributes) == {"k": value}


@pytest.mark.parametrize("values", [(True, 1), (1, True), (False, 0), (0, False)])
def test_a_boolean_is_never_taken_for_the_number_seen_before(values: tuple[Any, Any]) -> None:
    for value in values:
        scope = trace_pb2.ScopeSpans.FromString(
            span_encoding.span(
                bytes(16), 1, 0, b"", 1, 2, [span_encoding.span_attribute(f"seen {values}", value)]
            )
        )
        ((read_back),) = read(scope.spans[0].attributes).values()
        assert type(read_back) is type(value)


@pytest.mark.parametrize("value", [-1, -(1 << 63), (1 << 63) - 1])
def test_a_number_is_signed_with_64_bits(value: int) -> None:
    pair = span_encoding.key_value("k", value)
    message = b"\x0a" + span_encoding.varint(len(pair)) + pair
    assert read(Resource.FromString(message).attributes) == {"k": value}
