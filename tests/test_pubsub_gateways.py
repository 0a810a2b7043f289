"""Gateway election (Vitis, Algorithm 5), seen through the profiles that peers exchange."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest
from fake_environment import FakeEnvironment, Lockstep, hand_over
from hypothesis import given, settings
from hypothesis import strategies as st
from trellis.v1.pubsub_pb2 import ProfileExchange, RelayRequest

from emulator.gossip.descriptor import Descriptor, decode
from emulator.identifiers import distance, of_peer, of_topic
from emulator.protocol import TopicInterest
from emulator.pubsub.vitis import Vitis, VitisParameters

TOPIC = 7
SELF = 50
D = 5
BY_CLOSENESS = sorted(range(100), key=lambda peer: distance(of_peer(peer), of_topic(TOPIC)))
Proposal = tuple[int, int, int]
"""(gateway, parent, hops)"""


def farther_than(peer: int) -> list[int]:
    return BY_CLOSENESS[BY_CLOSENESS.index(peer) + 1 :]


def closer_than(peer: int) -> list[int]:
    """From the closest to the topic on."""
    return BY_CLOSENESS[: BY_CLOSENESS.index(peer)]


def profile(peer: int, revision: int, proposals: dict[int, Proposal]) -> ProfileExchange:
    """A heartbeat of `peer` with its proposals by topic."""
    topics = sorted(proposals)
    rates = dict.fromkeys(topics, 1.0)
    return ProfileExchange(
        reply=True,
        profile=Descriptor.make(peer, revision, rates).encoded,
        gateways=[proposals[topic][0] for topic in topics],
        parents=[proposals[topic][1] for topic in topics],
        hops=[proposals[topic][2] for topic in topics],
        revision=revision,
    )


def proposal_in(message: ProfileExchange, topic: int = TOPIC) -> Proposal:
    position = decode(message.profile).topics.index(topic)
    return message.gateways[position], message.parents[position], message.hops[position]


class Subscriber:
    """The peer under test; its neighbours are played by the test."""

    def __init__(self, topics: Iterable[int] = (TOPIC,), d: int = D) -> None:
        self.environment = FakeEnvironment(SELF)
        parameters = VitisParameters.model_validate({"routing_table": 40, "view": 40, "gateway_hops": d})
        self.vitis = Vitis(self.environment, parameters)
        for topic in topics:
            self.vitis.subscribe(TopicInterest(topic))
        self.vitis.start([])
        self._revision = 0

    def hear(self, peer: int, proposals: dict[int, Proposal]) -> None:
        self._revision += 1
        hand_over(self.vitis, peer, profile(peer, self._revision, proposals))

    def round(self, proposals: dict[int, Proposal], topic: int = TOPIC) -> Proposal:
        """The neighbours (by peer) say what they propose; the answer of the round after."""
        for peer, proposal in proposals.items():
            self.hear(peer, {topic: proposal})
        return self.proposes(topic)

    def proposes(self, topic: int = TOPIC) -> Proposal:
        self.environment.outbox.clear()
        self.environment.advance(1.0)
        self.sent = list(self.environment.outbox)
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
        topic: min(range(100), key=lambda peer: distance(of_peer(peer), of_topic(topic)))
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
    tested.vitis.on_unreachable(best)
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
                hand_over(self.world.protocols[here], there, profile(there, 0, {TOPIC: (there, there, 0)}))

    def rounds(self, count: int) -> dict[int, Proposal]:
        """What each peer proposed in the last of these rounds."""
        for _ in range(count):
            self.world.round(only=[ProfileExchange])
        return {
            sender: proposal_in(message)
            for sender, _, message in self.world.sent
            if isinstance(message, ProfileExchange)
        }


@st.composite
def connected_graphs(draw: st.DrawFn) -> set[tuple[int, int]]:
    """A random tree of 2 to 16 peers, and some links more."""
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
        assert distance(of_peer(gateway), of_topic(TOPIC)) <= distance(of_peer(peer), of_topic(TOPIC))


@settings(max_examples=25, deadline=None)
@given(connected_graphs(), st.integers(2, 6))
def test_a_gateway_that_disappears_is_given_up_within_d_rounds(links: set[tuple[int, int]], d: int) -> None:
    cluster = Cluster(links, d)
    settled = cluster.rounds(15)
    gone = min(settled, key=lambda peer: distance(of_peer(peer), of_topic(TOPIC)))
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
    """Its first profile now is as young as the one that was heard before."""
    other, topic = 200, 23
    tested = Subscriber(topics=(TOPIC, topic))

    def first_profile_of(*topics: int) -> ProfileExchange:
        environment = FakeEnvironment(other)
        environment.now = tested.environment.now
        vitis = Vitis(environment, VitisParameters())
        for asked in topics:
            vitis.subscribe(TopicInterest(asked))
        vitis.start([])
        hand_over(vitis, SELF, ProfileExchange(profile=Descriptor.make(SELF, 1, {}).encoded))
        ((_, answer),) = environment.take(ProfileExchange)
        return answer

    hand_over(tested.vitis, other, first_profile_of(TOPIC))
    assert tested.proposes(topic) == (SELF, SELF, 0)
    hand_over(tested.vitis, other, first_profile_of(topic))
    assert tested.proposes(topic) == (other, other, 1)
