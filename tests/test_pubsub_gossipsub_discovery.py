"""Topic discovery of GossipSub: who looks for the peers of a topic, and whom they connect to."""

from __future__ import annotations

from fake_environment import FakeEnvironment, Lockstep
from gossipsub_peer import TOPIC, connect, gossipsub, sent
from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.protocol import TopicInterest
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.system import GossipSub
from trellis.v1.gossipsub import ConnectionRequest
from trellis.v1.overlay import NewscastExchange, Profile

OTHER_TOPIC = TOPIC + 1


def started(environment: FakeEnvironment, **parameters: object) -> GossipSub:
    """Start a peer that makes no connections to random peers, since it has enough others."""
    made = gossipsub(environment, **{"topic_discovery": True, "connections": 2, **parameters})
    made.start([])
    environment.hand_over(90, ConnectionRequest())
    made.connections.peers[90].outbound = True
    return made


def tell(environment: FakeEnvironment, topics: dict[int, int]) -> None:
    """Tell the peer of others by Newscast, with a topic of each."""
    profiles = [Profile(peer, 0, 1, topics=1 << topic) for peer, topic in topics.items()]
    ages = vec[i64]([0] * len(profiles))
    environment.hand_over(80, NewscastExchange(True, profiles, ages), channel="newscast")
    environment.fake.empty_outbox()


def test_a_peer_with_a_small_mesh_connects_to_others_of_the_topic_that_it_heard_of() -> None:
    environment = FakeEnvironment(0)
    started(environment)
    tell(environment, {1: TOPIC, 2: TOPIC, 3: OTHER_TOPIC})
    environment.advance(1.0)
    assert sent(environment, ConnectionRequest).keys() == {1, 2}


def test_it_connects_to_no_more_than_its_mesh_lacks() -> None:
    environment = FakeEnvironment(0)
    started(environment, degree=6)
    connect(environment, 1, 2)
    environment.advance(1.0)
    tell(environment, dict.fromkeys(range(10, 20), TOPIC))
    environment.advance(1.0)
    assert len(sent(environment, ConnectionRequest)) == 4


def test_a_peer_with_a_mesh_of_the_low_degree_looks_for_nobody() -> None:
    environment = FakeEnvironment(0)
    started(environment, degree=6, degree_low=4)
    connect(environment, 1, 2, 3, 4)
    environment.advance(1.0)
    environment.asked_for_contacts.clear()
    tell(environment, {10: TOPIC})
    environment.advance(20.0)
    assert not sent(environment, ConnectionRequest)
    assert not environment.asked_for_contacts


def test_without_topic_discovery_nobody_looks_and_profiles_name_no_topics() -> None:
    environment = FakeEnvironment(0)
    started(environment, topic_discovery=False)
    tell(environment, {1: TOPIC})
    environment.advance(1.0)
    found = environment.take(NewscastExchange)
    assert found
    assert [profile.topics for profile in found[0][1].profiles if profile.peer == 0] == [0]
    environment.advance(5.0)
    assert not sent(environment, ConnectionRequest)


def test_a_profile_names_the_topics_of_now() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    tested.subscribe(TopicInterest(OTHER_TOPIC))
    tested.unsubscribe(TopicInterest(TOPIC))
    tell(environment, {1: TOPIC})
    environment.advance(1.0)
    (own,) = [one for one in environment.take(NewscastExchange)[0][1].profiles if one.peer == 0]
    assert own.topics == 1 << OTHER_TOPIC


def test_who_finds_nobody_asks_the_bootstrap_service_each_ten_seconds_and_exchanges_views() -> None:
    environment = FakeEnvironment(0)
    started(environment)
    tell(environment, {1: OTHER_TOPIC})
    environment.advance(1.0)
    (answer,) = environment.asked_for_contacts
    environment.fake.empty_outbox()
    answer([40, 41])
    assert [peer for peer, _ in environment.take(NewscastExchange)] == [40, 41]
    environment.advance(9.0)
    assert len(environment.asked_for_contacts) == 1
    environment.advance(2.0)
    assert len(environment.asked_for_contacts) == 2


def test_the_few_subscribers_of_a_topic_find_each_other_among_many_peers() -> None:
    def reached(topic_discovery: bool) -> set[int]:
        """Return the peers that the links of meshes connect with the first subscriber."""

        def make(environment: FakeEnvironment) -> GossipSub:
            given = {"connections": 4, "topic_discovery": topic_discovery}
            made = GossipSub(environment, GossipSubParameters.model_validate(given))
            if environment.peer % 10 == 0:
                made.subscribe(TopicInterest(TOPIC))
            return made

        world = Lockstep(make, range(60))
        world.start()
        for _ in range(15):
            world.round()
        found, left = {0}, [0]
        while left:
            peer = world.protocols[left.pop()]
            assert isinstance(peer, GossipSub)
            new = set(peer.meshes.of(TOPIC)) - found
            found |= new
            left += new
        return found

    assert reached(True) == set(range(0, 60, 10))
    assert reached(False) != set(range(0, 60, 10))
