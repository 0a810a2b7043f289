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
_NO_RANGE: Final[i64] = -1


class ProposalColumns(RiderStore):
    """The proposals that ride on heartbeats, by the heartbeat's row.

    They are in the order of its profile's topics. An election reads those of all neighbours without fetching
    an object. Heartbeats with the same proposals share a range of the columns.
    """

    def __init__(self, heartbeats: Heartbeats, profiles: ProfileHandles) -> None:
        self.heartbeats = heartbeats
        self.profiles = profiles
        self.firsts = vec[i64]()
        """The place of each heartbeat's first proposal in the columns, -1 if it has none."""
        self.gateways = vec[i64]()
        self.places = vec[i64]()
        """Where each gateway is on the ring, in units of 2^-62 of the whole."""
        self.which = vec[i64]()
        """The place of each gateway in the list of those that the heartbeat names."""
        self.parents = vec[i64]()
        self.hops = vec[i64]()
        self._ranges = vec[i64]()
        """The range of each heartbeat, -1 if it has none."""
        self._begins = vec[i64]()
        """The place of each range's first proposal."""
        self._counts = vec[i64]()
        self._sharers = vec[i64]()
        """The number of heartbeats that have each range."""
        self._left: dict[int, list[int]] = {}
        """The ranges that no heartbeat has, by the number of proposals there."""
        self._expected: Proposals | None = None
        self._expected_gateways = vec[i64]()
        self._expected_places = vec[i64]()
        heartbeats.keep_riders(self)

    def expect(self, proposals: Proposals, gateways: vec[i64], places: vec[i64]) -> None:
        """Note the peer and the place of each topic's gateway in proposals that will ride on a heartbeat.

        They need not be looked up then. The last ones that are noted are remembered.
        """
        self._expected = proposals
        self._expected_gateways = gateways
        self._expected_places = places

    def take(self, heartbeat: i64, profile: Profile, rider: Part | None) -> None:
        self._leave(heartbeat)
        if isinstance(rider, Proposals) and propose_for(rider, profile):
            self._enter(heartbeat, self._range_for(len(rider.places)))
            self._write(self.firsts[heartbeat], rider)

    def share(self, heartbeat: i64, other: i64) -> None:
        self._leave(heartbeat)
        if self._ranges[other] != _NO_RANGE:
            self._enter(heartbeat, self._ranges[other])

    def differ(self, heartbeat: i64, other: i64) -> bool:
        first, second = self.firsts[heartbeat], self.firsts[other]
        if first == _NO_PROPOSALS or second == _NO_PROPOSALS:
            return False
        count = self._counts[self._ranges[heartbeat]]
        if count != self._counts[self._ranges[other]]:
            return True
        gateways, parents, hops = self.gateways, self.parents, self.hops
        at: i64
        for at in range(count):
            one, two = first + at, second + at
            if gateways[one] != gateways[two] or parents[one] != parents[two] or hops[one] != hops[two]:
                return True
        return False

    def _leave(self, heartbeat: i64) -> None:
        """Take back the range that a heartbeat had whose row is used again."""
        while len(self.firsts) <= heartbeat:
            self.firsts = append(self.firsts, _NO_PROPOSALS)
            self._ranges = append(self._ranges, _NO_RANGE)
        former = self._ranges[heartbeat]
        if former == _NO_RANGE:
            return
        self.firsts[heartbeat] = _NO_PROPOSALS
        self._ranges[heartbeat] = _NO_RANGE
        self._sharers[former] -= 1
        if self._sharers[former] == 0:
            self._left.setdefault(int(self._counts[former]), []).append(int(former))

    def _enter(self, heartbeat: i64, taken: i64) -> None:
        """Let a heartbeat that has no range have this one."""
        self._sharers[taken] += 1
        self._ranges[heartbeat] = taken
        self.firsts[heartbeat] = self._begins[taken]

    def _range_for(self, count: i64) -> i64:
        """Return a range for `count` proposals that no heartbeat has."""
        left = self._left.get(int(count))
        if left:
            return i64(left.pop())
        self._begins = append(self._begins, i64(len(self.gateways)))
        self._counts = append(self._counts, count)
        self._sharers = append(self._sharers, i64(0))
        for _ in range(count):
            self.gateways = append(self.gateways, i64(0))
            self.places = append(self.places, i64(0))
            self.which = append(self.which, i64(0))
            self.parents = append(self.parents, i64(0))
            self.hops = append(self.hops, i64(0))
        return len(self._begins) - 1

    def _write(self, first: i64, proposals: Proposals) -> None:
        """Write proposals to the columns, from `first` on."""
        if proposals is self._expected:
            told_gateways, told_places = self._expected_gateways, self._expected_places
        else:
            peers = vec[i64]([i64(gateway.peer) for gateway in proposals.gateways])
            on_ring = vec[i64]([place_of(gateway.identifier) for gateway in proposals.gateways])
            told_gateways = vec[i64]([peers[number] for number in proposals.places])
            told_places = vec[i64]([on_ring[number] for number in proposals.places])
        gateways, places, which, parents, hops = (
            self.gateways,
            self.places,
            self.which,
            self.parents,
            self.hops,
        )
        told_which, told_parents, told_hops = proposals.places, proposals.parents, proposals.hops
        at: i64
        for at in range(len(told_which)):
            gateways[first + at] = told_gateways[at]
            places[first + at] = told_places[at]
            which[first + at] = told_which[at]
            parents[first + at] = told_parents[at]
            hops[first + at] = told_hops[at]


def propose_for(proposals: Proposals, profile: Profile) -> bool:
    """Return whether there is a known gateway, a parent and hops for each topic of the profile."""
    count: i64 = profile.topics_count()
    known: i64 = len(proposals.gateways)
    places = proposals.places
    if len(places) != count or len(proposals.parents) != count or len(proposals.hops) != count:
        return False
    return all(0 <= place < known for place in places)
