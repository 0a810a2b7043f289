"""The protobuf wire format, by which the generated classes read and write fields."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.bit_sets import bit_set, bits
from emulator.messages.message import MalformedMessage

SHARED: Final = 2048
"""The number of sets, and of parts of a type, that are kept with their bytes. Gossip tells the same of the
same peers again and again, and all peers that hear of them share the kept object."""
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
_NEGATIVE = 1 << 63
_WRAP = 1 << 64
_LEAST_IDENTIFIER = 16
"""The least bytes of an identifier, so that identifiers of one 128-bit space are equally long."""


def varint_size(value: int) -> int:
    """Return the bytes that a number takes; a negative one takes 10."""
    if value < 0x80:
        return 1 if value >= 0 else 10
    size = 2
    value >>= 14
    while value:
        size += 1
        value >>= 7
    return size


def write_varint(out: bytearray, value: int) -> None:
    if value < 0:
        value += _WRAP
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def zigzag(value: int) -> int:
    """Return a signed number as `sint32` and `sint64` encode it."""
    return value * 2 if value >= 0 else -value * 2 - 1


def unzigzag(value: int) -> int:
    return value >> 1 if not value & 1 else -(value + 1 >> 1)


def signed(value: int) -> int:
    """Return the signed number that `int32` and `int64` encode as this one."""
    return value - _WRAP if value >= _NEGATIVE else value


def varints_size(values: list[int]) -> int:
    """Return the bytes of a packed field without its tag and length."""
    size = 0
    for value in values:
        size += varint_size(value)
    return size


def vector_size(values: vec[i64]) -> int:
    """Return the bytes of a packed field of numbers that are not negative, without its tag and length."""
    size: i64 = 0
    place: i64 = 0
    count: i64 = len(values)
    while place < count:
        value = values[place]
        place += 1
        size += 1
        while value > 0x7F:
            size += 1
            value >>= 7
    return int(size)


def write_vector(out: bytearray, values: vec[i64]) -> None:
    """Append a packed field of numbers, with its length and without its tag."""
    write_varint(out, vector_size(values))
    for value in values:
        write_varint(out, value)


def bit_set_size(numbers: int) -> int:
    """Return the bytes of a packed field of the positions of these bits, without its tag and length."""
    size = numbers.bit_count()
    limit = 7
    while numbers.bit_length() > 1 << limit:
        size += (numbers >> (1 << limit)).bit_count()
        limit += 7
    return size


def write_bit_set(out: bytearray, numbers: int) -> None:
    out += _packed(numbers)


@lru_cache(maxsize=SHARED)
def _packed(numbers: int) -> bytes:
    """Return a packed field of the positions of these bits, without its tag and length."""
    out = bytearray()
    for number in bits(numbers):
        write_varint(out, number)
    return bytes(out)


@lru_cache(maxsize=SHARED)
def _unpacked(packed: bytes) -> int:
    """Return the set that `packed` holds."""
    reader = Reader(packed, 0, len(packed))
    members: list[int] = []
    while reader.more():
        members.append(reader.member())
    return bit_set(members)


def identifier_size(identifier: int) -> int:
    """Return the bytes of an identifier: as many as it needs, but at least 16."""
    return max(_LEAST_IDENTIFIER, (identifier.bit_length() + 7) // 8)


def write_identifier(out: bytearray, identifier: int) -> None:
    out += identifier.to_bytes(identifier_size(identifier), "big")


def write_double(out: bytearray, value: float) -> None:
    out += _DOUBLE.pack(value)


def write_float(out: bytearray, value: float) -> None:
    out += _FLOAT.pack(value)


class Reader:
    """Reads the fields of one message. Every method raises MalformedMessage if the bytes end too early."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data = data
        self.at = at
        self.end = end

    def more(self) -> bool:
        """Return whether there are fields left."""
        return self.at < self.end

    def varint(self) -> int:
        data, at, end = self.data, self.at, self.end
        value = shift = 0
        while at < end:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return value & (_WRAP - 1)
            shift += 7
            if shift > 63:
                break
        raise MalformedMessage("a number is cut off or longer than 10 bytes")

    def length(self) -> int:
        """Return the end of a length-delimited field that begins here; the caller sets `at` to it."""
        stop = self.varint() + self.at
        if stop > self.end:
            raise MalformedMessage("a field is longer than its message")
        return stop

    def content(self) -> bytes:
        stop = self.length()
        found = self.data[self.at : stop]
        self.at = stop
        return found

    def text(self) -> str:
        try:
            return self.content().decode()
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"a text is not UTF-8: {error}") from error

    def identifier(self) -> int:
        return int.from_bytes(self.content(), "big")

    def read_double(self) -> float:
        value: float = _DOUBLE.unpack(self._fixed(8))[0]
        return value

    def read_float(self) -> float:
        value: float = _FLOAT.unpack(self._fixed(4))[0]
        return value

    def number(self) -> i64:
        """Return a `uint32`."""
        number = self.varint()
        if number > _LARGEST_UINT32:
            raise MalformedMessage(f"{number} is no uint32")
        return i64(number)

    def vector(self, numbers: vec[i64]) -> vec[i64]:
        """Append the numbers of a packed field of `uint32`."""
        stop = self.length()
        while self.at < stop:
            numbers = append(numbers, self.number())
        return numbers

    def varints(self, into: list[int]) -> None:
        """Append the numbers of a packed field."""
        stop = self.length()
        while self.at < stop:
            into.append(self.varint())

    def doubles(self, into: list[float]) -> None:
        stop = self.length()
        while self.at < stop:
            into.append(self.read_double())

    def floats(self, into: list[float]) -> None:
        stop = self.length()
        while self.at < stop:
            into.append(self.read_float())

    def bit_set(self, before: int) -> int:
        """Return the set that begins here, joined with `before`; equal sets are one object."""
        numbers: int = _unpacked(self.content())
        return numbers | before if before else numbers

    def member(self) -> int:
        """Return a number in a set."""
        number = self.varint()
        if number > _LARGEST_IN_SET:
            raise MalformedMessage(f"{number} is too large for a set")
        return number

    def skip(self, tag: int) -> None:
        """Skip a field that this version does not know."""
        match tag & 7:
            case 0:
                self.varint()
            case 1:
                self._fixed(8)
            case 2:
                self.at = self.length()
            case 5:
                self._fixed(4)
            case other:
                raise MalformedMessage(f"wire type {other}")

    def _fixed(self, size: int) -> bytes:
        stop = self.at + size
        if stop > self.end:
            raise MalformedMessage("a number is cut off")
        found = self.data[self.at : stop]
        self.at = stop
        return found


_LARGEST_UINT32 = (1 << 32) - 1
_LARGEST_IN_SET = 1 << 24
"""The greatest number that a set may hold, so that a damaged message cannot ask for gigabytes."""
