"""The links of the small world's peers at a host."""

from __future__ import annotations

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.peer_ranges import NO_PLACE, PeerRanges
from emulator.protocols.gossip.profile_handles import HandleKeeper, ProfileHandles
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID, Heartbeats, KnownLinks
from trellis.v1.overlay import Contact, Profile, ProfileExchange


class Link:
    """A peer with which another one exchanges profiles, as the row of `Links` was when it was read."""

    __slots__ = ("peer", "profile", "said")

    def __init__(self, profile: Profile, said: ProfileExchange | None) -> None:
        self.peer = profile.peer
        self.profile = profile
        self.said = said
        """The peer's last heartbeat; None if it sent none, or has been silent for too long since."""


class Words:
    """The neighbours of one peer, with the last heartbeat of each, which is `NOTHING_SAID` if there is none.

    The first `count` are used. One list is filled again and again.
    """

    __slots__ = ("count", "peers", "said")

    def __init__(self) -> None:
        self.count: i64 = 0
        self.peers = vec[i64]()
        self.said = vec[i64]()

    def reserve(self, count: i64) -> None:
        """Make room for `count` neighbours."""
        while len(self.peers) < count:
            self.peers = append(self.peers, i64(0))
            self.said = append(self.said, NOTHING_SAID)


class Links(PeerRanges, HandleKeeper, KnownLinks):
    """The links of each peer, by the peer's row, in the order in which they came.

    A link is a place in four columns: the peer, the handle of its profile, when any peer last heard from it
    (s of trial time), and its last heartbeat, which is held.
    """

    def __init__(self, profiles: ProfileHandles, heartbeats: Heartbeats, direction: str) -> None:
        """`direction` names the links of one direction."""
        super().__init__()
        self.direction = direction
        self._profiles = profiles
        self._heartbeats = heartbeats
        self.handles = vec[i64]()
        self.heard = vec[float]()
        self.said = vec[i64]()
        profiles.add_keeper(self)

    def lengthen(self) -> None:
        self.handles = append(self.handles, i64(0))
        self.heard = append(self.heard, 0.0)
        self.said = append(self.said, NOTHING_SAID)

    def copy(self, place: i64, to: i64) -> None:
        self.handles[to] = self.handles[place]
        self.heard[to] = self.heard[place]
        self.said[to] = self.said[place]

    def empty(self, row: i64) -> None:
        """Remove all links of a row."""
        if row < len(self._counts):
            place: i64
            for place in range(self.begin(row), self.end(row)):
                self._forget(self.said[place])
        self.leave(row)

    def add(self, row: i64, peer: i64, handle: i64, heard: float, said: i64) -> None:
        """Add a link, which takes over the hold of what was said."""
        place = self.next_place(row, peer)
        self.handles[place] = handle
        self.heard[place] = heard
        self.said[place] = said

    def remove(self, row: i64, place: i64) -> None:
        """Remove a link."""
        self._forget(self.said[place])
        self.take_out(row, place)

    def hear(self, place: i64, heartbeat: i64, now: float) -> bool:
        """Note that the peer has sent a heartbeat.

        Returns whether it is known to have said the same before.
        """
        self.heard[place] = now
        return self._repeats(place, heartbeat)

    def hear_again(self, row: i64, sender: i64, heartbeat: i64, now: float) -> bool:
        place = self.find(row, sender)
        if place == NO_PLACE or not self._repeats(place, heartbeat):
            return False
        self.heard[place] = now
        return True

    def _repeats(self, place: i64, heartbeat: i64) -> bool:
        """Return whether a heartbeat is known to say the same as the last one, in whose place it then is."""
        before, contents = self.said[place], self._heartbeats.contents
        if before == heartbeat:
            return True
        if before == NOTHING_SAID or contents[before] != contents[heartbeat]:
            return False
        self.say(place, heartbeat)
        return True

    def say(self, place: i64, heartbeat: i64) -> None:
        """Keep what the peer said last; `NOTHING_SAID` if it counts no more."""
        if heartbeat != NOTHING_SAID:
            self._heartbeats.hold(heartbeat)
        self._forget(self.said[place])
        self.said[place] = heartbeat

    def renew(self, place: i64, handle: i64, heard: float) -> None:
        """Take over from what others tell of the peer the parts that are newer."""
        if heard > self.heard[place]:
            self.heard[place] = heard
        known = self.handles[place]
        if handle != known and self._profiles.is_newer(handle, known):
            self.handles[place] = handle

    def read(self, row: i64, sightings: Sightings) -> None:
        """Add the sightings of the peers at all links of a row."""
        begin, count, first = self._begins[row], self._counts[row], sightings.count
        sightings.reserve(first + count)
        to_peers, to_handles, to_heard = sightings.peers, sightings.handles, sightings.heard
        peers, handles, heard = self.peers, self.handles, self.heard
        place: i64
        for place in range(count):
            to_peers[first + place] = peers[begin + place]
            to_handles[first + place] = handles[begin + place]
            to_heard[first + place] = heard[begin + place]
        sightings.count = first + count

    def read_words(self, row: i64, words: Words) -> None:
        """Add what was said last over all links of a row."""
        begin, count, first = self._begins[row], self._counts[row], words.count
        words.reserve(first + count)
        place: i64
        for place in range(count):
            words.peers[first + place] = self.peers[begin + place]
            words.said[first + place] = self.said[begin + place]
        words.count = first + count

    def add_interested(self, row: i64, topic: i64, peers: set[int]) -> None:
        """Add the peers at the links of a row that are interested in a topic."""
        place: i64
        for place in range(self.begin(row), self.end(row)):
            if self._profiles.lists(self.handles[place], topic):
                peers.add(int(self.peers[place]))

    def contact(self, place: i64) -> Contact:
        """Return the contact of the peer at a link."""
        return self.contact_of(self.handles[place])

    def contact_of(self, handle: i64) -> Contact:
        """Return the contact that the profile of a handle tells."""
        profile = self._profiles.profile(handle)
        return Contact(profile.peer, profile.identifier)

    def links_of(self, row: i64) -> list[Link]:
        """Return the links of a row as they are now."""
        found: list[Link] = []
        place: i64
        for place in range(self.begin(row), self.end(row)):
            said = self.said[place]
            heartbeat = None if said == NOTHING_SAID else self._heartbeats.view(said)
            found.append(Link(self._profiles.profile(self.handles[place]), heartbeat))
        return found

    def mark(self, kept: vec[i64]) -> None:
        row: i64
        for row in range(len(self._counts)):
            place: i64
            for place in range(self.begin(row), self.end(row)):
                kept[self.handles[place]] = 1

    def _forget(self, heartbeat: i64) -> None:
        if heartbeat != NOTHING_SAID:
            self._heartbeats.release(heartbeat)
