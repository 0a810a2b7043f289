"""Protobuf encoding of spans, by hand: the hop spans of a large trial are millions.

Almost every attribute value of a span (a peer's number, a depth, a size) was seen before, so the
encoded attributes are kept, and a span is a join of byte strings.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from emulator.messages.coding import write_varint

_ROOT = struct.Struct("<2s16s2sQ")
_CHILD = struct.Struct("<2s16s2sQ2sQ")
_TIMES = struct.Struct("<sQsQ")
_KEPT_VALUES = 1 << 17
_WRAP = 1 << 64


def varint(value: int) -> bytes:
    """The base-128 varint of a number that is not negative."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
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
    """A `KeyValue` message; integers have 64 bits, with a sign."""
    return field(1, key.encode()) + field(2, _value(value))


def span_attribute(key: str, value: bool | int | float | str) -> bytes:
    """An attribute as a field of `Span`."""
    return field(9, key_value(key, value))


class Attribute(dict[Any, bytes]):
    """`span_attribute`s of one key by their values, those that were seen kept: for the spans of hops."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def __missing__(self, value: int | str) -> bytes:
        if len(self) >= _KEPT_VALUES:
            self.clear()
        encoded = self[value] = span_attribute(self._key, value)
        return encoded


@lru_cache(maxsize=1024)
def name_and_kind(name: str, kind: int) -> bytes:
    """The fields `name` and `kind` of `Span`."""
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
    """A span as a field of `ScopeSpans`; parent 0 makes it a root.

    `name` comes from `name_and_kind`, `attributes` are joins of `span_attribute`s.
    """
    if parent:
        ids = _CHILD.pack(b"\x0a\x10", trace_id, b"\x12\x08", span_id, b"\x22\x08", parent)
    else:
        ids = _ROOT.pack(b"\x0a\x10", trace_id, b"\x12\x08", span_id)
    content = b"".join([ids, name, _TIMES.pack(b"\x39", start_ns, b"\x41", end_ns), *attributes])
    length = len(content)
    if length < 0x4000:
        return bytes((0x12, length & 0x7F | 0x80, length >> 7)) + content
    return field(2, content)


def resource(attributes: dict[str, int | str]) -> bytes:
    """A `Resource` message."""
    return b"".join(field(1, key_value(key, value)) for key, value in attributes.items())


def traces_data(encoded_resource: bytes, scope: str, spans: list[bytes]) -> bytes:
    """A `TracesData` message of spans that were encoded by `span`."""
    scope_spans = field(1, field(1, scope.encode())) + b"".join(spans)
    return field(1, field(1, encoded_resource) + field(2, scope_spans))
