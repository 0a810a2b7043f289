"""The message types of a trial by name, for messages that arrive as bytes."""

from __future__ import annotations

from collections.abc import Callable

from emulator.messages.coding import Reader, varint_size, write_varint
from emulator.messages.message import MalformedMessage, Message

Read = Callable[[bytes, int, int], Message]
_types: dict[str, tuple[type[Message], Read, str]] = {}


def register(kind: type[Message], read: Read, file: str) -> None:
    """Make a type known; generated modules do so when they are imported.

    `file` is the `.proto` file that the type comes from. Raises ValueError if another type has its name.
    """
    known = _types.setdefault(kind.NAME, (kind, read, file))[2]
    if known != file:
        raise ValueError(
            f"two message types are called {kind.NAME}: in {known} and in {file}. Rename one of them, "
            "or begin one of the files with another package"
        )


def message_type(name: str) -> type[Message]:
    """Return the class of that name. Raises KeyError if no imported module has it."""
    return _types[name][0]


def decode(name: str, data: bytes) -> Message:
    """Return the message. Raises KeyError for an unknown type, MalformedMessage for bad bytes."""
    return _types[name][1](data, 0, len(data))


def enclosed_size(message: Message) -> int:
    """Return the bytes of the `Enclosed` of a message."""
    name = len(message.NAME)
    size = message.byte_size()
    head = 1 + varint_size(name) + name
    return head + 1 + varint_size(size) + size if size else head


def write_enclosed(out: bytearray, message: Message) -> None:
    name = message.NAME.encode()
    out.append(0x0A)
    write_varint(out, len(name))
    out += name
    size = message.byte_size()
    if size:
        out.append(0x12)
        write_varint(out, size)
        message.write_to(out)


def read_enclosed(data: bytes, at: int, end: int) -> Message:
    """Return the message in an `Enclosed`. Raises MalformedMessage, also if its type is unknown."""
    reader = Reader(data, at, end)
    name, content = "", b""
    while reader.more():
        match tag := reader.varint():
            case 0x0A:
                name = reader.text()
            case 0x12:
                content = reader.content()
            case _:
                reader.skip(tag)
    try:
        return decode(name, content)
    except KeyError:
        raise MalformedMessage(f"it encloses a message of the unknown type {name[:80]!r}") from None
