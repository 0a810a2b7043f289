"""Intervals of the identifier circle, which wrap around (ToN 2003, section IV).

An interval from an identifier to itself is the whole circle, because a peer that is alone is its own
successor.
"""

from __future__ import annotations


def between(begin: int, identifier: int, end: int, mask: int) -> bool:
    """Return whether the identifier lies in the open interval (begin, end). `mask` has all its bits set."""
    offset = (identifier - begin) & mask
    length = (end - begin) & mask
    return offset != 0 and (length == 0 or offset < length)


def up_to(begin: int, identifier: int, end: int, mask: int) -> bool:
    """Return whether the identifier lies in the half-open interval (begin, end]."""
    length = (end - begin) & mask
    return length == 0 or 0 < (identifier - begin) & mask <= length
