"""Fingerprints of messages: a number made of all fields, by which a change of a message is noticed."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.messages.message import Part


def fingerprint(part: Part) -> int:
    """Return a number that stays equal while neither the message nor its parts change, within one process.

    The function reads the fields, because shared parts keep the bytes of their first encoding.
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
