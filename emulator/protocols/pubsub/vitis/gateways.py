"""Gateway election inside the clusters of a topic (Vitis, Algorithm 5).

Each peer proposes a gateway for each of its topics; proposals spread with the profiles over links
between peers that share the topic, up to `d` hops.
"""

from __future__ import annotations

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.compact.bit_sets import bits
from emulator.contract.identifiers import IdentifierSpace, hash_of_topic
from emulator.kernels import elect
from emulator.protocols.gossip.profile_handles import place_of
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID
from emulator.protocols.overlays.small_world.links import Words
from emulator.protocols.pubsub.vitis.proposal_columns import ProposalColumns
from trellis.v1.overlay import Contact, Profile
from trellis.v1.pubsub import Proposals


class GatewayElection:
    """The proposals of one peer: for each of its topics the gateway, the parent and the hops."""

    def __init__(
        self, own: Contact, space: IdentifierSpace, gateway_hops: int, told: ProposalColumns
    ) -> None:
        """`gateway_hops` is d: a proposal counts if this peer is then less than d hops from its gateway.

        `told` has the proposals of others.
        """
        self._own = own
        self._space = space
        self._limit = gateway_hops
        self._told = told
        self.profile: Profile | None = None
        """The profile to whose topics the proposals run parallel."""
        self._keys = vec[i64]()
        """The places of the topics' keys on the ring."""
        self._own_number = told.number(own)
        self._gateways = vec[i64]()
        """The number of each gateway's contact."""
        self._parents = vec[i64]()
        self._hops = vec[i64]()
        self._numbers = vec[i64]()
        """The place of each gateway in `_contacts`."""
        self._contacts: list[Contact] = []
        """Each gateway once."""

    def elect(self, profile: Profile, words: Words) -> bool:
        """Run Algorithm 5 for all topics of this peer's `profile`, with what its neighbours said last.

        Returns whether any proposal has changed.
        """
        is_new = profile is not self.profile
        if is_new:
            self.profile = profile
            self._keys = vec[i64]([place_of(hash_of_topic(topic)) for topic in bits(profile.topics)])
        told, profiles = self._told, self._told.profiles
        elected = elect(
            self._own_number,
            self._limit,
            int(profiles.take(profile)),
            self._keys,
            words.peers,
            words.said,
            int(words.count),
            profiles.topics,
            profiles.begins,
            profiles.counts,
            told.heartbeats.handles,
            told.firsts,
            told.gateways,
            told.parents,
            told.hops,
            told.peers,
            told.places,
            self._gateways,
            self._parents,
            self._hops,
        )
        if elected is None:
            return self._elect_by_identifiers(profile, words) or is_new
        if elected:
            self._gateways, self._parents, self._hops, self._numbers, named = elected
            self._contacts = [told.contacts[int(number)] for number in named]
        return is_new or bool(elected)

    def gateway_topics(self) -> vec[i32]:
        """Return the topics for which this peer is a gateway, ascending."""
        found = vec[i32]()
        if self.profile is None:
            return found
        own: i64 = self._own.peer
        profiles, gateways, peers = self._told.profiles, self._gateways, self._told.peers
        topics, begin = profiles.topics, profiles.begins[profiles.take(self.profile)]
        at: i64
        for at in range(len(gateways)):
            if peers[gateways[at]] == own:
                found = append(found, topics[begin + at])
        return found

    def proposals(self, relayed: int) -> Proposals:
        """Compose the proposals that neighbours are told; `relayed` are the topics that this peer relays."""
        proposals = Proposals(self._contacts, self._numbers, self._parents, self._hops, relayed)
        self._told.expect(proposals, self._gateways)
        return proposals

    def _elect_by_identifiers(self, profile: Profile, words: Words) -> bool:
        """Run Algorithm 5 as it is printed, with whole identifiers.

        Returns whether any proposal has changed.
        """
        own, topics, distance = self._own, bits(profile.topics), self._space.distance
        neighbours = {int(peer) for peer in words.peers[: words.count]}
        # Line 3: this peer itself is the gateway of all its topics.
        gateways, parents, hops = (
            dict.fromkeys(topics, own),
            dict.fromkeys(topics, own.peer),
            dict.fromkeys(topics, 0),
        )
        for place in range(int(words.count)):
            neighbour, heartbeat = int(words.peers[i64(place)]), words.said[i64(place)]
            if heartbeat == NOTHING_SAID or self._told.firsts[heartbeat] < 0:
                continue
            said = self._told.heartbeats.view(heartbeat)
            assert isinstance(said.rider, Proposals) and said.profile is not None
            for at, topic in enumerate(bits(said.profile.topics)):
                if topic not in gateways:
                    continue
                # Line 7 is there so that no proposal comes back to the peer that it came from.
                parent, away = int(said.rider.parents[i64(at)]), int(said.rider.hops[i64(at)]) + 1
                if parent != neighbour and (parent == own.peer or parent in neighbours):
                    continue
                if away >= self._limit:
                    continue
                gateway, known = said.rider.gateways[int(said.rider.places[i64(at)])], gateways[topic]
                key = hash_of_topic(topic)
                if gateway.peer == known.peer:
                    if away >= hops[topic]:
                        continue
                elif distance(gateway.identifier, key) >= distance(known.identifier, key):
                    continue
                gateways[topic], parents[topic], hops[topic] = gateway, neighbour, away
        elected = [gateway.peer for gateway in gateways.values()], list(parents.values()), list(hops.values())
        former = [self._told.peers[number] for number in self._gateways]
        if elected == (former, list(self._parents), list(self._hops)):
            return False
        contacts: dict[int, Contact] = {}
        for gateway in gateways.values():
            contacts.setdefault(gateway.peer, gateway)
        self._contacts = list(contacts.values())
        numbers = {peer: number for number, peer in enumerate(contacts)}
        self._gateways = vec[i64]([i64(self._told.number(contacts[peer])) for peer in elected[0]])
        self._parents = vec[i64]([i64(parent) for parent in elected[1]])
        self._hops = vec[i64]([i64(away) for away in elected[2]])
        self._numbers = vec[i64]([i64(numbers[peer]) for peer in elected[0]])
        return True
