"""The proposals that a host's peers have told each other, as numbers that lie side by side."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.messages.message import Part
from emulator.protocols.gossip.profile_handles import ProfileHandles, place_of
from emulator.protocols.overlays.small_world.heartbeats import Heartbeats, RiderStore
from trellis.v1.overlay import Profile
from trellis.v1.pubsub import Proposals

_NO_PROPOSALS: Final[i64] = -1


class ProposalColumns(RiderStore):
    """The proposals that ride on heartbeats, by the heartbeat's row.

    They are in the order of its profile's topics. An election reads those of all neighbours without fetching
    an object.
    """

    def __init__(self, heartbeats: Heartbeats, profiles: ProfileHandles) -> None:
        self.heartbeats = heartbeats
        self.profiles = profiles
        self.firsts = vec[i64]()
        """The place of each heartbeat's first proposal in the columns, -1 if it has none."""
        self.gateways = vec[i64]()
        self.places = vec[i64]()
        """Where each gateway is on the ring, in units of 2^-62 of the whole."""
        self.parents = vec[i64]()
        self.hops = vec[i64]()
        self._sizes = vec[i64]()
        self._left: dict[int, list[int]] = {}
        """The places that heartbeats have left, by the number of proposals there."""
        heartbeats.keep_riders(self)

    def take(self, heartbeat: i64, profile: Profile, rider: Part | None) -> None:
        while len(self.firsts) <= heartbeat:
            self.firsts = append(self.firsts, _NO_PROPOSALS)
            self._sizes = append(self._sizes, i64(0))
        if self.firsts[heartbeat] != _NO_PROPOSALS:
            self._left.setdefault(int(self._sizes[heartbeat]), []).append(int(self.firsts[heartbeat]))
            self.firsts[heartbeat] = _NO_PROPOSALS
        if isinstance(rider, Proposals) and propose_for(rider, profile):
            self._write(heartbeat, rider)

    def _write(self, heartbeat: i64, proposals: Proposals) -> None:
        count: i64 = len(proposals.places)
        left = self._left.get(int(count))
        first = i64(left.pop()) if left else i64(len(self.gateways))
        while len(self.gateways) < first + count:
            self.gateways = append(self.gateways, i64(0))
            self.places = append(self.places, i64(0))
            self.parents = append(self.parents, i64(0))
            self.hops = append(self.hops, i64(0))
        self.firsts[heartbeat] = first
        self._sizes[heartbeat] = count
        peers, places = vec[i64](), vec[i64]()
        for gateway in proposals.gateways:
            peers = append(peers, i64(gateway.peer))
            places = append(places, place_of(gateway.identifier))
        at: i64
        for at in range(count):
            known = proposals.places[at]
            self.gateways[first + at] = peers[known]
            self.places[first + at] = places[known]
            self.parents[first + at] = proposals.parents[at]
            self.hops[first + at] = proposals.hops[at]


def propose_for(proposals: Proposals, profile: Profile) -> bool:
    """Return whether there is a known gateway, a parent and hops for each topic of the profile."""
    count: i64 = profile.topics_count()
    known: i64 = len(proposals.gateways)
    places = proposals.places
    if len(places) != count or len(proposals.parents) != count or len(proposals.hops) != count:
        return False
    return all(0 <= place < known for place in places)
