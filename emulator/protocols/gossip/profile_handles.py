"""The profiles that the peers of a host know, kept once for all of them and named by small numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64, trait

from emulator.compact.bit_sets import bits
from emulator.contract.identifiers import BITS
from emulator.messages.coding import varint_size
from trellis.v1.overlay import Profile

RING_BITS: Final = 62
"""The highest bits of an identifier, which are kept: far fewer tell peers apart."""
_RING_MASK: Final = (1 << RING_BITS) - 1
_HALF_OF_AGES: Final = 1 << 63
"""Sessions and versions have 32 bits each; together they are a number of 64 bits with a sign."""
_LEAST_SWEPT: Final[i64] = 4096
"""No profile is freed before there are this many."""


def place_of(identifier: int) -> i64:
    """Return where an identifier or a key is on the ring, in units of 2^-62 of the whole."""
    return i64((identifier >> (BITS - RING_BITS)) & _RING_MASK)


@trait
class HandleKeeper:
    """A store that keeps handles of profiles."""

    @abstractmethod
    def mark(self, kept: vec[i64]) -> None:
        """Set `kept[handle]` to 1 for each handle that the store keeps."""


def is_sound(profile: Profile) -> bool:
    """Return whether a profile that came from elsewhere names a peer, a session and a version of 32 bits."""
    return max(profile.peer, profile.session, profile.version) < 1 << 32


class ProfileHandles:
    """Profiles by handle, with the numbers that gossip reads of each.

    Peers pass most profiles on without reading them, so that a number of 8 bytes serves in place of an
    object, whose count of references would have to be fetched. A profile keeps its handle until no store
    keeps it and `tidy` is called.
    """

    def __init__(self) -> None:
        self.sweeps = 0
        """The number of times that handles were freed, after which a handle may stand for another profile."""
        self._profiles: list[Profile | None] = []
        self.peers = vec[i64]()
        """The number of each profile's peer."""
        self.places = vec[i64]()
        """Where each profile's peer is on the ring, in units of 2^-62 of the whole."""
        self.sizes = vec[i64]()
        """The bytes that each profile takes in a message that repeats profiles, its tag included."""
        self.topics = vec[i32]()
        """The topics of all profiles: those of one lie side by side."""
        self.begins = vec[i64]()
        """Where in `topics` the topics of each profile begin."""
        self.counts = vec[i64]()
        """The number of topics of each profile."""
        self.rates = vec[float]()
        """The rate of each topic of a profile (events/s); NaN if topics have rates of their own."""
        self._left: dict[int, list[int]] = {}
        """The begins in `topics` that freed profiles have left, by the number of topics there."""
        self._ages = vec[i64]()
        self._free: list[int] = []
        self._keepers: list[HandleKeeper] = []
        self._due: i64 = _LEAST_SWEPT

    def add_keeper(self, keeper: HandleKeeper) -> None:
        """Free no handle that this store keeps."""
        self._keepers.append(keeper)

    def take(self, profile: Profile) -> i64:
        """Return the handle of a profile that `is_sound`, a new one if it has none."""
        known: i64 = profile.store_handle
        if 0 <= known < len(self._profiles) and self._profiles[int(known)] is profile:
            return known
        size = profile.byte_size()
        if self._free:
            handle = self._free.pop()
            self._profiles[handle] = profile
        else:
            handle = len(self._profiles)
            self._profiles.append(profile)
            self.peers = append(self.peers, i64(0))
            self.places = append(self.places, i64(0))
            self.sizes = append(self.sizes, i64(0))
            self.begins = append(self.begins, i64(0))
            self.counts = append(self.counts, i64(0))
            self.rates = append(self.rates, 0.0)
            self._ages = append(self._ages, i64(0))
        profile.store_handle = handle
        taken = i64(handle)
        self.peers[taken] = i64(profile.peer)
        self.places[taken] = place_of(profile.identifier)
        self.sizes[taken] = i64(1 + varint_size(size) + size)
        self._ages[taken] = i64((profile.session << 32 | profile.version) - _HALF_OF_AGES)
        self.rates[taken] = math.nan if profile.rates else profile.rate
        self._take_topics(taken, bits(profile.topics))
        return taken

    def _take_topics(self, handle: i64, topics: list[int]) -> None:
        """Write the topics of a profile to a range of their number."""
        left = self._left.get(len(topics))
        begin = i64(left.pop()) if left else i64(len(self.topics))
        self.begins[handle] = begin
        self.counts[handle] = len(topics)
        place = begin
        for topic in topics:
            if place == len(self.topics):
                self.topics = append(self.topics, i32(topic))
            else:
                self.topics[place] = i32(topic)
            place += 1

    def profile(self, handle: i64) -> Profile:
        """Return the profile of a handle that is kept."""
        profile = self._profiles[int(handle)]
        assert profile is not None, "nobody keeps the handle"
        return profile

    def peer(self, handle: i64) -> i64:
        """Return the number of the profile's peer."""
        return self.peers[handle]

    def topics_of(self, handle: i64) -> vec[i32]:
        """Return the topics of the profile, ascending."""
        begin = self.begins[handle]
        return self.topics[begin : begin + self.counts[handle]]

    def lists(self, handle: i64, topic: i64) -> bool:
        """Return whether the topic is among those of the profile."""
        topics = self.topics
        low = self.begins[handle]
        high = end = low + self.counts[handle]
        while low < high:
            middle = (low + high) >> 1
            if i64(topics[middle]) < topic:
                low = middle + 1
            else:
                high = middle
        return low < end and i64(topics[low]) == topic

    def is_newer(self, one: i64, other: i64) -> bool:
        """Return whether `one` replaces `other`, both of the same peer."""
        return self._ages[one] > self._ages[other]

    def tidy(self) -> None:
        """Free the handles that no store keeps, if there are twice as many as were left the last time.

        To be called while nobody works with a handle.
        """
        if i64(len(self._profiles) - len(self._free)) < self._due:
            return
        kept = vec[i64]([i64(0)] * len(self._profiles))
        for keeper in self._keepers:
            keeper.mark(kept)
        for handle, profile in enumerate(self._profiles):
            if profile is not None and not kept[i64(handle)]:
                profile.store_handle = -1
                self._profiles[handle] = None
                self._free.append(handle)
                self._left.setdefault(int(self.counts[i64(handle)]), []).append(int(self.begins[i64(handle)]))
        self.sweeps += 1
        self._due = max(_LEAST_SWEPT, 2 * i64(len(self._profiles) - len(self._free)))
