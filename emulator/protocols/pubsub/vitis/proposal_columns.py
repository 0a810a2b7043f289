"""The proposals that a host's peers have told each other, as numbers that lie side by side."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.messages.message import Part
from emulator.protocols.gossip.profile_handles import ProfileHandles, place_of
from emulator.protocols.overlays.small_world.heartbeats import Heartbeats, RiderStore
from trellis.v1.overlay import Contact, Profile
from trellis.v1.pubsub import Proposals

_NO_PROPOSALS: Final[i64] = -1
_NO_RANGE: Final[i64] = -1
_MOST: Final[i64] = 2**31 - 1
"""The largest number in a column: no peer has it, and no gateway is so many hops away."""


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
        self.gateways = vec[i32]()
        """The number of each gateway's contact."""
        self.parents = vec[i32]()
        self.hops = vec[i32]()
        self.contacts: list[Contact] = []
        """The contacts of gateways, each once; there are more than peers only if peers change identifiers."""
        self.peers = vec[i64]()
        """The peer of each contact."""
        self.places = vec[i64]()
        """Where each contact is on the ring, in units of 2^-62 of the whole."""
        self._numbers: dict[tuple[int, int], int] = {}
        """The number of each contact, by its peer and identifier."""
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
        heartbeats.keep_riders(self)

    def number(self, contact: Contact) -> int:
        """Return the number of a contact."""
        peer, identifier = contact.peer, contact.identifier
        number = self._numbers.get((peer, identifier))
        if number is None:
            number = self._numbers[peer, identifier] = len(self.contacts)
            self.contacts.append(contact)
            self.peers = append(self.peers, i64(peer))
            self.places = append(self.places, place_of(identifier))
        return number

    def expect(self, proposals: Proposals, gateways: vec[i64]) -> None:
        """Note the number of each topic's gateway in proposals that will ride on a heartbeat.

        They need not be looked up then. The last ones that are noted are remembered.
        """
        self._expected = proposals
        self._expected_gateways = gateways

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
            self.gateways = append(self.gateways, i32(0))
            self.parents = append(self.parents, i32(0))
            self.hops = append(self.hops, i32(0))
        return len(self._begins) - 1

    def _write(self, first: i64, proposals: Proposals) -> None:
        """Write proposals to the columns, from `first` on."""
        if proposals is self._expected:
            told_gateways = self._expected_gateways
        else:
            numbers = vec[i64]([i64(self.number(gateway)) for gateway in proposals.gateways])
            told_gateways = vec[i64]([numbers[place] for place in proposals.places])
        gateways, parents, hops = self.gateways, self.parents, self.hops
        told_parents, told_hops = proposals.parents, proposals.hops
        at: i64
        for at in range(len(told_gateways)):
            gateways[first + at] = i32(told_gateways[at])
            parents[first + at] = i32(min(told_parents[at], _MOST))
            hops[first + at] = i32(min(told_hops[at], _MOST))


def propose_for(proposals: Proposals, profile: Profile) -> bool:
    """Return whether there is a known gateway, a parent and hops for each topic of the profile."""
    count: i64 = profile.topics_count()
    known: i64 = len(proposals.gateways)
    places = proposals.places
    if len(places) != count or len(proposals.parents) != count or len(proposals.hops) != count:
        return False
    return all(0 <= place < known for place in places)
