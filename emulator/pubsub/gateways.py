"""Gateway election inside the clusters of a topic (Vitis, Algorithm 5).

Each peer proposes a gateway for each of its topics; proposals spread with the profiles over links
between peers that share the topic, up to `d` hops.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from trellis.v1.pubsub_pb2 import ProfileExchange

from emulator import identifiers
from emulator.gossip.descriptor import Descriptor, bit_set, bits, decode
from emulator.identifiers import HALF, MASK, SPACE
from emulator.overlays.small_world import Link


class _Neighbour:
    """A neighbour's proposals for the topics that this peer shares with it."""

    __slots__ = ("descriptor", "own", "proposals", "revision", "theirs")

    def __init__(self) -> None:
        self.descriptor: Descriptor | None = None
        """Whose topics the positions in `theirs` are of: hearsay may know of a newer one."""
        self.own = array("I")
        self.theirs = array("I")
        self.revision: int | None = None
        self.proposals = array("I")
        """Own topic's position, gateway, parent and hops, of one topic after the other: as tuples they
        would be hundreds of objects for each peer."""

    def read(self, own: Descriptor, profile: ProfileExchange) -> None:
        other = decode(profile.profile)
        if other is not self.descriptor:
            self.descriptor = other
            shared = bits(own.topic_set & other.topic_set)
            self.own = array("I", [own.position(topic) for topic in shared])
            self.theirs = array("I", [other.position(topic) for topic in shared])
        gateways, parents, hops = profile.gateways, profile.parents, profile.hops
        proposals: list[int] = []
        for position, theirs in zip(self.own, self.theirs, strict=True):
            proposals += position, gateways[theirs], parents[theirs], hops[theirs]
        self.proposals = array("I", proposals)
        self.revision = profile.revision


class GatewayElection:
    """The proposals of one peer: for each of its topics (gateway, parent, hops)."""

    def __init__(self, peer: int, gateway_hops: int) -> None:
        """`gateway_hops` is d: a proposal is taken over if it is then less than d hops from its gateway."""
        self._peer = peer
        self._limit = gateway_hops
        self.own: Descriptor | None = None
        """Whose topics the proposals run parallel to."""
        self._neighbours: dict[int, _Neighbour] = {}
        self._used: list[tuple[int, int]] = []
        self._topics: list[int] = []
        self._keys: list[int] = []
        self._distances: list[int] = []
        self.gateways = array("I")
        self.parents = array("I")
        self.hops = array("I")
        self.gateway_topics = 0
        """The topics that this peer is a gateway for, a bit set."""

    def update(self, own: Descriptor, links: Mapping[int, Link], oldest: float) -> bool:
        """A round: revise all proposals; true if any changed.

        Proposals of links that were last heard before `oldest` are not used: the link may exist in
        this peer's eyes only.
        """
        changed = own is not self.own
        if changed:
            self.own = own
            self._neighbours.clear()
            self._topics = own.topics
            self._keys = [identifiers.of_topic(topic) for topic in self._topics]
            self._distances = [identifiers.distance(own.identifier, key) for key in self._keys]
        used = []
        for peer, link in links.items():
            revision = link.revision
            if revision is not None and link.heard >= oldest and own.topic_set & link.descriptor.topic_set:
                used.append((peer, revision))
        if not changed and used == self._used:
            return False
        self._used = used
        for peer in self._neighbours.keys() - links.keys():
            del self._neighbours[peer]
        proposals = (self.gateways, self.parents, self.hops)
        self._elect(own, links)
        return proposals != (self.gateways, self.parents, self.hops)

    def _elect(self, own: Descriptor, links: Mapping[int, Link]) -> None:
        self_peer, limit, keys = self._peer, self._limit, self._keys
        of_peer = identifiers.of_peer
        count = own.topic_count
        gateways = [self_peer] * count
        parents = [self_peer] * count
        hops = [0] * count
        distances = self._distances.copy()
        for peer, revision in self._used:
            neighbour = self._neighbours.get(peer)
            if neighbour is None:
                neighbour = self._neighbours[peer] = _Neighbour()
            if neighbour.revision != revision:
                neighbour.read(own, ProfileExchange.FromString(links[peer].profile))
            proposals = iter(neighbour.proposals)
            for position, gateway, parent, far in zip(*[proposals] * 4, strict=True):
                # Line 7, and what it is for: no proposal comes back to the peer that it came from.
                if parent != peer and (parent in links or parent == self_peer):
                    continue
                if gateway == gateways[position]:
                    if far + 1 < hops[position]:
                        parents[position] = peer
                        hops[position] = far + 1
                elif far + 1 < limit:
                    away = (of_peer(gateway) - keys[position]) & MASK
                    if away > HALF:
                        away = SPACE - away
                    if away < distances[position]:
                        distances[position] = away
                        gateways[position] = gateway
                        parents[position] = peer
                        hops[position] = far + 1
        self.gateways, self.parents, self.hops = array("I", gateways), array("I", parents), array("I", hops)
        self.gateway_topics = bit_set(
            [topic for topic, gateway in zip(self._topics, gateways, strict=True) if gateway == self_peer]
        )
