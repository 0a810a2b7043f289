"""Sightings: what a peer knows of another one by gossip."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.gossip.profiles import newer
from trellis.v1.overlay import Profile


class Sighting:
    """A peer's profile, and when the peer was last heard from by anybody (s of trial time)."""

    __slots__ = ("heard", "profile")

    def __init__(self, heard: float, profile: Profile) -> None:
        self.heard = heard
        self.profile = profile

    def add(self, other: Sighting) -> None:
        """Take over what another sighting of the same peer has that is newer."""
        if other.heard > self.heard:
            self.heard = other.heard
        if other.profile is not self.profile and newer(other.profile, self.profile):
            self.profile = other.profile


def age_ms(sighting: Sighting, now: float) -> int:
    """The time since the peer was heard from, in whole milliseconds, for a message."""
    return int((now - sighting.heard) * 1000) if sighting.heard < now else 0


def told(profiles: Sequence[Profile], ages_ms: Sequence[int], now: float) -> list[Sighting]:
    """The sightings in a message: profiles, and how long ago each was heard from (ms)."""
    sightings = []
    for profile, age in zip(profiles, ages_ms, strict=True):
        sightings.append(Sighting(now - age / 1000, profile))
    return sightings
