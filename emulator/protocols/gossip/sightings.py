"""Sightings: what a peer knows of other peers by gossip."""

from __future__ import annotations

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.protocols.gossip.profiles import newer
from trellis.v1.overlay import Profile


class Sightings:
    """Profiles of peers, and when any peer last heard from each of them (s of trial time).

    A peer has one place in all three lists. The numbers are packed, because merging and choosing read many
    and change few.
    """

    __slots__ = ("heard", "peers", "profiles")

    def __init__(self, capacity: i64 = 0) -> None:
        """Make room for `capacity` peers at first."""
        self.peers = vec[i64](capacity=capacity)
        self.heard = vec[float](capacity=capacity)
        self.profiles: list[Profile] = []

    def __len__(self) -> int:
        return len(self.profiles)

    def add(self, profile: Profile, heard: float) -> None:
        """Add another peer."""
        self.peers = append(self.peers, i64(profile.peer))
        self.heard = append(self.heard, heard)
        self.profiles.append(profile)

    def renew(self, place: i64, profile: Profile, heard: float) -> None:
        """Take over the newer parts of another sighting of the peer at this place."""
        if heard > self.heard[place]:
            self.heard[place] = heard
        known = self.profiles[int(place)]
        if profile is not known and newer(profile, known):
            self.profiles[int(place)] = profile

    def replace(self, place: i64, profile: Profile, heard: float) -> None:
        """Replace the sighting at this place by another one."""
        self.heard[place] = heard
        self.profiles[int(place)] = profile

    def copy(self) -> Sightings:
        """Return a copy that can be changed by itself."""
        copied = Sightings()
        copied.peers = self.peers[:]
        copied.heard = self.heard[:]
        copied.profiles = self.profiles[:]
        return copied

    def without(self, peer: int) -> Sightings:
        """Return the sightings of all peers but one."""
        left = Sightings()
        for profile, heard in zip(self.profiles, self.heard, strict=True):
            if profile.peer != peer:
                left.add(profile, heard)
        return left

    def freshest(self, count: int) -> Sightings:
        """Return the `count` peers that were heard from last, the last one first, equals in their order."""
        heard = self.heard
        places = vec[i64]()
        place: i64
        for place in range(len(heard)):
            at: i64 = len(places)
            if at < count:
                places = append(places, place)
            else:
                at -= 1
                if heard[place] <= heard[places[at]]:
                    continue
            while at > 0 and heard[place] > heard[places[at - 1]]:
                places[at] = places[at - 1]
                at -= 1
            places[at] = place
        found = Sightings()
        for place in places:
            found.add(self.profiles[int(place)], heard[place])
        return found


def age_ms(heard: float, now: float) -> i64:
    """Return the time since a peer was heard from, in whole milliseconds, for a message."""
    return i64((now - heard) * 1000) if heard < now else 0


def told(profiles: list[Profile], ages_ms: vec[i64], now: float) -> Sightings:
    """Return the sightings in a message: profiles, and the ages (ms) since each was heard from.

    The caller must not change them. Raises ValueError if there are not as many ages as profiles.
    """
    if len(profiles) != len(ages_ms):
        raise ValueError(f"{len(profiles)} profiles with {len(ages_ms)} ages")
    count: i64 = len(ages_ms)
    peers = vec[i64](capacity=count)
    heard = vec[float](capacity=count)
    place: i64
    for place in range(count):
        peers = append(peers, i64(profiles[int(place)].peer))
        heard = append(heard, now - ages_ms[place] / 1000)
    sightings = Sightings()
    sightings.peers, sightings.heard, sightings.profiles = peers, heard, profiles
    return sightings
