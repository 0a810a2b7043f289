"""Whether a message is still what it was: a number made of all its fields, those of its parts too."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.messages.message import Part


def fingerprint(part: Part) -> int:
    """Equal while nobody changes the message or one of its parts, within one process.

    It looks at the fields, because parts that are shared keep the bytes that they were first encoded to.
    """
    return hash(_contents(part))


def _contents(value: object) -> object:
    if isinstance(value, Part):
        return (type(value).__name__, *[_contents(getattr(value, name)) for name in value.FIELDS])
    if isinstance(value, list):
        return tuple([_contents(each) for each in value])
    if isinstance(value, float):
        return value.hex()  # a NaN is unequal to itself
    if value is None or isinstance(value, (int, str, bytes)):
        return value
    assert isinstance(value, Iterable)  # a vector of numbers
    return tuple(value)
