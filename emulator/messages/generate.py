"""Writes message classes from `.proto` files.

    python -m emulator.messages.generate --include protos --out generated FILE.proto ...

`a/b.proto` becomes the module `a/b.py`. Maps, oneofs and services have no place in messages of peers: files
with services are for the protobuf library alone.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from emulator.messages.fields import ENCLOSED, Field, UnsupportedProto
from emulator.messages.options import KINDS, TOLD, Options
from emulator.messages.reserved_names import BASES, CATALOGUE, CODING, check_names

_F = FieldDescriptorProto
_OPTIONS = "trellis/v1/options.proto"
_OWN_PACKAGE = "trellis.v1"
"""The proto package of Trellis, whose messages are named without it."""
_GENERATED = re.compile(r'"""Messages of \S+\. Generated: change that file instead\."""|\s*\Z')
"""The beginning of a module that was generated, or all of an empty one."""
_LONGEST_NAME = 200
"""The most characters of a name that hosts take from the network."""


class Made(NamedTuple):
    """A module that was written, with its message types."""

    path: Path
    types: list[tuple[str, str, str]]
    """The class, the name in telemetry and on the wire, and the kind; a part has no name."""


def _indent(lines: Iterator[str] | Sequence[str], levels: int) -> list[str]:
    return ["    " * levels + line for line in lines]


class _File:
    """One `.proto` file, from which a module is made."""

    def __init__(self, proto: FileDescriptorProto, options: Options) -> None:
        self._proto = proto
        self._options = options
        self._comments = {
            tuple(location.path): location.leading_comments.strip() or location.trailing_comments.strip()
            for location in proto.source_code_info.location
        }
        self._lines = {
            tuple(location.path): location.span[0] + 1 for location in proto.source_code_info.location
        }

    def module(self) -> str:
        """Return the text of the module. Raises UnsupportedProto for what classes cannot express."""
        if wrong := list(check_names(self._proto, lambda path: self._lines.get(path, 1))):
            raise UnsupportedProto("\n".join(wrong))
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
        coding = [name for name in CODING if f"{name}(" in text or f"={name})" in text]
        catalogue = [name for name in CATALOGUE if f"{name}(" in text]
        if catalogue:
            lines.append(f"from emulator.messages.catalogue import {', '.join(catalogue)}")
        if coding:
            lines.append(f"from emulator.messages.coding import {', '.join(coding)}")
        bases = [base for base in BASES if f"({base})" in text or f"{base} |" in text or f"= {base}(" in text]
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
        """Yield the imports of other files' types that fields have."""
        wanted: dict[str, set[str]] = {}
        own = {f".{self._proto.package}.{message.name}" for message in self._proto.message_type}
        homes = {name.rsplit(".", 1)[1]: name for name in own}
        for message in self._proto.message_type:
            for field in message.field:
                name = field.type_name
                if field.type == _F.TYPE_MESSAGE and name not in own and name != ENCLOSED:
                    other = homes.setdefault(name.rsplit(".", 1)[1], name)
                    if other != name:
                        raise UnsupportedProto(
                            f"{self._proto.name}: {other[1:]} and {name[1:]} would be one class in Python. "
                            "Rename one of them"
                        )
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
        carried = [
            (number, field) for field in fields if (number := self._carried(message, field.name, kind))
        ]
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
        # Messages never refer to messages that refer to them, so Python's garbage collector need not look at
        # them.
        lines = ["", "", "@mypyc_attr(acyclic=True)", f"class {name}({base}):"]
        lines += [f"    {_docstring(comment)}", ""]
        lines += [f"    __slots__ = ({slots})", "", f"    FIELDS: ClassVar[tuple[str, ...]] = ({listed})"]
        if base == "Message":
            lines.append(f'    NAME: ClassVar[str] = "{self.name_of(message)}"')
        arguments = "".join(f", {field.argument}" for field in fields)
        lines += ["", f"    def __init__(self{arguments}) -> None:", "        self._size = -1"]
        if shared:
            lines += ['        self._encoded = b""', "        self.store_handle = -1"]
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
            lines += ["", "    def kind(self) -> int:"]
            for number, field in sorted(carried, key=lambda each: each[0]):
                lines += [f"        if {field.is_set()}:", f"            return {number}"]
            lines.append(f"        return {self._kind(kind, fields, name)}")
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

    def types(self) -> list[tuple[str, str, str]]:
        """Return the class, name and kind of each message type; parts have no name."""
        kinds = [self._options.kind(message) for message in self._proto.message_type]
        return [
            (message.name, "" if kind == "PART" else self.name_of(message), kind.lower().replace("_", " "))
            for message, kind in zip(self._proto.message_type, kinds, strict=True)
        ]

    def name_of(self, message: DescriptorProto) -> str:
        """Return the type's name in telemetry and on the wire.

        Raises UnsupportedProto if the name cannot be used.
        """
        package = self._proto.package
        if not package:
            raise UnsupportedProto(
                f"{self._proto.name} names no package, and {message.name} may be the name of a message of "
                "others too: begin it with package NAME;"
            )
        name = message.name if package == _OWN_PACKAGE else f"{package}.{message.name}"
        if len(name) > _LONGEST_NAME:
            raise UnsupportedProto(f"{self._proto.name}: {name} is longer than {_LONGEST_NAME} characters")
        return name

    def _carried(self, message: DescriptorProto, field: str, kind: str) -> int:
        """Return the number of the kind of a message whose field is set; 0 if it keeps its own."""
        carries = self._options.carries(message, field)
        if carries == "PART":
            return 0
        where = f"{self._proto.name}: {message.name}.{field}"
        if kind in ("PART", "AS_ENCLOSED"):
            raise UnsupportedProto(f"{where} carries {carries}, but {message.name} has no kind of its own")
        if KINDS.index(carries) >= KINDS.index(kind):
            raise UnsupportedProto(
                f"{where} carries {carries}, but {message.name} is {kind} already. Kinds go from EVENT over "
                "NOTIFICATION and CONTROL to MAINTENANCE, and a field can only carry an earlier one"
            )
        return KINDS.index(carries)

    def _kind(self, kind: str, fields: Sequence[Field], name: str) -> str:
        if kind != "AS_ENCLOSED":
            return str(KINDS.index(kind))
        enclosing = self._enclosing(fields, name)
        return f"{enclosing}.kind() if {enclosing} is not None else {KINDS.index('CONTROL')}"

    def _enclosing(self, fields: Sequence[Field], name: str) -> str:
        """Return the attribute that holds the enclosed message.

        Raises UnsupportedProto unless there is just one.
        """
        enclosing = [f"self.{field.name}" for field in fields if field.message == ENCLOSED]
        if len(enclosing) != 1:
            raise UnsupportedProto(
                f"{self._proto.name}: {name} is AS_ENCLOSED, but encloses no single message"
            )
        return enclosing[0]


def _told_by_enclosed(own: Mapping[str, str], enclosed: str) -> dict[str, str]:
    """Return what an enclosing message tells telemetry: as the enclosed one, with the hops of both."""
    absent = f" if {enclosed} is not None else -1"
    found = {method: f"{enclosed}.{method}(){absent}" for method in TOLD.values()}
    if "travelled" in own:
        hops = own["travelled"]
        found["travelled"] = f"{hops} + max({enclosed}.travelled(), 0) if {enclosed} is not None else {hops}"
    return found


def _docstring(comment: str) -> str:
    text = comment.replace("\\", "\\\\").replace('"""', "'''").strip('"')
    return f'"""{text[:1].upper()}{text[1:]}{"" if text.endswith((".", "?", "!")) else "."}"""'


def generate(
    files: Sequence[Path], include: Sequence[Path], out: Path, reserved: str | None = None
) -> list[Made]:
    """Write the modules of these files below `out`. Raises UnsupportedProto or ValueError.

    A file of the package `reserved`, or of a package below it, is refused.
    """
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "descriptors"
        paths = [f"--proto_path={path}" for path in include]
        well_known = f"--proto_path={Path(protoc.__file__).parent / '_proto'}"
        what = ["--include_imports", "--include_source_info", f"--descriptor_set_out={found}"]
        if protoc.main(["protoc", *paths, well_known, *what, *map(str, files), _OPTIONS]):
            raise ValueError("protoc refused the files; see above")
        described = descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes())
    options = Options(described)
    wanted = {_relative(file, include) for file in files}
    written = []
    for file in described.file:
        if file.name in wanted and not file.service:
            if file.syntax != "proto3":
                raise UnsupportedProto(f'{file.name} is no proto3: begin it with syntax = "proto3";')
            if reserved and f"{file.package}.".startswith(f"{reserved}."):
                raise UnsupportedProto(
                    f"{file.name}: the package {file.package} is Trellis' own. Begin the file with package "
                    "NAME; where NAME is that of your Python package"
                )
            path = out / file.name.removesuffix(".proto")
            path = path.with_name(f"{path.name}.py")
            made = _File(file, options)
            text = made.module()
            if path.exists() and not _GENERATED.match(path.read_text(errors="replace")):
                mend = f"Rename {file.name}, or give another --out"
                raise UnsupportedProto(f"{path} is there already, and was not generated. {mend}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            written.append(Made(path, made.types()))
    return written


def _relative(file: Path, include: Sequence[Path]) -> str:
    for folder in include:
        if file.resolve().is_relative_to(folder.resolve()):
            return str(file.resolve().relative_to(folder.resolve()))
    raise ValueError(f"{file} is in no --include folder")


def main() -> None:
    """Run the program. It exits with 2 and a message if a file cannot be used."""
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
