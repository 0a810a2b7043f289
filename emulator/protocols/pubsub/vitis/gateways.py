"""Gateway election inside the clusters of a topic (Vitis, Algorithm 5).

Each peer proposes a gateway for each of its topics; proposals spread with the profiles over links
between peers that share the topic, up to `d` hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.compact.bit_sets import bit_set, bits
from emulator.compact.peer_positions import NOWHERE, PeerPositions
from emulator.contract.identifiers import IdentifierSpace, hash_of_topic
from emulator.protocols.overlays.small_world.links import Link
from trellis.v1.overlay import Contact, Profile
from trellis.v1.pubsub import Proposals

_NEIGHBOURS: Final = PeerPositions()
"""The positions of the neighbours of the peer that holds an election."""


class _Shared:
    """The places of the topics shared with a neighbour in the topic lists of both peers."""

    __slots__ = ("others", "owns", "profile")

    def __init__(self, own: Profile, other: Profile) -> None:
        self.profile = other
        """The neighbour's profile, to whose topics its proposals run parallel."""
        shared = bits(own.topics & other.topics)
        self.owns = vec[i32]([i32(_place(own, topic)) for topic in shared])
        self.others = vec[i32]([i32(_place(other, topic)) for topic in shared])


class GatewayElection:
    """The proposals of one peer: for each of its topics the gateway, the parent and the hops."""

    def __init__(self, own: Contact, space: IdentifierSpace, gateway_hops: int) -> None:
        """`gateway_hops` is d: a proposal counts if this peer is then less than d hops from its gateway."""
        self._own = own
        self._space = space
        self._limit = gateway_hops
        self.profile: Profile | None = None
        """The profile to whose topics the proposals run parallel."""
        self._keys: list[int] = []
        self._shared: dict[int, _Shared] = {}
        self.gateways: list[Contact] = []
        self.parents = vec[i64]()
        self.hops = vec[i64]()

    def elect(self, profile: Profile, links: Sequence[Link]) -> bool:
        """Run Algorithm 5 for all topics of this peer's `profile`.

        Returns whether any proposal has changed.
        """
        is_new = profile is not self.profile
        if is_new:
            self.profile = profile
            self._keys = [hash_of_topic(topic) for topic in bits(profile.topics)]
            self._shared.clear()
        gateways, parents, hops = self.gateways, self.parents, self.hops
        self._propose_itself()
        _NEIGHBOURS.clear()
        place: i64
        for place in range(len(links)):
            _NEIGHBOURS.note(i64(links[int(place)].peer), place)
        if len(self._shared) > 2 * len(links):
            self._shared = {link.peer: self._shared[link.peer] for link in links if link.peer in self._shared}
        for link in links:
            said = link.said
            if said is None or said.profile is None:
                continue
            told = said.rider
            if isinstance(told, Proposals):
                self._weigh(i64(link.peer), self._shared_with(profile, said.profile), told)
        return is_new or parents != self.parents or hops != self.hops or gateways != self.gateways

    def gateway_topics(self) -> int:
        """Return the topics for which this peer is a gateway, as a bit set."""
        if self.profile is None:
            return 0
        own, topics = self._own.peer, bits(self.profile.topics)
        return bit_set(
            [topic for topic, gateway in zip(topics, self.gateways, strict=True) if gateway.peer == own]
        )

    def proposals(self, relayed: int) -> Proposals:
        """Compose the proposals that neighbours are told; `relayed` are the topics that this peer relays."""
        contacts: list[Contact] = []
        place_of: dict[int, int] = {}
        places = vec[i64]()
        for gateway in self.gateways:
            place = place_of.get(gateway.peer)
            if place is None:
                place = place_of[gateway.peer] = len(contacts)
                contacts.append(gateway)
            places = append(places, i64(place))
        return Proposals(contacts, places, self.parents, self.hops, relayed)

    def _propose_itself(self) -> None:
        """Propose this peer itself as the gateway of all its topics (line 3)."""
        count = len(self._keys)
        self.gateways = [self._own] * count
        self.parents = vec[i64]([i64(self._own.peer)] * count)
        self.hops = vec[i64]([i64(0)] * count)

    def _weigh(self, neighbour: i64, shared: _Shared, proposals: Proposals) -> None:
        """Weigh a neighbour's proposals for all topics shared with it (lines 6 to 16)."""
        own: i64 = self._own.peer
        limit: i64 = self._limit
        owns, others = shared.owns, shared.others
        parents, hops = self.parents, self.hops
        index: i64
        for index in range(len(owns)):
            place, theirs = i64(owns[index]), i64(others[index])
            parent = proposals.parents[theirs]
            # Line 7 is there so that no proposal comes back to the peer that it came from.
            if parent != neighbour and (parent == own or _NEIGHBOURS.find(parent) != NOWHERE):
                continue
            away = proposals.hops[theirs] + 1
            if away >= limit:
                continue
            gateway = proposals.gateways[int(proposals.places[theirs])]
            known = self.gateways[int(place)]
            if gateway.peer == known.peer:
                if away >= hops[place]:
                    continue
            elif not self._is_closer(gateway, known, self._keys[int(place)]):
                continue
            self.gateways[int(place)] = gateway
            parents[place] = neighbour
            hops[place] = away

    def _is_closer(self, one: Contact, other: Contact, key: int) -> bool:
        space = self._space
        return space.distance(one.identifier, key) < space.distance(other.identifier, key)

    def _shared_with(self, own: Profile, other: Profile) -> _Shared:
        shared = self._shared.get(other.peer)
        if shared is None or shared.profile is not other:
            shared = self._shared[other.peer] = _Shared(own, other)
        return shared


def propose_for(proposals: Proposals, profile: Profile) -> bool:
    """Return whether there is a known gateway, a parent and hops for each topic of the profile."""
    count = profile.topics_count()
    sizes = (len(proposals.places), len(proposals.parents), len(proposals.hops))
    known = len(proposals.gateways)
    return sizes == (count, count, count) and all(0 <= int(place) < known for place in proposals.places)


def _place(profile: Profile, topic: int) -> int:
    """Return the place of one of a profile's topics in lists that run parallel to them."""
    return (profile.topics & ((1 << topic) - 1)).bit_count()
