"""Gateway election inside the clusters of a topic (Vitis, Algorithm 5).

Each peer proposes a gateway for each of its topics; proposals spread with the profiles over links
between peers that share the topic, up to `d` hops.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.bit_sets import bits
from emulator.identifiers import IdentifierSpace, hash_of_topic
from emulator.overlays.small_world import Link
from trellis.v1.overlay import Contact, Profile
from trellis.v1.pubsub import Proposals


class _Shared:
    """The places that the topics shared with a neighbour have in the lists of both peers."""

    __slots__ = ("others", "owns", "profile")

    def __init__(self, own: Profile, other: Profile) -> None:
        self.profile = other
        """The neighbour's, whose topics its proposals run parallel to."""
        shared = bits(own.topics & other.topics)
        self.owns = [_place(own, topic) for topic in shared]
        self.others = [_place(other, topic) for topic in shared]


class GatewayElection:
    """The proposals of one peer: for each of its topics the gateway, the parent and the hops."""

    def __init__(self, own: Contact, space: IdentifierSpace, gateway_hops: int) -> None:
        """`gateway_hops` is d: a proposal is taken over if it is then less than d hops from its gateway."""
        self._own = own
        self._distance = space.distance
        self._limit = gateway_hops
        self.profile: Profile | None = None
        """Whose topics the proposals run parallel to."""
        self._keys: list[int] = []
        self._shared: dict[int, _Shared] = {}
        self.gateways: list[Contact] = []
        self.parents: list[int] = []
        self.hops: list[int] = []

    def elect(self, profile: Profile, links: Sequence[Link]) -> bool:
        """Algorithm 5 for all topics of this peer's `profile`; whether any proposal has changed."""
        is_new = profile is not self.profile
        if is_new:
            self.profile = profile
            self._keys = [hash_of_topic(topic) for topic in bits(profile.topics)]
            self._shared.clear()
        gateways, parents, hops = self.gateways, self.parents, self.hops
        self._propose_itself()
        neighbours = {link.profile.peer for link in links}
        if len(self._shared) > 2 * len(links):
            self._shared = {peer: shared for peer, shared in self._shared.items() if peer in neighbours}
        for link in links:
            said = link.said
            if said is not None and said.profile is not None and said.proposals is not None:
                shared = self._shared_with(profile, said.profile)
                self._weigh(link.profile.peer, shared, said.proposals, neighbours)
        return is_new or parents != self.parents or hops != self.hops or gateways != self.gateways

    def gateway_topics(self) -> int:
        """The topics that this peer is a gateway for, a bit set."""
        if self.profile is None:
            return 0
        own, topics = self._own.peer, 0
        for topic, gateway in zip(bits(self.profile.topics), self.gateways, strict=True):
            if gateway.peer == own:
                topics |= 1 << topic
        return topics

    def proposals(self, relayed: int) -> Proposals:
        """Compose what the neighbours are told; `relayed` are the topics that this peer relays."""
        contacts: list[Contact] = []
        place_of: dict[int, int] = {}
        places: list[int] = []
        for gateway in self.gateways:
            place = place_of.get(gateway.peer)
            if place is None:
                place = place_of[gateway.peer] = len(contacts)
                contacts.append(gateway)
            places.append(place)
        return Proposals(contacts, places, self.parents, self.hops, relayed)

    def _propose_itself(self) -> None:
        """Line 3, for all topics."""
        count = len(self._keys)
        self.gateways = [self._own] * count
        self.parents = [self._own.peer] * count
        self.hops = [0] * count

    def _weigh(self, neighbour: int, shared: _Shared, proposals: Proposals, neighbours: set[int]) -> None:
        """Lines 6 to 16, for all topics shared with a neighbour."""
        own, limit = self._own.peer, self._limit
        others = shared.others
        index = 0
        for place in shared.owns:
            theirs = others[index]
            index += 1
            parent = proposals.parents[theirs]
            # Line 7, and what it is for: no proposal comes back to the peer that it came from.
            if parent != neighbour and (parent in neighbours or parent == own):
                continue
            gateway = proposals.gateways[proposals.places[theirs]]
            hops = proposals.hops[theirs] + 1
            known = self.gateways[place]
            if gateway.peer == known.peer:
                if hops >= self.hops[place]:
                    continue
            elif hops >= limit or not self._is_closer(gateway, known, self._keys[place]):
                continue
            self.gateways[place] = gateway
            self.parents[place] = neighbour
            self.hops[place] = hops

    def _is_closer(self, one: Contact, other: Contact, key: int) -> bool:
        return self._distance(one.identifier, key) < self._distance(other.identifier, key)

    def _shared_with(self, own: Profile, other: Profile) -> _Shared:
        shared = self._shared.get(other.peer)
        if shared is None or shared.profile is not other:
            shared = self._shared[other.peer] = _Shared(own, other)
        return shared


def _place(profile: Profile, topic: int) -> int:
    """The place of one of its topics in lists that run parallel to them."""
    return (profile.topics & ((1 << topic) - 1)).bit_count()
