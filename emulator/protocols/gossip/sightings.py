"""Sightings: what a peer knows of other peers by gossip."""

from __future__ import annotations

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.protocols.gossip.profile_handles import ProfileHandles, is_sound
from trellis.v1.overlay import Profile


class Sightings:
    """Peers, the handles of their profiles, and when any peer last heard from each (s of trial time).

    A peer has one place in all three lists, of which the first `count` are used. One list is filled again
    and again, so that merging and choosing allocate nothing.
    """

    __slots__ = ("count", "handles", "heard", "peers")

    def __init__(self) -> None:
        self.count: i64 = 0
        self.peers = vec[i64]()
        self.handles = vec[i64]()
        self.heard = vec[float]()

    def __len__(self) -> int:
        return int(self.count)

    def clear(self) -> None:
        """Forget all peers."""
        self.count = 0

    def add(self, peer: i64, handle: i64, heard: float) -> None:
        """Add a peer."""
        place = self.count
        if place == len(self.peers):
            self.peers = append(self.peers, peer)
            self.handles = append(self.handles, handle)
            self.heard = append(self.heard, heard)
        else:
            self.peers[place] = peer
            self.handles[place] = handle
            self.heard[place] = heard
        self.count = place + 1

    def reserve(self, count: i64) -> None:
        """Make room for `count` peers, so that a store can write them into the three lists itself."""
        while len(self.peers) < count:
            self.peers = append(self.peers, i64(0))
            self.handles = append(self.handles, i64(0))
            self.heard = append(self.heard, 0.0)

    def renew(self, place: i64, handle: i64, heard: float, profiles: ProfileHandles) -> None:
        """Take over the newer parts of another sighting of the peer at this place."""
        if heard > self.heard[place]:
            self.heard[place] = heard
        known = self.handles[place]
        if handle != known and profiles.is_newer(handle, known):
            self.handles[place] = handle

    def find(self, peer: i64) -> i64:
        """Return the place of a peer, -1 if it is not among them."""
        peers = self.peers
        place: i64
        for place in range(self.count):
            if peers[place] == peer:
                return place
        return -1

    def tell(self, profiles: list[Profile], ages_ms: vec[i64], now: float, handles: ProfileHandles) -> str:
        """Take over what a message tells: profiles, and the ages (ms) since each was heard from.

        Returns what is wrong with the message, of which nothing is taken over then; no text if it is right.
        """
        self.clear()
        if len(profiles) != len(ages_ms):
            return "its lists do not fit together"
        if not all(is_sound(profile) for profile in profiles):
            return "a profile in it names no peer"
        for place, profile in enumerate(profiles):
            handle = handles.take(profile)
            self.add(handles.peer(handle), handle, now - ages_ms[i64(place)] / 1000)
        return ""


def age_ms(heard: float, now: float) -> i64:
    """Return the time since a peer was heard from, in whole milliseconds, for a message."""
    if heard < now:
        return i64((now - heard) * 1000)
    return 0
