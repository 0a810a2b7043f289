"""Identifiers on the ring: peers, topics and keys share one space, by a globally known hash.

128 bits of SHA-1, as in Pastry. Who knows a peer's number or a topic knows its identifier.
"""

from __future__ import annotations

import hashlib
from functools import cache

BITS = 128
SPACE = 1 << BITS
MASK = SPACE - 1
HALF = SPACE >> 1


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha1(name.encode()).digest()[: BITS // 8], "big")


@cache
def of_peer(peer: int) -> int:
    """The identifier of a peer."""
    return _hash(f"peer {peer}")


@cache
def of_topic(topic: int) -> int:
    """The identifier of a topic: hash(t) of the papers."""
    return _hash(f"topic {topic}")


def encode(identifier: int) -> bytes:
    """As messages and plans carry it: 16 bytes, big-endian."""
    return identifier.to_bytes(BITS // 8, "big")


def decode(encoded: bytes) -> int:
    """The identifier that `encode` made these bytes of."""
    return int.from_bytes(encoded, "big")


def of_name(name: str) -> int:
    """The identifier of anything that has a name of its own."""
    return _hash(name)


def distance(a: int, b: int) -> int:
    """The shorter way round the ring."""
    clockwise = (b - a) & MASK
    return clockwise if clockwise <= HALF else SPACE - clockwise
