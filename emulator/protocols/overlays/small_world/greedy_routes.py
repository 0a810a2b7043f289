"""Greedy routing on the ring, which finds the neighbour that is closest to a key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter, itemgetter
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.contract.identifiers import REMEMBERED_HASHES, Ring, hash_of_topic
from emulator.kernels import next_hops
from emulator.protocols.gossip.profile_handles import ProfileHandles, place_of
from emulator.protocols.overlays.small_world.links import Links
from trellis.v1.overlay import Contact


class _TopicKeys:
    """The highest bits of the keys of the first topics."""

    def __init__(self) -> None:
        self._keys = vec[i64]()

    def first(self, count: int) -> vec[i64]:
        """Return the keys of at least `count` topics, by the topics' numbers."""
        while len(self._keys) < count:
            self._keys = append(self._keys, place_of(hash_of_topic(len(self._keys))))
        return self._keys


_TOPIC_KEYS: Final = _TopicKeys()


class GreedyRoutes:
    """The ring cut into regions: a key goes to the neighbour in whose region it lies."""

    def __init__(self, space: Ring, own: Contact) -> None:
        """`own` is the peer that routes."""
        self._space = space
        self._own = own
        self._starts: list[int] = []
        self._closest: list[Contact] = []
        self.rebuild(())

    def rebuild(self, neighbours: Iterable[Contact]) -> None:
        """Route over these neighbours from now on."""
        mask = self._space.mask
        ring = sorted([self._own, *neighbours], key=attrgetter("identifier"))
        regions: list[tuple[int, Contact]] = []
        before = ring[-1].identifier
        for contact in ring:
            gap = (contact.identifier - before) & mask
            # A key half-way between two belongs to the first; a peer that is alone has the whole ring.
            regions.append(((before + gap // 2 + 1) & mask, contact))
            before = contact.identifier
        regions.sort(key=itemgetter(0))
        self._starts = [start for start, _ in regions]
        self._closest = [contact for _, contact in regions]

    def next_hop(self, key: int) -> Contact | None:
        """Return the closest neighbour, or None if no neighbour is closer than the peer itself."""
        # Index -1, before the first border, is the region that reaches over the end of the ring.
        closest = self._closest[bisect_right(self._starts, key) - 1]
        return None if closest is self._own else closest

    def next_hops(self, topics: vec[i32]) -> dict[int, vec[i32]]:
        """Return the topics by the peer that is the next hop for their keys, without those of which this peer
        is the closest to the key."""
        by_hop: dict[int, vec[i32]] = {}
        for topic in topics:
            hop = self.next_hop(hash_of_topic(int(topic)))
            if hop is not None:
                by_hop[hop.peer] = append(by_hop.get(hop.peer, vec[i32]()), topic)
        return by_hop


def next_hops_by_places(
    topics: vec[i32], table: Links, row: i64, profiles: ProfileHandles, own: Contact
) -> dict[int, vec[i32]] | None:
    """Return the next hops over the links of a row, None if only whole identifiers tell them."""
    count = int(topics[len(topics) - 1]) + 1 if len(topics) else 0
    if count > REMEMBERED_HASHES:
        return None
    return next_hops(
        topics,
        _TOPIC_KEYS.first(count),
        table.handles,
        int(table.begin(row)),
        int(table.end(row)),
        profiles.places,
        profiles.peers,
        int(place_of(own.identifier)),
    )
