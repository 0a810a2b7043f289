"""The base of the message classes that `generate` writes."""

from __future__ import annotations

from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

PART: Final = 0
EVENT: Final = 1
NOTIFICATION: Final = 2
CONTROL: Final = 3
MAINTENANCE: Final = 4
KINDS: Final = ("part", "event", "notification", "control", "maintenance")
"""The names of the kinds, by number; `protos/trellis/v1/options.proto` says what they mean."""


class MalformedMessage(ValueError):
    """The bytes are no message of this type."""


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class Part:
    """A record of fields that messages are made of. It is never changed after it was sent.

    Fields may be shared by reference between messages, and between peers on the virtual clock.
    """

    __slots__ = ("_size",)

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._size = -1

    def byte_size(self) -> int:
        """Return the length of the encoded message, in bytes. Raises ValueError if `measure` gives a negative
        one."""
        size = self._size
        if size < 0:
            size = self._size = self.measure()
            if size < 0:
                raise ValueError(
                    f"{type(self).__module__}.{type(self).__name__} says that it has {size} bytes"
                )
        return size

    def measure(self) -> int:
        """Compute the length that `byte_size` keeps, in bytes."""
        raise TypeError(f"{type(self).__name__} was not generated")

    def write_to(self, out: bytearray) -> None:
        """Append the encoded message, as the protobuf library encodes it; a negative zero is left out."""
        raise TypeError(f"{type(self).__name__} was not generated")

    def encode(self) -> bytes:
        """Return the encoded message."""
        out = bytearray()
        self.write_to(out)
        return bytes(out)

    def travelled(self) -> int:
        """Return the overlay hops that the event has made on arrival; -1 if the message does not say."""
        return -1

    def event_number(self) -> int:
        """Return the number of the event that the message is about; -1 if it does not say."""
        return -1

    def topic_number(self) -> int:
        """Return the number of the topic that the message is about; -1 if it does not say."""
        return -1

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"


@mypyc_attr(acyclic=True)
class SharedPart(Part):
    """A part that peers pass on as it is. It is encoded once, and all peers that get equal bytes share it."""

    __slots__ = ("_encoded", "store_handle")

    def __init__(self) -> None:
        super().__init__()
        self._encoded = b""
        self.store_handle = -1
        """The number by which a store of this host knows the part; -1 if none does."""

    def write_to(self, out: bytearray) -> None:
        if not self._encoded:
            encoded = bytearray()
            self.write_fields(encoded)
            self._encoded = bytes(encoded)
        out += self._encoded

    def write_fields(self, out: bytearray) -> None:
        """Append the encoded fields, which `write_to` keeps."""
        raise TypeError(f"{type(self).__name__} was not generated")


@mypyc_attr(acyclic=True)
class Undecoded(Part):
    """A part that came as bytes: what rides on another protocol's message, whose type its reader knows."""

    __slots__ = ("content",)

    FIELDS: ClassVar[tuple[str, ...]] = ("content",)

    def __init__(self, content: bytes) -> None:
        self._size = -1
        self.content = content

    def measure(self) -> int:
        return len(self.content)

    def write_to(self, out: bytearray) -> None:
        out += self.content


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class Message(Part):
    """A record that peers send each other."""

    __slots__ = ()

    NAME: ClassVar[str] = ""
    """The type's name with its proto package, such as `swim_fd.Ping`; types of Trellis have no
    package in it."""

    def kind(self) -> int:
        """Return the purpose of the message: EVENT, NOTIFICATION, CONTROL or MAINTENANCE."""
        raise TypeError(f"{type(self).__name__} was not generated")
