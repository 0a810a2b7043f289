"""Identifiers on the ring: peers and topics share one space, by a globally known hash.

64 bits of SHA-1 (Vitis, section III). Who knows a peer's number or a topic knows its identifier.
"""

from __future__ import annotations

import hashlib
from functools import cache

BITS = 64
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


def distance(a: int, b: int) -> int:
    """The shorter way round the ring."""
    clockwise = (b - a) & MASK
    return clockwise if clockwise <= HALF else SPACE - clockwise
