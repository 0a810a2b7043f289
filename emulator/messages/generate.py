"""Writes message classes from `.proto` files.

    python -m emulator.messages.generate --include protos --out generated FILE.proto ...

`a/b.proto` becomes the module `a/b.py`. Maps, oneofs and services have no place in messages of peers: files
with services are for the protobuf library alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from emulator.messages.fields import ENCLOSED, Field, UnsupportedProto

_F = FieldDescriptorProto
_TOLD = {"hops": "travelled", "event": "event_number", "topic": "topic_number"}
"""The methods by which telemetry asks a message, by the field that tells the answer."""
_OPTIONS = "trellis/v1/options.proto"
_KINDS = ("PART", "EVENT", "NOTIFICATION", "CONTROL", "MAINTENANCE", "AS_ENCLOSED")


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
                "SHARED", "Reader", "bit_set_size", "identifier_size", "signed", "unzigzag", "varint_size",
                "varints_size", "vector_size", "write_bit_set", "write_double", "write_float",
                "write_identifier", "write_varint", "write_vector", "zigzag",
            )
            if f"{name}(" in text or f"={name})" in text
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
        bases = [
            base for base in ("Message", "Part", "SharedPart") if f"({base})" in text or f"{base} |" in text
        ]
        lines.append(f"from emulator.messages.message import {', '.join(bases)}")
        head = ["from typing import ClassVar", "", "from mypy_extensions import mypyc_attr"]
        if "vec[i64]" in text:
            vectors = "append, vec" if "append(message." in text else "vec"
            head[2:] = [f"from librt.vecs import {vectors}", "from mypy_extensions import i64, mypyc_attr"]
        at = lines.index(head[0])
        lines[at : at + 1] = head
        if "@lru_cache" in text:
            lines.insert(lines.index("from typing import ClassVar"), "from functools import lru_cache")
        lines += self._imports()
        return "\n".join([*lines, *body, ""])

    def _imports(self) -> Iterator[str]:
        """Types of other files that fields have."""
        wanted: dict[str, set[str]] = {}
        own = {f".{self._proto.package}.{message.name}" for message in self._proto.message_type}
        for message in self._proto.message_type:
            for field in message.field:
                name = field.type_name
                if field.type == _F.TYPE_MESSAGE and name not in own and name != ENCLOSED:
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
            Field(
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
        shared = self._options.shared(message)
        if shared and kind != "PART":
            raise UnsupportedProto(f"{self._proto.name}: {name} is no part, so it cannot be shared")
        base = "SharedPart" if shared else "Part" if kind == "PART" else "Message"
        # Messages refer to no message that refers to them, so Python's collector need not look at them.
        lines = ["", "", "@mypyc_attr(acyclic=True)", f"class {name}({base}):"]
        lines += [f"    {_docstring(comment)}", ""]
        lines += [f"    __slots__ = ({slots})", "", f"    FIELDS: ClassVar[tuple[str, ...]] = ({listed})"]
        if base == "Message":
            lines.append(f'    NAME: ClassVar[str] = "{name}"')
        arguments = "".join(f", {field.argument}" for field in fields)
        lines += ["", f"    def __init__(self{arguments}) -> None:", "        self._size = -1"]
        if shared:
            lines.append('        self._encoded = b""')
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
        write = "write_fields" if shared else "write_to"
        lines += ["        return size", "", f"    def {write}(self, out: bytearray) -> None:"]
        written = [line for field in fields for line in _indent(list(field.write()), 2)]
        lines += written or ["        return"]
        lines += ["", "    @staticmethod", f"    def read(data: bytes, at: int, end: int) -> {name}:"]
        if shared:
            lines += [f"        return _shared_{name}(data[at:end])", "", "    @staticmethod"]
            lines += [f"    def read_anew(data: bytes, at: int, end: int) -> {name}:"]
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
        if shared:
            lines += ["", "", "@lru_cache(maxsize=SHARED)", f"def _shared_{name}(content: bytes) -> {name}:"]
            lines += [f"    return {name}.read_anew(content, 0, len(content))"]
        if base == "Message":
            lines += ["", "", f'register({name}, {name}.read, "{self._proto.name}")']
        return lines

    def _kind(self, kind: str, fields: Sequence[Field], name: str) -> str:
        if kind != "AS_ENCLOSED":
            return str(_KINDS.index(kind))
        enclosing = self._enclosing(fields, name)
        return f"{enclosing}.kind() if {enclosing} is not None else {_KINDS.index('CONTROL')}"

    def _enclosing(self, fields: Sequence[Field], name: str) -> str:
        """The attribute that holds the enclosed message. Raises UnsupportedProto if there is not just one."""
        enclosing = [f"self.{field.name}" for field in fields if field.message == ENCLOSED]
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
    """What the files declare by the options of `_OPTIONS`."""

    def __init__(self, files: descriptor_pb2.FileDescriptorSet) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self._kind: Any = pool.FindExtensionByName("trellis.v1.kind")
        self._shared: Any = pool.FindExtensionByName("trellis.v1.shared")
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
        return _KINDS[self._of(message).Extensions[self._kind]]

    def shared(self, message: DescriptorProto) -> bool:
        return bool(self._of(message).Extensions[self._shared])

    def _of(self, message: DescriptorProto) -> Any:
        return self._messages.FromString(message.options.SerializeToString())

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
        if protoc.main(["protoc", *paths, well_known, *what, *map(str, files), _OPTIONS]):
            raise ValueError("protoc refused the files; see above")
        described = descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes())
    options = _Options(described)
    wanted = {_relative(file, include) for file in files}
    written = []
    for file in described.file:
        if file.name in wanted and not file.service:
            if file.syntax != "proto3":
                raise UnsupportedProto(f'{file.name} is no proto3: begin it with syntax = "proto3";')
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
