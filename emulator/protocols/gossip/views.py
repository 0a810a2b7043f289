"""The Newscast views of the peers of a host."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.peer_positions import PeerPositions
from emulator.protocols.gossip.profile_handles import HandleKeeper, ProfileHandles
from emulator.protocols.gossip.sightings import Sightings

_PLACES: Final = PeerPositions()
_MERGED: Final = Sightings()


class Views(HandleKeeper):
    """Up to `size` sightings for each peer, by the peer's row."""

    def __init__(self, channel: str, profiles: ProfileHandles, size: int) -> None:
        self.channel = channel
        """The channel of the Newscast whose views these are."""
        self._profiles = profiles
        self.size: i64 = size
        """The places of a view."""
        self._counts = vec[i64]()
        self._handles = vec[i64]()
        self._heard = vec[float]()
        profiles.add_keeper(self)

    def empty(self, row: i64) -> None:
        """Make room for the row, with nobody in its view."""
        while len(self._counts) <= row:
            self._counts = append(self._counts, i64(0))
            for _ in range(self.size):
                self._handles = append(self._handles, i64(-1))
                self._heard = append(self._heard, 0.0)
        self._counts[row] = 0

    def count(self, row: i64) -> i64:
        """Return the number of peers in a view."""
        return self._counts[row]

    def peer(self, row: i64, place: i64) -> i64:
        """Return the peer at this place of a view."""
        return self._profiles.peer(self._handles[row * self.size + place])

    def read(self, row: i64, sightings: Sightings) -> None:
        """Add the sightings of a view."""
        begin, count, first = row * self.size, self._counts[row], sightings.count
        sightings.reserve(first + count)
        to_peers, to_handles, to_heard = sightings.peers, sightings.handles, sightings.heard
        handles, heard, peers = self._handles, self._heard, self._profiles.peers
        place: i64
        for place in range(count):
            handle = handles[begin + place]
            to_peers[first + place] = peers[handle]
            to_handles[first + place] = handle
            to_heard[first + place] = heard[begin + place]
        sightings.count = first + count

    def merge(self, row: i64, own: i64, news: Sightings) -> None:
        """Merge news into a view: the freshest stay, and of equally fresh peers those known before.

        `own` is the peer whose view it is.
        """
        merged = _MERGED
        merged.clear()
        self.read(row, merged)
        _PLACES.clear()
        places, news_peers, merged_peers = _PLACES, news.peers, merged.peers
        place: i64
        for place in range(merged.count):
            places.note(merged_peers[place], place)
        for place in range(news.count):
            peer = news_peers[place]
            if peer == own:
                continue
            known = places.note(peer, merged.count)
            if known == merged.count:
                merged.add(peer, news.handles[place], news.heard[place])
            else:
                merged.renew(known, news.handles[place], news.heard[place], self._profiles)
        if merged.count <= self.size:
            self._write(row, merged)
        else:
            self._write_freshest(row, merged)

    def remove(self, row: i64, peer: i64) -> i64:
        """Remove a peer from a view. Returns the handle of its profile, -1 if it was not in the view."""
        left = _MERGED
        left.clear()
        self.read(row, left)
        gone: i64 = -1
        begin, kept = row * self.size, i64(0)
        place: i64
        for place in range(left.count):
            if left.peers[place] == peer:
                gone = left.handles[place]
            else:
                self._handles[begin + kept] = left.handles[place]
                self._heard[begin + kept] = left.heard[place]
                kept += 1
        self._counts[row] = kept
        return gone

    def mark(self, kept: vec[i64]) -> None:
        row: i64
        for row in range(len(self._counts)):
            begin = row * self.size
            place: i64
            for place in range(begin, begin + self._counts[row]):
                kept[self._handles[place]] = 1

    def _write(self, row: i64, sightings: Sightings) -> None:
        begin = row * self.size
        place: i64
        for place in range(sightings.count):
            self._handles[begin + place] = sightings.handles[place]
            self._heard[begin + place] = sightings.heard[place]
        self._counts[row] = sightings.count

    def _write_freshest(self, row: i64, sightings: Sightings) -> None:
        """Keep as many as there is room for: who was heard from last comes first, equals keep their order."""
        handles, times, most = self._handles, self._heard, self.size
        new_handles, new_times = sightings.handles, sightings.heard
        begin, kept = row * most, i64(0)
        place: i64
        for place in range(sightings.count):
            heard = new_times[place]
            at = kept
            if kept < most:
                kept += 1
            else:
                at = most - 1
                if heard <= times[begin + at]:
                    continue
            while at > 0 and heard > times[begin + at - 1]:
                times[begin + at] = times[begin + at - 1]
                handles[begin + at] = handles[begin + at - 1]
                at -= 1
            times[begin + at] = heard
            handles[begin + at] = new_handles[place]
        self._counts[row] = kept
