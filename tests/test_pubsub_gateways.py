"""Gateway election (Vitis, Algorithm 5), seen through the profiles that peers exchange."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest
from fake_environment import FakeEnvironment, Lockstep
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.compact.bit_sets import bits
from emulator.compact.peer_rows import PeerRows
from emulator.contract.identifiers import RING, hash_of_peer, hash_of_topic
from emulator.contract.protocol import Event, TopicInterest
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.overlays.small_world.heartbeats import Heartbeats
from emulator.protocols.overlays.small_world.links import Words
from emulator.protocols.pubsub.vitis.gateways import GatewayElection
from emulator.protocols.pubsub.vitis.parameters import VitisParameters
from emulator.protocols.pubsub.vitis.proposal_columns import ProposalColumns
from emulator.protocols.pubsub.vitis.vitis import Vitis
from trellis.v1.overlay import Contact, Profile, ProfileExchange
from trellis.v1.pubsub import Notification, Proposals, RelayRequest

TOPIC = 7
SELF = 50
D = 5
OVERLAY = "overlay"
distance = RING.distance
BY_CLOSENESS = sorted(range(100), key=lambda peer: distance(hash_of_peer(peer), hash_of_topic(TOPIC)))
Proposal = tuple[int, int, int]
"""(gateway, parent, hops)"""


def farther_than(peer: int) -> list[int]:
    return BY_CLOSENESS[BY_CLOSENESS.index(peer) + 1 :]


def closer_than(peer: int) -> list[int]:
    """Return the peers that are closer to the topic, from the closest on."""
    return BY_CLOSENESS[: BY_CLOSENESS.index(peer)]


def profile_of(peer: int, topics: Iterable[int], version: int = 1) -> Profile:
    return make_profile(peer, 0, version, hash_of_peer(peer), dict.fromkeys(topics, 1.0))


def heartbeat(peer: int, version: int, proposals: dict[int, Proposal]) -> ProfileExchange:
    """Return what `peer` says, with its proposals by topic."""
    topics = sorted(proposals)
    gateways = sorted({proposals[topic][0] for topic in topics})
    proposed = Proposals(
        [Contact(gateway, hash_of_peer(gateway)) for gateway in gateways],
        vec[i64]([gateways.index(proposals[topic][0]) for topic in topics]),
        vec[i64]([proposals[topic][1] for topic in topics]),
        vec[i64]([proposals[topic][2] for topic in topics]),
    )
    return ProfileExchange(True, profile_of(peer, topics, version), proposed)


def proposal_in(message: ProfileExchange, topic: int = TOPIC) -> Proposal:
    assert message.profile is not None
    assert isinstance(message.rider, Proposals)
    position = bits(message.profile.topics).index(topic)
    proposed = message.rider
    gateway = proposed.gateways[proposed.places[position]]
    assert gateway.identifier == hash_of_peer(gateway.peer)
    return gateway.peer, proposed.parents[position], proposed.hops[position]


class Subscriber:
    """The peer under test; its neighbours are played by the test."""

    def __init__(self, topics: Iterable[int] = (TOPIC,), d: int = D) -> None:
        self.environment = FakeEnvironment(SELF)
        parameters = VitisParameters.model_validate({"routing_table": 40, "view": 40, "gateway_hops": d})
        self.vitis = Vitis(self.environment, parameters)
        for topic in topics:
            self.vitis.subscribe(TopicInterest(topic))
        self.vitis.start([])
        self._version = 0

    def hear(self, peer: int, proposals: dict[int, Proposal]) -> None:
        self._version += 1
        self.environment.hand_over(peer, heartbeat(peer, self._version, proposals), OVERLAY)

    def round(self, proposals: dict[int, Proposal], topic: int = TOPIC) -> Proposal:
        """Let the neighbours (by peer) say what they propose, and return the answer of the round after."""
        for peer, proposal in proposals.items():
            self.hear(peer, {topic: proposal})
        return self.proposes(topic)

    def proposes(self, topic: int = TOPIC) -> Proposal:
        self.environment.outbox.clear()
        self.environment.advance(1.0)
        self.sent = [(sent.peer, sent.message) for sent in self.environment.outbox]
        profiles = {
            proposal_in(message, topic) for _, message in self.sent if isinstance(message, ProfileExchange)
        }
        (proposal,) = profiles
        return proposal


def test_proposes_itself_when_nobody_closer_is_known() -> None:
    far = farther_than(SELF)[0]
    assert Subscriber().round({far: (far, far, 0)}) == (SELF, SELF, 0)


def test_the_gateway_closest_to_the_topic_wins() -> None:
    best, middle, worst = closer_than(SELF)[0], closer_than(SELF)[3], farther_than(SELF)[0]
    heard = {peer: (peer, peer, 0) for peer in (middle, best, worst)}
    assert Subscriber().round(heard) == (best, best, 1)
    assert Subscriber().round(dict(reversed(heard.items()))) == (best, best, 1)


def test_counts_the_hops_to_the_gateway() -> None:
    best, teller, parent = closer_than(SELF)[0], 200, 201
    assert Subscriber().round({teller: (best, parent, 2)}) == (best, teller, 3)


def test_takes_the_shortest_way_to_the_same_gateway() -> None:
    best = closer_than(SELF)[0]
    heard = {200: (best, 300, 3), 201: (best, 301, 1), 202: (best, 302, 2)}
    assert Subscriber().round(heard) == (best, 201, 2)


@pytest.mark.parametrize(("hops", "taken"), [(D - 2, True), (D - 1, False), (D, False)])
def test_a_gateway_is_fewer_than_d_hops_away(hops: int, taken: bool) -> None:
    best = closer_than(SELF)[0]
    gateway, _, far = Subscriber().round({200: (best, 300, hops)})
    assert (gateway, far) == ((best, hops + 1) if taken else (SELF, 0))


def test_with_d_one_everybody_is_a_gateway() -> None:
    best = closer_than(SELF)[0]
    assert Subscriber(d=1).round({best: (best, best, 0)}) == (SELF, SELF, 0)


def test_a_proposal_does_not_come_back_to_the_peer_that_it_came_from() -> None:
    gone = closer_than(SELF)[0]
    assert Subscriber().round({200: (gone, SELF, 2)}) == (SELF, SELF, 0)


def test_a_proposal_whose_parent_is_a_neighbour_too_is_left_to_the_parent() -> None:
    """Algorithm 5, line 7."""
    gone, parent = closer_than(SELF)[0], farther_than(SELF)[0]
    heard = {200: (gone, parent, 2), parent: (parent, parent, 0)}
    assert Subscriber().round(heard) == (SELF, SELF, 0)


def test_a_neighbour_that_does_not_share_the_topic_has_no_say() -> None:
    best = closer_than(SELF)[0]
    tested = Subscriber()
    tested.hear(best, {TOPIC + 1: (best, best, 0)})
    assert tested.proposes() == (SELF, SELF, 0)


def test_each_topic_has_a_gateway_of_its_own() -> None:
    tested = Subscriber(topics=(3, TOPIC, 11))
    closest = {
        topic: min(range(100), key=lambda peer: distance(hash_of_peer(peer), hash_of_topic(topic)))
        for topic in (3, TOPIC, 11)
    }
    tested.hear(200, {1: (1, 1, 0), TOPIC: (closest[TOPIC], 300, 1), 11: (closest[11], 301, 2)})
    tested.hear(201, {3: (closest[3], 302, 3), 5: (5, 5, 0)})
    assert tested.proposes() == (closest[TOPIC], 200, 2)
    messages = [message for _, message in tested.sent if isinstance(message, ProfileExchange)]
    assert proposal_in(messages[0], 11) == (closest[11], 200, 3)
    assert proposal_in(messages[0], 3) == (closest[3], 201, 4)


def test_a_gateway_asks_for_a_relay_path_and_others_do_not() -> None:
    best = closer_than(SELF)[0]
    tested = Subscriber()
    tested.round({best: (farther_than(SELF)[0], 300, 1)})
    assert [peer for peer, message in tested.sent if isinstance(message, RelayRequest)] == [best]
    for _ in range(12):
        tested.round({best: (best, best, 0)})
    assert not [peer for peer, message in tested.sent if isinstance(message, RelayRequest)]


def test_a_gateway_that_is_unreachable_is_given_up_at_once() -> None:
    best = closer_than(SELF)[0]
    tested = Subscriber()
    assert tested.round({best: (best, best, 0), 200: (200, 200, 0)})[0] == best
    tested.environment.fail(best)
    assert tested.round({200: (200, 200, 0)})[0] != best


def test_a_gateway_that_falls_silent_is_given_up() -> None:
    best, other = closer_than(SELF)[0], farther_than(SELF)[0]
    tested = Subscriber()
    tested.round({best: (best, best, 0), other: (other, other, 0)})
    last = [tested.round({other: (other, other, 0)}) for _ in range(4)][-1]
    assert last == (SELF, SELF, 0)


def test_proposals_follow_a_neighbour_that_changes_its_topics() -> None:
    """The lists in a profile run parallel to the topics of that very profile."""
    best, gateway = closer_than(SELF)[0], 300
    tested = Subscriber(topics=(TOPIC, 20))
    tested.hear(200, {3: (gateway, gateway, 0), TOPIC: (best, 301, 1), 20: (gateway, 200, 0)})
    assert tested.proposes() == (best, 200, 2)
    tested.hear(200, {TOPIC: (best, 301, 2)})
    assert tested.proposes() == (best, 200, 3)
    tested.hear(200, {1: (gateway, gateway, 0), 2: (gateway, gateway, 0), TOPIC: (best, 301, 0)})
    assert tested.proposes() == (best, 200, 1)
    tested.hear(200, {1: (gateway, gateway, 0)})
    assert tested.proposes() == (SELF, SELF, 0)


def test_proposals_follow_the_own_subscriptions() -> None:
    best = closer_than(SELF)[0]
    tested = Subscriber(topics=(2, TOPIC))
    assert tested.round({200: (best, 301, 1)}) == (best, 200, 2)
    tested.vitis.unsubscribe(TopicInterest(2))
    tested.vitis.subscribe(TopicInterest(90))
    assert tested.proposes() == (best, 200, 2)
    assert tested.proposes(90) == (SELF, SELF, 0)


class Cluster:
    """Subscribers of one topic whose links are given and stay: gossip is held back, profiles are not."""

    def __init__(self, links: Collection[tuple[int, int]], d: int = D) -> None:
        self.links = {frozenset(link) for link in links}
        peers = {peer for link in links for peer in link}
        parameters = VitisParameters.model_validate(
            {"routing_table": 3 + len(peers), "view": 40, "gateway_hops": d}
        )
        self.world = Lockstep(lambda environment: Vitis(environment, parameters), sorted(peers))
        for vitis in self.world.protocols.values():
            vitis.subscribe(TopicInterest(TOPIC))  # type: ignore[attr-defined]
            vitis.start([])
        for one, other in links:
            for here, there in ((one, other), (other, one)):
                self.world.environments[here].hand_over(
                    there, heartbeat(there, 0, {TOPIC: (there, there, 0)}), OVERLAY
                )

    def rounds(self, count: int) -> dict[int, Proposal]:
        """Return what each peer proposed in the last of these rounds."""
        for _ in range(count):
            self.world.round(only=[ProfileExchange])
        return {
            sender: proposal_in(message)
            for sender, _, message in self.world.sent
            if isinstance(message, ProfileExchange)
        }


@st.composite
def connected_graphs(draw: st.DrawFn) -> set[tuple[int, int]]:
    """Return a random tree of 2 to 16 peers, and some links more."""
    peers = draw(st.lists(st.sampled_from(range(100)), min_size=2, max_size=16, unique=True))
    links = {(peer, peers[draw(st.integers(0, index))]) for index, peer in enumerate(peers[1:])}
    return links | draw(
        st.sets(st.tuples(st.sampled_from(peers), st.sampled_from(peers)), max_size=12).map(
            lambda more: {(a, b) for a, b in more if a != b}
        )
    )


@settings(max_examples=40, deadline=None)
@given(connected_graphs(), st.integers(2, 6))
def test_an_election_ends_with_everybody_near_a_gateway(links: set[tuple[int, int]], d: int) -> None:
    cluster = Cluster(links, d)
    settled = cluster.rounds(20)
    assert cluster.rounds(1) == settled
    for peer in settled:
        gateway, parent, hops = settled[peer]
        here = peer
        while parent != here:
            assert frozenset((here, parent)) in cluster.links
            above = settled[parent]
            assert (above[0], above[2]) == (gateway, hops - 1)
            here, (_, parent, hops) = parent, above
        assert (here, hops) == (gateway, 0)
        assert settled[peer][2] < d
        assert distance(hash_of_peer(gateway), hash_of_topic(TOPIC)) <= distance(
            hash_of_peer(peer), hash_of_topic(TOPIC)
        )


@settings(max_examples=25, deadline=None)
@given(connected_graphs(), st.integers(2, 6))
def test_a_gateway_that_disappears_is_given_up_within_d_rounds(links: set[tuple[int, int]], d: int) -> None:
    cluster = Cluster(links, d)
    settled = cluster.rounds(15)
    gone = min(settled, key=lambda peer: distance(hash_of_peer(peer), hash_of_topic(TOPIC)))
    cluster.world.crash([gone])
    after = cluster.rounds(1 + d)
    assert all(gateway != gone for peer, (gateway, _, _) in after.items() if peer != gone)


def test_a_long_cluster_has_several_gateways() -> None:
    line = [(peer, peer + 1) for peer in range(20)]
    settled = Cluster(line).rounds(30)
    gateways = {peer for peer, (gateway, _, _) in settled.items() if gateway == peer}
    assert len(gateways) >= 3
    assert all(abs(peer - gateway) < D for peer, (gateway, _, _) in settled.items())


def test_a_peer_that_came_back_is_believed_over_its_earlier_life() -> None:
    """Its first profile now has the same version as the one that was heard before."""
    other, topic = 200, 23
    tested = Subscriber(topics=(TOPIC, topic))

    def first_heartbeat(session: int, asked: int) -> ProfileExchange:
        environment = FakeEnvironment(other, session=session)
        vitis = Vitis(environment, VitisParameters())
        vitis.subscribe(TopicInterest(asked))
        vitis.start([])
        environment.hand_over(SELF, ProfileExchange(False, profile_of(SELF, ())), OVERLAY)
        ((_, answer),) = environment.take(ProfileExchange)
        return answer

    tested.environment.hand_over(other, first_heartbeat(0, TOPIC), OVERLAY)
    assert tested.proposes(topic) == (SELF, SELF, 0)
    tested.environment.hand_over(other, first_heartbeat(1, topic), OVERLAY)
    assert tested.proposes(topic) == (other, other, 1)


def test_a_parent_that_goes_without_having_a_say_frees_the_proposals_that_it_held_back() -> None:
    """Line 7 leaves a proposal to its parent as long as that is a neighbour, whatever the parent asks for."""
    best, parent = closer_than(SELF)[0], 300
    tested = Subscriber()
    tested.hear(parent, {TOPIC + 1: (parent, parent, 0)})
    said = heartbeat(200, 1, {TOPIC: (best, parent, 1)})
    tested.environment.hand_over(200, said, OVERLAY)
    assert tested.proposes() == (SELF, SELF, 0)
    tested.environment.hand_over(200, said, OVERLAY)
    tested.environment.fail(parent)
    assert tested.proposes() == (best, 200, 2)


def test_a_gateway_of_several_topics_is_told_once() -> None:
    best = closer_than(SELF)[0]
    topics = [topic for topic in range(100) if distance(hash_of_peer(best), hash_of_topic(topic)) < distance(
        hash_of_peer(SELF), hash_of_topic(topic))][:3]  # fmt: skip
    tested = Subscriber(topics=topics)
    tested.hear(best, dict.fromkeys(topics, (best, best, 0)))
    assert {tested.proposes(topic) for topic in topics} == {(best, best, 1)}
    (message,) = {id(m): m for _, m in tested.sent if isinstance(m, ProfileExchange)}.values()
    assert isinstance(message.rider, Proposals)
    assert message.rider.gateways == [Contact(best, hash_of_peer(best))]


def test_proposals_that_stay_are_the_same_object() -> None:
    best = closer_than(SELF)[0]
    tested = Subscriber()
    said = heartbeat(best, 1, {TOPIC: (best, best, 0)})
    told = []
    for _ in range(4):
        tested.environment.hand_over(best, said, OVERLAY)
        tested.proposes()
        told += [message for _, message in tested.sent if isinstance(message, ProfileExchange)]
    assert all(message is told[0] for message in told)
    tested.hear(best, {TOPIC: (best, best, 1)})
    tested.proposes()
    ((_, after),) = [(p, m) for p, m in tested.sent if isinstance(m, ProfileExchange)]
    assert after.rider is not told[0].rider


def test_relayed_topics_are_told_and_their_relays_notified_if_so_asked() -> None:
    """Section III.C: those neighbours which are interested in that topic, or act as a relay node for it."""
    for choice in ("path", "neighbours"):
        environment = FakeEnvironment(SELF)
        vitis = Vitis(environment, VitisParameters.model_validate({"notify_relays": choice}))
        vitis.start([])
        relaying = ProfileExchange(
            True,
            profile_of(200, [1]),
            Proposals([Contact(200, 1)], vec[i64]([0]), vec[i64]([200]), vec[i64]([0]), 1 << 9),
        )
        environment.hand_over(200, relaying, OVERLAY)
        environment.hand_over(201, heartbeat(201, 1, {9: (201, 201, 0)}), OVERLAY)
        environment.hand_over(202, RelayRequest(1 << 4))
        environment.advance(1.0)
        environment.outbox.clear()
        vitis.publish(Event(7, SELF, 9))
        notified = {peer for peer, _ in environment.take(Notification)}
        assert notified == ({201} if choice == "path" else {200, 201})
        environment.hand_over(203, ProfileExchange(False, profile_of(203, ())), OVERLAY)
        environment.advance(1.0)
        ((_, heard),) = {peer: m for peer, m in environment.take(ProfileExchange) if peer == 200}.items()
        assert isinstance(heard.rider, Proposals)
        assert heard.rider.relayed == (0 if choice == "path" else 1 << 4)


NEAR = (
    st.integers(0, 3) | st.integers(0, 3).map(lambda low: (1 << 127) + low) | st.integers(0, (1 << 128) - 1)
)
"""Identifiers, many of which differ in their lowest bits alone."""


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 5), max_size=4), NEAR), min_size=1, max_size=5),
    st.sets(st.integers(0, 5), min_size=1),
    st.data(),
)
def test_an_election_by_places_on_the_ring_is_that_by_identifiers(
    neighbours: list[tuple[set[int], int]], topics: set[int], data: st.DataObject
) -> None:
    profiles = ProfileHandles()
    heartbeats = Heartbeats("", PeerRows(), profiles)
    told = ProposalColumns(heartbeats, profiles)
    words = Words()
    words.reserve(len(neighbours))
    a_peer = st.integers(0, len(neighbours) + 1)
    for place, (theirs, _) in enumerate(neighbours):
        gateways = data.draw(
            st.lists(st.tuples(a_peer, NEAR), min_size=1, max_size=3, unique_by=lambda known: known[0])
        )
        places, parents, hops = (
            vec[i64](data.draw(st.lists(part, min_size=len(theirs), max_size=len(theirs))))
            for part in (st.integers(0, len(gateways) - 1), a_peer, st.integers(0, 6))
        )
        said = Proposals([Contact(*known) for known in gateways], places, parents, hops)
        words.peers[place] = place + 1
        words.said[place] = heartbeats.take(ProfileExchange(True, profile_of(place + 1, theirs), said))
    words.count = len(neighbours)
    own = Contact(0, data.draw(NEAR))
    profile = profile_of(0, topics)
    election, plain = GatewayElection(own, RING, D, told), GatewayElection(own, RING, D, told)
    plain.profile = profile
    assert plain._elect_by_identifiers(profile, words)
    assert election.elect(profile, words)
    proposed = election.proposals(0)
    assert proposed == plain.proposals(0)
    assert election.gateway_topics() == plain.gateway_topics()
    assert [contact.peer for contact in proposed.gateways] == list(
        dict.fromkeys(proposed.gateways[place].peer for place in proposed.places)
    )
    assert not election.elect(profile, words)
    assert not plain._elect_by_identifiers(profile, words)
