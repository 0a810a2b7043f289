"""Writes message classes from `.proto` files.

    python -m emulator.messages.generate --include protos --out generated FILE.proto ...

`a/b.proto` becomes the module `a/b.py`. Maps, oneofs and services have no place in messages of peers: files
with services are for the protobuf library alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

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
"""How a number becomes a varint, and back."""
_ENCLOSED = ".trellis.v1.Enclosed"
_TOLD = {"hops": "travelled", "event": "event_number", "topic": "topic_number"}
"""The methods by which telemetry asks a message, by the field that tells the answer."""
_KINDS = ("PART", "EVENT", "NOTIFICATION", "CONTROL", "MAINTENANCE", "AS_ENCLOSED")


class UnsupportedProto(ValueError):
    """The file has something that message classes cannot express."""


class _Field:
    """One field of a message: the lines of code for it."""

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
        self.message = proto.type_name if proto.type == _F.TYPE_MESSAGE else ""
        if proto.HasField("oneof_index") and not proto.proto3_optional:
            raise UnsupportedProto(f"{where}: a oneof. Use optional fields")
        for option in ("bit_set", "vector"):
            if option in declared and not (self.repeated and proto.type == _F.TYPE_UINT32):
                raise UnsupportedProto(f"{where}: {option} is for repeated uint32")
        if self.identifier and (self.repeated or proto.type != _F.TYPE_BYTES):
            raise UnsupportedProto(f"{where}: identifier is for single bytes")
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
        if self.message:
            return "Message" if self.message == _ENCLOSED else self.message.rsplit(".", 1)[1]
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
        return f"{self.element} | None" if self.message or self.optional else self.element

    @property
    def default(self) -> str:
        """As an argument."""
        if self.bit_set:
            return "0"
        if self.vector:
            return "vec[i64]()"
        if self.repeated or self.message or self.optional:
            return "None"
        return {"int": "0", "bool": "False", "float": "0.0", "str": '""', "bytes": 'b""'}[self.element]

    @property
    def argument(self) -> str:
        kind = self.annotation
        optional = " | None" if self._is_list else ""
        return f"{self.name}: {kind}{optional} = {self.default}"

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
        if self.message or self.optional:
            return f"{value} is not None"
        return value

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
        """A loop variable of its own: compilers give each variable one type."""
        return f"each_{self.number}"

    def _length(self, value: str) -> str:
        """Of a length-delimited value."""
        if self.identifier:
            return f"identifier_size({value})"
        if self.message == _ENCLOSED:
            return f"enclosed_size({value})"
        if self.message:
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
        elif self.message == _ENCLOSED:
            yield f"write_enclosed(out, {value})"
        elif self.message:
            yield f"{value}.write_to(out)"
        else:
            yield f"out += {value}.encode()" if self.element == "str" else f"out += {value}"

    def read(self) -> Iterator[tuple[int, list[str]]]:
        """(tag, lines) for each way in which the field may be encoded."""
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
                read = "read_enclosed" if self.message == _ENCLOSED else f"{self.element}.read"
                lines = ["stop = reader.length()"]
                found = f"{read}(data, reader.at, stop)"
            elif self.identifier:
                found = "reader.identifier()"
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


def _indent(lines: Iterator[str] | Sequence[str], levels: int) -> list[str]:
    return ["    " * levels + line for line in lines]


class _File:
    """One `.proto` file and the module made of it."""

    def __init__(self, proto: FileDescriptorProto, options: _Options) -> None:
        self._proto = proto
        self._options = options
        self._comments = {
            tuple(location.path): location.leading_comments.strip() or location.trailing_comments.strip()
            for location in proto.source_code_info.location
        }

    def module(self) -> str:
        lines = [
            f'"""Messages of {self._proto.name}. Generated: change that file instead."""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import ClassVar",
            "",
        ]
        body: list[str] = []
        for index, enum in enumerate(self._proto.enum_type):
            body += self._enum(enum, (5, index))
        for index, message in enumerate(self._proto.message_type):
            body += self._class(message, (4, index))
        text = "\n".join(body)
        coding = [
            name
            for name in (
                "Reader", "bit_set_size", "identifier_size", "signed", "unzigzag", "varint_size",
                "varints_size", "vector_size", "write_bit_set", "write_double", "write_float",
                "write_identifier", "write_varint", "write_vector", "zigzag",
            )
            if f"{name}(" in text
        ]  # fmt: skip
        catalogue = [
            name
            for name in ("enclosed_size", "read_enclosed", "register", "write_enclosed")
            if f"{name}(" in text
        ]
        if catalogue:
            lines.append(f"from emulator.messages.catalogue import {', '.join(catalogue)}")
        if coding:
            lines.append(f"from emulator.messages.coding import {', '.join(coding)}")
        bases = [base for base in ("Message", "Part") if f"({base})" in text or f"{base} |" in text]
        lines.append(f"from emulator.messages.message import {', '.join(bases)}")
        if "vec[i64]" in text:
            vectors = "append, vec" if "append(message." in text else "vec"
            head = ["from typing import ClassVar", "", f"from librt.vecs import {vectors}"]
            at = lines.index(head[0])
            lines[at : at + 1] = [*head, "from mypy_extensions import i64"]
        lines += self._imports()
        return "\n".join([*lines, *body, ""])

    def _imports(self) -> Iterator[str]:
        """Types of other files that fields have."""
        wanted: dict[str, set[str]] = {}
        own = {f".{self._proto.package}.{message.name}" for message in self._proto.message_type}
        for message in self._proto.message_type:
            for field in message.field:
                name = field.type_name
                if field.type == _F.TYPE_MESSAGE and name not in own and name != _ENCLOSED:
                    wanted.setdefault(self._options.modules[name], set()).add(name.rsplit(".", 1)[1])
        for module, names in sorted(wanted.items()):
            yield f"from {module} import {', '.join(sorted(names))}"

    def _enum(self, enum: descriptor_pb2.EnumDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        yield ""
        for value in enum.value:
            yield f"{value.name} = {value.number}"

    def _class(self, message: DescriptorProto, path: tuple[int, ...]) -> list[str]:
        if message.nested_type or message.enum_type:
            raise UnsupportedProto(
                f"{self._proto.name}: {message.name} has a type inside it. Move it out of the message"
            )
        fields = [
            _Field(
                field,
                f"{self._proto.name}: {message.name}.{field.name}",
                self._options.declared(field),
            )
            for field in message.field
        ]
        kind = self._options.kind(message)
        name = message.name
        comment = " ".join(self._comments.get(path, "").split()) or f"The message type {name}."
        names = [field.name for field in fields]
        sets = [field.name for field in fields if field.bit_set]
        kept = [*names, *(f"_{each}_count" for each in sets)]
        slots = ", ".join(f'"{each}"' for each in sorted(kept)) + ("," if len(kept) == 1 else "")
        listed = ", ".join(f'"{each}"' for each in names) + ("," if len(names) == 1 else "")
        base = "Part" if kind == "PART" else "Message"
        lines = ["", "", f"class {name}({base}):", f"    {_docstring(comment)}", ""]
        lines += [f"    __slots__ = ({slots})", "", f"    FIELDS: ClassVar[tuple[str, ...]] = ({listed})"]
        if base == "Message":
            lines.append(f'    NAME: ClassVar[str] = "{name}"')
        arguments = "".join(f", {field.argument}" for field in fields)
        lines += ["", f"    def __init__(self{arguments}) -> None:", "        self._size = -1"]
        for index, field in enumerate(fields):
            lines.append(f"        {field.assign()}")
            if about := self._comments.get((*path, 2, index)):
                lines.append(f"        {_docstring(' '.join(about.split()))}")
        lines += [f"        self._{each}_count = -1" for each in sets]
        for each in sets:
            lines += [
                *("", f"    def {each}_count(self) -> int:"),
                f'        """The members of `{each}`, counted once."""',
                f"        if self._{each}_count < 0:",
                f"            self._{each}_count = self.{each}.bit_count()",
                f"        return self._{each}_count",
            ]
        if base == "Message":
            lines += ["", "    def kind(self) -> int:", f"        return {self._kind(kind, fields, name)}"]
        told = self._options.told(f".{self._proto.package}.{name}")
        if kind == "AS_ENCLOSED":
            told = _told_by_enclosed(told, self._enclosing(fields, name))
        for method, value in told.items():
            lines += ["", f"    def {method}(self) -> int:", f"        return {value}"]
        lines += ["", "    def measure(self) -> int:", "        size = 0"]
        for field in fields:
            lines += _indent(list(field.measure()), 2)
        lines += ["        return size", "", "    def write_to(self, out: bytearray) -> None:"]
        written = [line for field in fields for line in _indent(list(field.write()), 2)]
        lines += written or ["        return"]
        lines += ["", "    @staticmethod", f"    def read(data: bytes, at: int, end: int) -> {name}:"]
        lines += [f"        message = {name}()", "        reader = Reader(data, at, end)"]
        lines += ["        while reader.more():", "            tag = reader.varint()"]
        keyword = "if"
        for field in fields:
            for tag, found in field.read():
                lines.append(f"            {keyword} tag == {tag:#04x}:")
                lines += _indent(found, 4)
                keyword = "elif"
        if fields:
            lines += ["            else:", "                reader.skip(tag)"]
        else:
            lines.append("            reader.skip(tag)")
        lines += ["        return message"]
        if base == "Message":
            lines += ["", "", f'register({name}, {name}.read, "{self._proto.name}")']
        return lines

    def _kind(self, kind: str, fields: Sequence[_Field], name: str) -> str:
        if kind != "AS_ENCLOSED":
            return str(_KINDS.index(kind))
        enclosing = self._enclosing(fields, name)
        return f"{enclosing}.kind() if {enclosing} is not None else {_KINDS.index('CONTROL')}"

    def _enclosing(self, fields: Sequence[_Field], name: str) -> str:
        """The attribute that holds the enclosed message. Raises UnsupportedProto if there is not just one."""
        enclosing = [f"self.{field.name}" for field in fields if field.message == _ENCLOSED]
        if len(enclosing) != 1:
            raise UnsupportedProto(
                f"{self._proto.name}: {name} is AS_ENCLOSED, but encloses no single message"
            )
        return enclosing[0]


def _told_by_enclosed(own: Mapping[str, str], enclosed: str) -> dict[str, str]:
    """What an enclosing message tells telemetry: what the enclosed one tells, and the hops of both."""
    absent = f" if {enclosed} is not None else -1"
    found = {method: f"{enclosed}.{method}(){absent}" for method in _TOLD.values()}
    if "travelled" in own:
        hops = own["travelled"]
        found["travelled"] = f"{hops} + max({enclosed}.travelled(), 0) if {enclosed} is not None else {hops}"
    return found


def _docstring(comment: str) -> str:
    text = comment.replace("\\", "\\\\").replace('"""', "'''").strip('"')
    return f'"""{text[:1].upper()}{text[1:]}{"" if text.endswith((".", "?", "!")) else "."}"""'


class _Options:
    """What the files declare by the options of `trellis/v1/options.proto`."""

    def __init__(self, files: descriptor_pb2.FileDescriptorSet) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self._kind: Any = pool.FindExtensionByName("trellis.v1.kind")
        self._field: dict[str, Any] = {
            name: pool.FindExtensionByName(f"trellis.v1.{name}")
            for name in ("bit_set", "identifier", "vector")
        }
        self._messages, self._fields = (
            message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.protobuf.{name}"))
            for name in ("MessageOptions", "FieldOptions")
        )
        self.modules = {
            f".{file.package}.{message.name}": file.name.removesuffix(".proto").replace("/", ".")
            for file in files.file
            for message in file.message_type
        }
        self._types = {
            f".{file.package}.{message.name}": message for file in files.file for message in file.message_type
        }

    def told(self, type_name: str, above: Sequence[str] = ()) -> dict[str, str]:
        """What the type tells telemetry, by method: a field of its own, or else the one part that tells it.

        `above` are the types that it is a part of: a type may be a part of itself.
        """
        told = {}
        above = [*above, type_name]
        single = [field for field in self._types[type_name].field if field.label != _F.LABEL_REPEATED]
        for name, method in _TOLD.items():
            own = [field for field in single if field.name == name and field.type == _F.TYPE_UINT32]
            if own:
                absent = f" if self.{name} is not None else -1" if own[0].proto3_optional else ""
                told[method] = f"self.{name}{absent}"
                continue
            parts = [
                field.name
                for field in single
                if field.type == _F.TYPE_MESSAGE
                and field.type_name not in above
                and method in self.told(field.type_name, above)
            ]
            if len(parts) == 1:
                told[method] = f"self.{parts[0]}.{method}() if self.{parts[0]} is not None else -1"
        return told

    def kind(self, message: DescriptorProto) -> str:
        options = self._messages.FromString(message.options.SerializeToString())
        return _KINDS[options.Extensions[self._kind]]

    def declared(self, field: FieldDescriptorProto) -> set[str]:
        options = self._fields.FromString(field.options.SerializeToString())
        return {name for name, option in self._field.items() if options.Extensions[option]}


def generate(files: Sequence[Path], include: Sequence[Path], out: Path) -> list[Path]:
    """Write the modules of these files below `out`; their paths. Raises UnsupportedProto or ValueError."""
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "descriptors"
        paths = [f"--proto_path={path}" for path in include]
        well_known = f"--proto_path={Path(protoc.__file__).parent / '_proto'}"
        what = ["--include_imports", "--include_source_info", f"--descriptor_set_out={found}"]
        if protoc.main(["protoc", *paths, well_known, *what, *map(str, files)]):
            raise ValueError("protoc refused the files; see above")
        described = descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes())
    options = _Options(described)
    wanted = {_relative(file, include) for file in files}
    written = []
    for file in described.file:
        if file.name in wanted and not file.service:
            path = out / file.name.removesuffix(".proto")
            path = path.with_name(f"{path.name}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_File(file, options).module())
            written.append(path)
    return written


def _relative(file: Path, include: Sequence[Path]) -> str:
    for folder in include:
        if file.resolve().is_relative_to(folder.resolve()):
            return str(file.resolve().relative_to(folder.resolve()))
    raise ValueError(f"{file} is in no --include folder")


def main() -> None:
    """The program. Exits with 2 and a message if a file cannot be used."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--include", action="append", type=Path, required=True, help="folder of .proto files")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        generate(arguments.files, arguments.include, arguments.out)
    except ValueError as error:
        sys.exit(f"generate: {error}")


if __name__ == "__main__":
    main()
