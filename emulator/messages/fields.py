"""The code of one field of a message: its attribute and size, and how it is written and read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from emulator.messages.coding import write_varint

_F = FieldDescriptorProto
_VARINTS = {
    _F.TYPE_UINT32: ("{}", "{}"),
    _F.TYPE_UINT64: ("{}", "{}"),
    _F.TYPE_INT32: ("{}", "signed({})"),
    _F.TYPE_INT64: ("{}", "signed({})"),
    _F.TYPE_ENUM: ("{}", "{}"),
    _F.TYPE_SINT32: ("zigzag({})", "unzigzag({})"),
    _F.TYPE_SINT64: ("zigzag({})", "unzigzag({})"),
}
"""The expressions that turn a number into a varint, and back."""
ENCLOSED = ".trellis.v1.Enclosed"


class UnsupportedProto(ValueError):
    """The file has something that message classes cannot express."""


class Field:
    """The lines of code for one field of a message."""

    def __init__(self, proto: FieldDescriptorProto, where: str, declared: Collection[str]) -> None:
        """`declared` names the options of `options.proto` that the field has."""
        self.name = proto.name
        self.type = proto.type
        self.number = proto.number
        self.repeated = proto.label == _F.LABEL_REPEATED
        self.optional = proto.proto3_optional
        self.bit_set = "bit_set" in declared
        self.identifier = "identifier" in declared
        self.vector = "vector" in declared
        self.rider = "rider" in declared
        self.message = proto.type_name if proto.type == _F.TYPE_MESSAGE else ""
        if proto.HasField("oneof_index") and not proto.proto3_optional:
            raise UnsupportedProto(f"{where}: a oneof. Use optional fields")
        for option in ("bit_set", "vector"):
            if option in declared and not (self.repeated and proto.type == _F.TYPE_UINT32):
                raise UnsupportedProto(f"{where}: {option} is for repeated uint32")
        for option in ("identifier", "rider"):
            if option in declared and (self.repeated or proto.type != _F.TYPE_BYTES):
                raise UnsupportedProto(f"{where}: {option} is for single bytes")
        supported = _VARINTS.keys() | {
            _F.TYPE_BOOL, _F.TYPE_DOUBLE, _F.TYPE_FLOAT, _F.TYPE_STRING, _F.TYPE_BYTES, _F.TYPE_MESSAGE
        }  # fmt: skip
        if proto.type not in supported:
            raise UnsupportedProto(f"{where}: {_F.Type.Name(proto.type)} is not supported")
        if self.repeated and proto.type == _F.TYPE_BOOL:
            raise UnsupportedProto(f"{where}: repeated bool is not supported. Use a bit_set")

    @property
    def element(self) -> str:
        """The Python type of one value."""
        if self.identifier or self.type in _VARINTS:
            return "int"
        if self.rider:
            return "Part"
        if self.message:
            return "Message" if self.message == ENCLOSED else self.message.rsplit(".", 1)[1]
        return {
            _F.TYPE_BOOL: "bool",
            _F.TYPE_DOUBLE: "float",
            _F.TYPE_FLOAT: "float",
            _F.TYPE_STRING: "str",
            _F.TYPE_BYTES: "bytes",
        }[self.type]

    @property
    def annotation(self) -> str:
        if self.bit_set:
            return "int"
        if self.vector:
            return "vec[i64]"
        if self.repeated:
            return f"list[{self.element}]"
        return f"{self.element} | None" if self._may_lack else self.element

    @property
    def default(self) -> str:
        """The default value of the field as an argument."""
        if self.bit_set:
            return "0"
        if self.vector:
            return "vec[i64]()"
        if self.repeated or self._may_lack:
            return "None"
        return {"int": "0", "bool": "False", "float": "0.0", "str": '""', "bytes": 'b""'}[self.element]

    @property
    def argument(self) -> str:
        kind = self.annotation
        optional = " | None" if self._is_list else ""
        return f"{self.name}: {kind}{optional} = {self.default}"

    @property
    def _may_lack(self) -> bool:
        """Whether a message may be without the field, as None."""
        return bool(self.message) or self.optional or self.rider

    @property
    def _is_list(self) -> bool:
        return self.repeated and not (self.bit_set or self.vector)

    def assign(self) -> str:
        if self._is_list:
            return f"self.{self.name} = [] if {self.name} is None else {self.name}"
        return f"self.{self.name} = {self.name}"

    def _tag(self, wire_type: int) -> int:
        return self.number << 3 | wire_type

    def _present(self, value: str) -> str:
        if self._may_lack:
            return f"{value} is not None"
        return value

    def is_set(self) -> str:
        """Return an expression that tells whether a message has the field."""
        value = f"self.{self.name}"
        return f"len({value})" if self.vector else self._present(value) if not self.repeated else value

    def measure(self) -> Iterator[str]:
        value = f"self.{self.name}"
        head = len(_varint(self.number << 3))
        if self.bit_set:
            yield f"if {value}:"
            yield f"    length = bit_set_size({value})"
            yield f"    size += {head} + varint_size(length) + length"
        elif self.vector:
            yield f"if len({value}):"
            yield f"    length = vector_size({value})"
            yield f"    size += {head} + varint_size(length) + length"
        elif self.repeated and (self.type in _VARINTS or self.element == "float"):
            yield f"if {value}:"
            if self.type in _VARINTS:
                encoded = _VARINTS[self.type][0]
                if encoded == "{}":
                    yield f"    length = varints_size({value})"
                else:
                    yield f"    length = varints_size([{encoded.format('each')} for each in {value}])"
            else:
                yield f"    length = {8 if self.type == _F.TYPE_DOUBLE else 4} * len({value})"
            yield f"    size += {head} + varint_size(length) + length"
        elif self.repeated:
            yield f"for {self._each} in {value}:"
            yield f"    length = {self._length(self._each)}"
            yield f"    size += {head} + varint_size(length) + length"
        else:
            yield f"if {self._present(value)}:"
            if self.type in _VARINTS:
                yield f"    size += {head} + varint_size({_VARINTS[self.type][0].format(value)})"
            elif self.element == "bool":
                yield f"    size += {head + 1}"
            elif self.element == "float":
                yield f"    size += {head + (8 if self.type == _F.TYPE_DOUBLE else 4)}"
            else:
                yield f"    length = {self._length(value)}"
                yield f"    size += {head} + varint_size(length) + length"

    @property
    def _each(self) -> str:
        """A loop variable of the field's own, because compilers give each variable one type."""
        return f"each_{self.number}"

    def _length(self, value: str) -> str:
        """Return an expression for the length of a length-delimited value, in bytes."""
        if self.identifier:
            return f"identifier_size({value})"
        if self.message == ENCLOSED:
            return f"enclosed_size({value})"
        if self.message or self.rider:
            return f"{value}.byte_size()"
        return f"len({value}.encode())" if self.element == "str" else f"len({value})"

    def write(self) -> Iterator[str]:
        value = f"self.{self.name}"
        delimited = [f"    {line}" for line in _write_tag(self._tag(2))]
        if self.vector:
            yield f"if len({value}):"
            yield from delimited
            yield f"    write_vector(out, {value})"
        elif self.bit_set or (self.repeated and (self.type in _VARINTS or self.element == "float")):
            yield f"if {value}:"
            yield from delimited
            if self.bit_set:
                yield f"    write_varint(out, bit_set_size({value}))"
                yield f"    write_bit_set(out, {value})"
            elif self.type in _VARINTS:
                encoded = _VARINTS[self.type][0]
                values = value if encoded == "{}" else f"[{encoded.format('each')} for each in {value}]"
                yield f"    write_varint(out, varints_size({values}))"
                yield f"    for number in {values}:"
                yield "        write_varint(out, number)"
            else:
                name, width = ("double", 8) if self.type == _F.TYPE_DOUBLE else ("float", 4)
                yield f"    write_varint(out, {width} * len({value}))"
                yield f"    for real in {value}:"
                yield f"        write_{name}(out, real)"
        elif self.repeated:
            yield f"for {self._each} in {value}:"
            yield from delimited
            yield from (f"    {line}" for line in self._write_delimited(self._each))
        else:
            yield f"if {self._present(value)}:"
            if self.type in _VARINTS:
                yield from (f"    {line}" for line in _write_tag(self._tag(0)))
                yield f"    write_varint(out, {_VARINTS[self.type][0].format(value)})"
            elif self.element == "bool":
                yield from (f"    {line}" for line in _write_tag(self._tag(0)))
                yield "    out.append(1)" if not self.optional else f"    out.append(1 if {value} else 0)"
            elif self.element == "float":
                name, wire = ("double", 1) if self.type == _F.TYPE_DOUBLE else ("float", 5)
                yield from (f"    {line}" for line in _write_tag(self._tag(wire)))
                yield f"    write_{name}(out, {value})"
            else:
                yield from delimited
                yield from (f"    {line}" for line in self._write_delimited(value))

    def _write_delimited(self, value: str) -> Iterator[str]:
        yield f"write_varint(out, {self._length(value)})"
        if self.identifier:
            yield f"write_identifier(out, {value})"
        elif self.message == ENCLOSED:
            yield f"write_enclosed(out, {value})"
        elif self.message or self.rider:
            yield f"{value}.write_to(out)"
        else:
            yield f"out += {value}.encode()" if self.element == "str" else f"out += {value}"

    def read(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (tag, lines) for each way in which the field may be encoded."""
        into = f"message.{self.name}"
        if self.bit_set:
            yield self._tag(2), [f"{into} = reader.bit_set({into})"]
            yield self._tag(0), [f"{into} |= 1 << reader.member()"]
        elif self.vector:
            yield self._tag(0), [f"{into} = append({into}, reader.number())"]
            yield self._tag(2), [f"{into} = reader.vector({into})"]
        elif self.type in _VARINTS:
            decoded = _VARINTS[self.type][1].format("reader.varint()")
            if not self.repeated:
                yield self._tag(0), [f"{into} = {decoded}"]
            else:
                yield self._tag(0), [f"{into}.append({decoded})"]
                if decoded == "reader.varint()":
                    yield self._tag(2), [f"reader.varints({into})"]
                else:
                    loop = ["stop = reader.length()", "while reader.at < stop:"]
                    yield self._tag(2), [*loop, f"    {into}.append({decoded})"]
        elif self.element == "bool":
            yield self._tag(0), [f"{into} = reader.varint() != 0"]
        elif self.element == "float":
            name, wire = ("double", 1) if self.type == _F.TYPE_DOUBLE else ("float", 5)
            if not self.repeated:
                yield self._tag(wire), [f"{into} = reader.read_{name}()"]
            else:
                yield self._tag(wire), [f"{into}.append(reader.read_{name}())"]
                yield self._tag(2), [f"reader.{name}s({into})"]
        else:
            lines = []
            if self.message:
                read = "read_enclosed" if self.message == ENCLOSED else f"{self.element}.read"
                lines = ["stop = reader.length()"]
                found = f"{read}(data, reader.at, stop)"
            elif self.identifier:
                found = "reader.identifier()"
            elif self.rider:
                found = "Undecoded(reader.content())"
            else:
                found = "reader.text()" if self.element == "str" else "reader.content()"
            lines.append(f"{into}.append({found})" if self.repeated else f"{into} = {found}")
            if self.message:
                lines.append("reader.at = stop")
            yield self._tag(2), lines


def _varint(value: int) -> bytes:
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def _write_tag(tag: int) -> Iterator[str]:
    encoded = _varint(tag)
    yield f"out.append({encoded[0]:#04x})" if len(encoded) == 1 else f"out += {encoded!r}"
