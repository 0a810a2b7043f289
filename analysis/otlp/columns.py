"""Protobuf messages of one type, decoded by columns.

A Python loop over decoded spans costs several microseconds each. Here numpy walks all messages of a
batch in step: the first field of each, then the second, and so on. Since messages of one type have
nearly the same fields in nearly the same order, there are few steps and little branching, and any other
order is still read correctly. (Wire format: protobuf.dev/programming-guides/encoding.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emulator.messages.coding import Reader

Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WORD = 8
_LONGEST_VARINT = 10


@dataclass(frozen=True, slots=True)
class Field:
    """One field of some of the messages."""

    number: int
    wire_type: int
    rows: Rows
    """The messages that have the field, by row."""
    values: Integers
    """The value of a varint, else the offset of the content."""
    lengths: Integers
    """The length of the content in bytes, for wire type BYTES; else empty."""


class _Contents:
    """The place of one field's content in each message; -1 where a message does not have it."""

    def __init__(self, messages: int) -> None:
        self.offsets: Integers = np.full(messages, -1, np.int64)
        self.lengths: Integers = np.zeros(messages, np.int64)

    def put(self, field: Field) -> None:
        self.offsets[field.rows] = field.values
        self.lengths[field.rows] = field.lengths


class Buffer:
    """Encoded messages, anywhere in one stretch of bytes.

    All methods raise ValueError on malformed input.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        padded = data + bytes(_WORD)
        self._bytes = np.frombuffer(padded, np.uint8)
        self._words = np.ndarray((len(data) + 1,), "<u8", padded, strides=(1,))

    def words(self, offsets: Integers) -> npt.NDArray[np.uint64]:
        """Return the 8 bytes at each offset as a little-endian number."""
        return self._words[offsets]

    def fields(self, starts: Integers, lengths: Integers) -> Iterator[Field]:
        """Yield all fields of the messages that begin at `starts`, each message's in the order of
        encoding."""
        rows = np.flatnonzero(lengths > 0)
        at = starts[rows]
        ends = at + lengths[rows]
        try:
            while len(rows):
                following = np.empty_like(at)
                tags, bodies = self._varints(at)
                for tag, which in _groups(tags):
                    field, following[which] = self._field(tag, rows[which], bodies[which])
                    yield field
                if (following > ends).any():
                    raise ValueError("a field goes beyond its message")
                more = following < ends
                if not more.all():
                    rows, following, ends = rows[more], following[more], ends[more]
                at = following
        except IndexError as error:
            raise ValueError("a field goes beyond the data") from error

    def attributes(self, starts: Integers, lengths: Integers) -> Iterator[tuple[str, Rows, Field]]:
        """Yield (key, which, value) of `KeyValue` messages; the value is the field of its `AnyValue`.

        The rows of a value number the messages in `which`. An attribute without a value is left out.
        """
        contents = {1: _Contents(len(starts)), 2: _Contents(len(starts))}
        for field in self.fields(starts, lengths):
            if field.number in contents and field.wire_type == BYTES:
                contents[field.number].put(field)
        keys, values = contents[1], contents[2]
        with_value = np.flatnonzero((keys.offsets >= 0) & (values.offsets >= 0))
        for key, same in self.distinct(keys.offsets[with_value], keys.lengths[with_value]):
            which = with_value[same]
            for field in self.fields(values.offsets[which], values.lengths[which]):
                yield key.decode(), which, field

    def distinct(self, offsets: Integers, lengths: Integers) -> Iterator[tuple[bytes, Rows]]:
        """Yield each different content and where it is. The method is meant for few different ones."""
        rest = np.arange(len(offsets))
        while len(rest):
            offset, length = int(offsets[rest[0]]), int(lengths[rest[0]])
            content = self.data[offset : offset + length]
            alike = np.flatnonzero(lengths[rest] == length)
            for start in range(0, length, _WORD):
                part = content[start : start + _WORD]
                words = self._words[offsets[rest[alike]] + start]
                if len(part) < _WORD:
                    words = words & np.uint64((1 << 8 * len(part)) - 1)
                alike = alike[words == np.uint64(int.from_bytes(part, "little"))]
            yield content, rest[alike]
            rest = np.delete(rest, alike)

    def texts(self, field: Field) -> list[str]:
        """Return the text of each message's field, for texts that are nearly all different."""
        data = self.data
        ends = field.values + field.lengths
        return [data[at:end].decode() for at, end in zip(field.values.tolist(), ends.tolist(), strict=True)]

    def _field(self, tag: int, rows: Rows, bodies: Integers) -> tuple[Field, Integers]:
        """Return the field with this tag, whose body is at `bodies`, and where the next one begins."""
        number, wire_type = tag >> 3, tag & 7
        none = np.empty(0, np.int64)
        if wire_type == BYTES:
            lengths, contents = self._lengths(bodies)
            return Field(number, wire_type, rows, contents, lengths), contents + lengths
        if wire_type == VARINT:
            values, following = self._varints(bodies)
            return Field(number, wire_type, rows, values, none), following
        if wire_type in (FIXED64, FIXED32):
            size = _WORD if wire_type == FIXED64 else _WORD // 2
            return Field(number, wire_type, rows, bodies, none), bodies + size
        raise ValueError(f"unknown wire type {wire_type}")

    def _lengths(self, at: Integers) -> tuple[Integers, Integers]:
        lengths, contents = self._varints(at)
        if (lengths < 0).any() or (contents + lengths > len(self.data)).any():
            raise ValueError("a length goes beyond the data")
        return lengths, contents

    def _varints(self, at: Integers) -> tuple[Integers, Integers]:
        """Return the varint at each offset, as a signed number, and the offset after it."""
        values = self._bytes[at].astype(np.int64)
        at = at + 1
        more = np.flatnonzero(values > 0x7F)
        shift = 0
        while len(more):
            shift += 7
            if shift >= 7 * _LONGEST_VARINT:
                raise ValueError("a varint is too long")
            following = self._bytes[at[more]].astype(np.int64)
            values[more] += (following - 1) << shift
            at[more] += 1
            more = more[following > 0x7F]
        return values, at


def submessages(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (field number, offset, length) of the length-delimited fields of the message at [start, end).

    Raises ValueError on malformed input.
    """
    at = start
    try:
        while at < end:
            tag = data[at]
            at += 1
            if tag & 7 == BYTES and tag < 0x80:
                length = data[at]
                at += 1
                if length > 0x7F:
                    length, at = _varint(data, at - 1, end)
                if at + length > end:
                    raise ValueError("a message goes beyond the one around it")
                yield tag >> 3, at, length
                at += length
            elif tag & 7 == VARINT and tag < 0x80:
                _, at = _varint(data, at, end)
            elif tag & 7 in (FIXED64, FIXED32) and tag < 0x80:
                at += _WORD if tag & 7 == FIXED64 else _WORD // 2
            else:
                raise ValueError(f"unknown field with tag {tag}")
    except IndexError as error:
        raise ValueError("a message goes beyond the data") from error


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    reader = Reader(data, at, end)
    return reader.varint(), reader.at


def _groups(values: Integers) -> Iterator[tuple[int, Rows | slice]]:
    """Yield each different value and where it is."""
    if (values == values[0]).all():
        yield int(values[0]), slice(None)
        return
    for value in np.unique(values):
        yield int(value), np.flatnonzero(values == value)
