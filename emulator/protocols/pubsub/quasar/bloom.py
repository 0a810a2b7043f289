"""Attenuated Bloom filters (Rhea, Kubiatowicz, 2002), as Quasar uses them (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.bit_sets import bits
from emulator.contract.identifiers import BITS, hash_of_peer, hash_of_topic
from trellis.v1.quasar import AttenuatedFilter

_REMEMBERED: Final = 1 << 17
_REMEMBERED_FILTERS: Final = 1 << 16


class Hashing:
    """The bit positions of groups and peers.

    An identifier is the SHA-1 of a name. The first position is its first `width` bits, the second one the
    next `width` bits, and so on; `width` is 12 for a level of 512 bytes.
    """

    def __init__(self, level_bytes: int, hashes: int) -> None:
        self._width = (8 * level_bytes - 1).bit_length()
        self._hashes = hashes
        self._groups: dict[int, list[int]] = {}
        self._peers: dict[int, list[int]] = {}

    def of_group(self, topic: int) -> list[int]:
        """Return the positions of a group. The caller must not change the list."""
        found = self._groups.get(topic)
        if found is None:
            if len(self._groups) >= _REMEMBERED:
                self._groups.clear()
            found = self._groups[topic] = self.positions(hash_of_topic(topic))
        return found

    def of_peer(self, peer: int) -> list[int]:
        """Return the positions of a peer. The caller must not change the list."""
        found = self._peers.get(peer)
        if found is None:
            if len(self._peers) >= _REMEMBERED:
                self._peers.clear()
            found = self._peers[peer] = self.positions(hash_of_peer(peer))
        return found

    def positions(self, identifier: int) -> list[int]:
        """Return the positions of an identifier, from its most significant bits on."""
        mask = (1 << self._width) - 1
        return [(identifier >> (BITS - self._width * (n + 1))) & mask for n in range(self._hashes)]


_HASHING: Final[dict[tuple[int, int], Hashing]] = {}


def hashing_of(level_bytes: int, hashes: int) -> Hashing:
    """Return the hashing for levels of this size, one object for all peers of a process."""
    found = _HASHING.get((level_bytes, hashes))
    if found is None:
        found = _HASHING[level_bytes, hashes] = Hashing(level_bytes, hashes)
    return found


def contains(level: bytes, positions: Sequence[int]) -> bool:
    """Return whether all these bits of the level are set."""
    return all(level[position >> 3] & (1 << (position & 7)) for position in positions)


def home_level(level_bytes: int, entries: Iterable[Sequence[int]]) -> bytes:
    """Return a level that has the bits of these entries (Algorithm 1, lines 2 to 4)."""
    level = bytearray(level_bytes)
    for positions in entries:
        for position in positions:
            level[position >> 3] |= 1 << (position & 7)
    return bytes(level)


def merged(level_bytes: int, levels: Iterable[bytes]) -> bytes:
    """Return the union of levels (Algorithm 1, line 10)."""
    union = 0
    for level in levels:
        union |= int.from_bytes(level, "little")
    return union.to_bytes(level_bytes, "little")


def difference(one: AttenuatedFilter, other: AttenuatedFilter) -> vec[i64]:
    """Return the bits in which two filters of one size differ, numbered over all levels, ascending."""
    changed = int.from_bytes(b"".join(one.levels), "little") ^ int.from_bytes(
        b"".join(other.levels), "little"
    )
    found = vec[i64]()
    for bit in bits(changed):
        found = append(found, i64(bit))
    return found


def flipped(filter_: AttenuatedFilter, numbers: vec[i64]) -> AttenuatedFilter:
    """Return the filter with these bits flipped; the filter must have all of them."""
    size = len(filter_.levels[0])
    whole = bytearray(b"".join(filter_.levels))
    for number in numbers:
        whole[int(number >> 3)] ^= 1 << int(number & 7)
    return AttenuatedFilter([bytes(whole[at : at + size]) for at in range(0, len(whole), size)])


def fill(level: bytes) -> float:
    """Return the share of a level's bits that are set."""
    return int.from_bytes(level, "little").bit_count() / (8 * len(level))


class KnownFilters:
    """The latest filters of peers that the peers of one host know, so that all of them keep one object."""

    def __init__(self) -> None:
        self._latest: dict[int, AttenuatedFilter] = {}

    def shared(self, peer: int, filter_: AttenuatedFilter) -> AttenuatedFilter:
        """Return an equal filter of that peer that others at this host have already, or this one."""
        known = self._latest.get(peer)
        if known is not None and known.levels == filter_.levels:
            return known
        if len(self._latest) >= _REMEMBERED_FILTERS:
            # Most may be of peers that have gone; those that are in use are kept by who uses them.
            self._latest.clear()
        self._latest[peer] = filter_
        return filter_
