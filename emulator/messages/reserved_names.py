"""The names that messages, fields and enum values may not have, because the generated code needs them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from emulator.messages.message import Message, SharedPart

CODING = (
    "SHARED", "Reader", "bit_set_size", "identifier_size", "signed", "unzigzag", "varint_size",
    "varints_size", "vector_size", "write_bit_set", "write_double", "write_float", "write_identifier",
    "write_varint", "write_vector", "zigzag",
)  # fmt: skip
"""The names of `emulator.messages.coding` that generated modules import."""
CATALOGUE = ("enclosed_size", "read_enclosed", "register", "write_enclosed")
"""The names of `emulator.messages.catalogue` that they import."""
BASES = ("Message", "Part", "SharedPart", "Undecoded")
"""The classes of `emulator.messages.message` that they import."""
_OF_MODULES = frozenset((
    *CODING, *CATALOGUE, *BASES,
    "ClassVar", "annotations", "append", "i64", "lru_cache", "mypyc_attr", "vec",
    "bool", "bytearray", "bytes", "float", "int", "len", "list", "max", "staticmethod", "str", "tuple",
))  # fmt: skip
_OF_CLASSES = frozenset((*dir(Message), *dir(SharedPart), "NAME", "kind", "read", "read_anew", "self"))
Line = Callable[[tuple[int, ...]], int]
"""A function that returns the line of what has this path in a file's descriptor."""


def check_names(proto: FileDescriptorProto, line: Line) -> Iterator[str]:
    """Yield what is wrong with the names of a file, each with file, line and the fix."""
    for part in PurePosixPath(proto.name).with_suffix("").parts:
        if not part.isidentifier() or keyword.iskeyword(part) or part.startswith("__"):
            yield f'{proto.name}: Python cannot import a module "{part}". Rename the file or folder'
    for index, message in enumerate(proto.message_type):
        if why := _why(message.name, _OF_MODULES, "every generated module has it"):
            yield f"{proto.name}:{line((4, index, 1))}: the message {message.name}: {why}. Rename it"
        yield from _fields(proto.name, message, (4, index), line)
    for index, enum in enumerate(proto.enum_type):
        for number, value in enumerate(enum.value):
            if why := _why(value.name, _OF_MODULES, "every generated module has it"):
                where = f"{proto.name}:{line((5, index, 2, number, 1))}"
                yield f"{where}: the value {enum.name}.{value.name}: {why}. Rename it"


def _fields(file: str, message: DescriptorProto, path: Sequence[int], line: Line) -> Iterator[str]:
    counted = {f"{field.name}_count": field.name for field in message.field}
    for number, field in enumerate(message.field):
        why = _why(field.name, _OF_CLASSES, "every generated class has it")
        if not why and field.name in counted:
            why = f"that is how the size of the field {counted[field.name]} is called, if it is a bit_set"
        if why:
            where = f"{file}:{line((*path, 2, number, 1))}: the field {message.name}.{field.name}"
            yield f"{where}: {why}. Rename it, such as to {field.name.strip('_') or 'a'}_value"


def _why(name: str, taken: frozenset[str], owner: str) -> str:
    """Return why a name cannot be used, or an empty text."""
    if keyword.iskeyword(name):
        return "it is a word of Python's own"
    if not re.match("[A-Za-z]", name):
        return "a name begins with a letter"
    return owner if name in taken else ""
