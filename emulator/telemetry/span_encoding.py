"""Protobuf encoding of spans, written by hand because a large trial has millions of hop spans.

Almost every attribute value of a span (a peer's number, a depth, a size) was seen before, so encoded
attributes are kept, and a span is a join of byte strings.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from emulator.messages.coding import write_varint

_ROOT = struct.Struct("<2s16s2sQ")
_CHILD = struct.Struct("<2s16s2sQ2sQ")
_TIMES = struct.Struct("<sQsQ")
_SPAN_ATTRIBUTES = 9
"""The number of the field `attributes` of `Span`."""
_KEPT_VALUES = 1 << 17
_WRAP = 1 << 64


def varint(value: int) -> bytes:
    """Return the base-128 varint of a number that is not negative."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def _value(value: bool | int | float | str) -> bytes:
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + varint(value if value >= 0 else value + _WRAP)
    if isinstance(value, float):
        return b"\x21" + struct.pack("<d", value)
    return field(1, value.encode())


def key_value(key: str, value: bool | int | float | str) -> bytes:
    """Return a `KeyValue` message; integers are signed with 64 bits."""
    return field(1, key.encode()) + field(2, _value(value))


def span_attribute(key: str, value: bool | int | float | str) -> bytes:
    """Return an attribute as a field of `Span`."""
    return field(_SPAN_ATTRIBUTES, key_value(key, value))


def error_status(description: str) -> bytes:
    """Return the field `status` of `Span` for an error; it comes after all attributes."""
    return field(15, field(2, description.encode()) + b"\x18\x02")


class Attribute(dict[Any, bytes]):
    """The encoded attributes of one key by their values, kept once they were seen."""

    def __init__(self, key: str, number: int = _SPAN_ATTRIBUTES) -> None:
        """`number` is that of the field that the attributes are, by default the one of `Span`."""
        super().__init__()
        self._key = key
        self._number = number

    def __missing__(self, value: int | str) -> bytes:
        if len(self) >= _KEPT_VALUES:
            self.clear()
        encoded = self[value] = field(self._number, key_value(self._key, value))
        return encoded


@lru_cache(maxsize=1024)
def name_and_kind(name: str, kind: int) -> bytes:
    """Return the fields `name` and `kind` of `Span`."""
    return field(5, name.encode()) + b"\x30" + varint(kind)


def span(
    trace_id: bytes,
    span_id: int,
    parent: int,
    name: bytes,
    start_ns: int,
    end_ns: int,
    attributes: list[bytes],
) -> bytes:
    """Return a span as a field of `ScopeSpans`; parent 0 makes it a root.

    `name` comes from `name_and_kind`, `attributes` is a join of results of `span_attribute`.
    """
    if parent:
        ids = _CHILD.pack(b"\x0a\x10", trace_id, b"\x12\x08", span_id, b"\x22\x08", parent)
    else:
        ids = _ROOT.pack(b"\x0a\x10", trace_id, b"\x12\x08", span_id)
    content = b"".join([ids, name, _TIMES.pack(b"\x39", start_ns, b"\x41", end_ns), *attributes])
    length = len(content)
    if 0x80 <= length < 0x4000:  # nearly every span
        return bytes((0x12, length & 0x7F | 0x80, length >> 7)) + content
    return field(2, content)


def resource(attributes: dict[str, int | str]) -> bytes:
    """Return a `Resource` message."""
    return b"".join(field(1, key_value(key, value)) for key, value in attributes.items())


def traces_data(encoded_resource: bytes, scope: str, spans: list[bytes]) -> bytes:
    """Return a `TracesData` message of spans that were encoded by `span`."""
    scope_spans = field(1, field(1, scope.encode())) + b"".join(spans)
    return field(1, field(1, encoded_resource) + field(2, scope_spans))
