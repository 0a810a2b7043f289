"""The routing table: a binary tree whose leaves are k-buckets, and when one splits (2.4, 4.2)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator

from emulator.protocols.overlays.kademlia.k_bucket import KBucket, KnownContact
from trellis.v1.overlay import Contact


class RoutingTable:
    """The k-buckets of one peer, which together cover all identifiers."""

    def __init__(self, own: int, bits: int, k: int, b: int) -> None:
        """`own` is this peer's identifier, of `bits` bits."""
        self._own = own
        self._bits = bits
        self._k = k
        self._b = b
        self.buckets = [KBucket(0, 0, -math.inf)]
        """The leaves of the tree, the lowest identifiers first."""
        self._lows = [0]
        self._known: dict[int, KnownContact] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[KnownContact]:
        return iter(self._known.values())

    def get(self, peer: int) -> KnownContact | None:
        """Return what is known of a peer, None if it is no contact."""
        return self._known.get(peer)

    def bucket_of(self, identifier: int) -> KBucket:
        """Return the bucket in whose range an identifier lies."""
        return self.buckets[bisect_right(self._lows, identifier) - 1]

    def is_own(self, bucket: KBucket) -> bool:
        """Return whether this peer's own identifier lies in the range of the bucket."""
        return self._begins_alike(bucket.low, bucket.depth)

    def bucket_for(self, identifier: int) -> KBucket:
        """Return the bucket of a newcomer, after the splits that make room for it where the rules allow."""
        bucket = self.bucket_of(identifier)
        while len(bucket.contacts) >= self._k and self._may_split(bucket):
            self._split(bucket)
            bucket = self.bucket_of(identifier)
        return bucket

    def add(self, bucket: KBucket, known: KnownContact) -> None:
        """Add a contact as the most recently seen one of its bucket, which has room."""
        bucket.cache.pop(known.contact.peer, None)
        bucket.contacts[known.contact.peer] = known
        self._known[known.contact.peer] = known

    def remove(self, known: KnownContact) -> None:
        """Remove a contact."""
        del self.bucket_of(known.contact.identifier).contacts[known.contact.peer]
        del self._known[known.contact.peer]

    def closest(self, key: int, count: int, now: float, but: int = -1) -> list[Contact]:
        """Return up to `count` contacts that are not locked, the closest to the key first.

        The peer `but` is left out.
        """
        found: list[tuple[int, Contact]] = []
        order = [(self._distance(bucket, key), place) for place, bucket in enumerate(self.buckets)]
        order.sort()
        for _, place in order:
            for peer, known in self.buckets[place].contacts.items():
                if known.locked_until <= now and peer != but:
                    found.append((known.contact.identifier ^ key, known.contact))
            if len(found) >= count:
                break
        found.sort(key=_by_distance)
        return [contact for _, contact in found[:count]]

    def _distance(self, bucket: KBucket, key: int) -> int:
        """Return the least distance of an identifier in the bucket's range to the key."""
        beyond = self._bits - bucket.depth
        return (bucket.low ^ key) >> beyond << beyond

    def _begins_alike(self, identifier: int, depth: int) -> bool:
        return (identifier ^ self._own) >> (self._bits - depth) == 0

    def _may_split(self, bucket: KBucket) -> bool:
        """Return whether a full bucket splits.

        It does if this peer's own identifier lies in it, if its depth is no multiple of b, or if it belongs
        to the smallest subtree around this peer that has at least k contacts, all of which are kept.
        """
        if bucket.depth == self._bits:
            return False
        if self.is_own(bucket) or bucket.depth % self._b:
            return True
        alike = self._bits - (bucket.low ^ self._own).bit_length()
        nearer = 0
        for each in self.buckets:
            if each.depth > alike and self._begins_alike(each.low, alike + 1):
                nearer += len(each.contacts)
        return nearer < self._k

    def _split(self, bucket: KBucket) -> None:
        place = bisect_right(self._lows, bucket.low) - 1
        depth = bucket.depth + 1
        middle = bucket.low | 1 << (self._bits - depth)
        halves = [KBucket(low, depth, bucket.looked_up) for low in (bucket.low, middle)]
        for peer, known in bucket.contacts.items():
            halves[known.contact.identifier >= middle].contacts[peer] = known
        for peer, known in bucket.cache.items():
            halves[known.contact.identifier >= middle].cache[peer] = known
        self.buckets[place : place + 1] = halves
        self._lows[place : place + 1] = [bucket.low, middle]


def _by_distance(found: tuple[int, Contact]) -> int:
    return found[0]
