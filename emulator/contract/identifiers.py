"""Identifiers of structured overlays, and the metrics that say how near two of them are.

An overlay says in which space its identifiers lie; a peer tells its own identifier to others in contacts and
profiles. Most overlays give a peer the hash of its number, so that identifiers are uniform.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

BITS: Final = 128
"""The length in bits of hashed identifiers and keys: the first 128 bits of SHA-1, as in Pastry."""
REMEMBERED_HASHES: Final = 1 << 16
"""The number of hashes that a process caches: the topics and peers of a large trial, in some 15 MB."""


@mypyc_attr(allow_interpreted_subclasses=True)
class IdentifierSpace(ABC):
    """A space of identifiers: whole numbers with a given number of bits, and a metric."""

    name: ClassVar[str]
    """The metric's name, as telemetry has it."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.size = 1 << bits
        self.mask = (1 << bits) - 1

    @abstractmethod
    def distance(self, a: int, b: int) -> int:
        """Return how far a message for the identifier or key `b`, now at `a`, is from its destination."""

    def way(self, a: int, b: int) -> int:
        """Return what greedy routing from `a` to `b` shortens at each hop, except for the last one to the
        destination."""
        return self.distance(a, b)


@mypyc_attr(allow_interpreted_subclasses=True)
class Ring(IdentifierSpace):
    """The ring whose distance is the shorter way round (Pastry, Symphony, Vitis)."""

    name: ClassVar[str] = "ring"

    def distance(self, a: int, b: int) -> int:
        clockwise = (b - a) & self.mask
        return min(clockwise, self.size - clockwise)


@mypyc_attr(allow_interpreted_subclasses=True)
class ClockwiseRing(IdentifierSpace):
    """The ring whose distance is the way from `b` clockwise to `a`: a key belongs to its successor (Chord,
    OSCAR)."""

    name: ClassVar[str] = "clockwise"

    def distance(self, a: int, b: int) -> int:
        return (a - b) & self.mask

    def way(self, a: int, b: int) -> int:
        return (b - a) & self.mask


@mypyc_attr(allow_interpreted_subclasses=True)
class Xor(IdentifierSpace):
    """The space whose distance is the exclusive or, read as a number (Kademlia)."""

    name: ClassVar[str] = "xor"

    def distance(self, a: int, b: int) -> int:
        return a ^ b


RING: Final = Ring(BITS)
"""The ring of hashed identifiers."""

SPACES: Final[dict[str, type[IdentifierSpace]]] = {
    "ring": Ring,
    "clockwise": ClockwiseRing,
    "xor": Xor,
}
"""The classes of identifier spaces by the name of their metric."""


@lru_cache(maxsize=REMEMBERED_HASHES)
def hash_of(name: str) -> int:
    """Return the identifier of anything that has a name."""
    return int.from_bytes(hashlib.sha1(name.encode()).digest()[: BITS // 8], "big")


def hash_of_peer(peer: int) -> int:
    """Return the identifier that a peer takes where an overlay wants uniform ones."""
    return hash_of(f"peer {peer}")


def hash_of_topic(topic: int) -> int:
    """Return the key of a topic: hash(t) of the papers."""
    if topic >= REMEMBERED_HASHES:
        return hash_of(f"topic {topic}")
    while topic >= len(_TOPIC_KEYS):
        _TOPIC_KEYS.append(hash_of(f"topic {len(_TOPIC_KEYS)}"))
    return _TOPIC_KEYS[topic]


_TOPIC_KEYS: Final[list[int]] = []
"""The keys of the first topics, by the topics' numbers."""


def skewed(identifier: int) -> int:
    """Return the identifier of 128 bits that a uniform one becomes where half of all lie in the lowest 2 **
    88.

    The logarithm of the result is uniform from 2 ** 48 on; the order is kept.
    """
    exponent = _LEAST_SKEWED + (BITS - _LEAST_SKEWED) * (identifier / (1 << BITS))
    whole = int(exponent)
    return min(int(2.0 ** (exponent - whole + 52)) << whole >> 52, (1 << BITS) - 1)


_LEAST_SKEWED: Final = 48


def encode(identifier: int) -> bytes:
    """Return a key as plans carry it: 16 bytes, big-endian."""
    return identifier.to_bytes(BITS // 8, "big")


def decode(encoded: bytes) -> int:
    """Return the identifier that these big-endian bytes stand for."""
    return int.from_bytes(encoded, "big")
