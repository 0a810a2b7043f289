"""GossipSub's messages: forwarding, publishing, gossip, promises, IDONTWANT, validation, and the cache."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from gossipsub_peer import TOPIC, connect, gossipsub, message, sent

from emulator.contract.protocol import Event, TopicInterest
from emulator.protocols.pubsub.gossipsub.message_cache import MessageCache
from emulator.protocols.pubsub.gossipsub.system import GossipSub
from trellis.v1.gossipsub import ConnectionEnd, GossipIHave, GossipIWant, IDontWant, TopicGraft, TopicMessage


def peer_with(environment: FakeEnvironment, members: int, others: int = 0, **parameters: object) -> GossipSub:
    """Make a peer with members 1, 2, ... of its mesh and other connected peers 51, 52, ..."""
    tested = gossipsub(environment, **parameters)  # type: ignore[arg-type]
    tested.start([])
    connect(environment, *range(1, members + 1))
    for peer in range(1, members + 1):
        environment.hand_over(peer, TopicGraft(TOPIC))
    connect(environment, *range(51, 51 + others))
    return tested


def event(number: int = 5, topic: int = TOPIC) -> Event:
    return Event(number, 0, topic, payload=b"hello")


def test_a_message_is_delivered_once_and_goes_to_the_mesh_but_not_back() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 5, others=4)
    environment.hand_over(2, message(5, publisher=3, hops=2))
    forwarded = sent(environment, TopicMessage)
    assert set(forwarded) == {1, 4, 5}
    assert {each.hops for each in forwarded.values()} == {3}
    environment.hand_over(4, message(5, publisher=3, hops=9))
    assert sent(environment, TopicMessage) == {}
    ((delivered),) = environment.delivered
    assert (delivered.number, delivered.hops) == (5, 2)


def test_an_own_message_goes_to_the_mesh_or_is_flooded() -> None:
    for version, audience in (("1.0", {1, 2, 3, 4, 5}), ("1.1", {1, 2, 3, 4, 5, 51, 52})):
        environment = FakeEnvironment(0)
        tested = peer_with(environment, 5, others=2, version=version)
        tested.publish(event())
        assert set(sent(environment, TopicMessage)) == audience
        environment.hand_over(1, message(5, publisher=0))
        assert sent(environment, TopicMessage) == {}


def test_a_publisher_that_does_not_subscribe_has_a_fanout_until_it_expires() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 0, others=20, version="1.0", keepalive="1000 s")
    tested.unsubscribe(TopicInterest(TOPIC))
    environment.fake.empty_outbox()
    tested.publish(event(5))
    first = set(sent(environment, TopicMessage))
    assert len(first) == 6
    environment.advance(30.0)
    environment.fake.empty_outbox()
    tested.publish(event(6))
    assert set(sent(environment, TopicMessage)) == first
    tested.subscribe(TopicInterest(TOPIC))
    assert set(tested.meshes.of(TOPIC)) == first, "the fan-out becomes the mesh"
    tested.unsubscribe(TopicInterest(TOPIC))
    tested.publish(event(7))
    environment.advance(62.0)
    assert tested._fanout.topics() == []


def test_gossip_tells_six_peers_outside_of_the_mesh_of_the_last_three_heartbeats() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 6, others=10, version="1.0")
    environment.hand_over(1, message(5))
    environment.fake.empty_outbox()
    told = []
    for _ in range(4):
        environment.advance(1.0)
        told.append(sent(environment, GossipIHave))
    assert [len(each) for each in told] == [6, 6, 6, 0]
    assert all(peer > 50 for each in told for peer in each)
    assert all(one.events == [5] for each in told for one in each.values())


def test_gossip_goes_to_a_quarter_of_many_peers() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 6, others=60)
    environment.hand_over(1, message(5))
    environment.fake.empty_outbox()
    environment.advance(1.0)
    assert len(sent(environment, GossipIHave)) == 15


def test_what_was_not_seen_is_asked_for_and_what_is_cached_is_sent() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 4, others=2)
    environment.hand_over(1, message(5))
    environment.fake.empty_outbox()
    environment.hand_over(51, GossipIHave(TOPIC, [5, 6]))
    assert sent(environment, GossipIWant)[51].events == [6]
    environment.hand_over(52, GossipIWant([5, 6]))
    assert {peer: each.event for peer, each in sent(environment, TopicMessage).items()} == {52: 5}
    environment.hand_over(51, GossipIHave(TOPIC + 1, [9]))
    assert sent(environment, GossipIWant) == {}, "of a topic that the peer does not subscribe to"


def test_a_message_is_sent_three_times_to_one_that_asks_again_and_again() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 4, others=1)
    environment.hand_over(1, message(5))
    environment.fake.empty_outbox()
    for _ in range(5):
        environment.hand_over(51, GossipIWant([5]))
    assert len(environment.take(TopicMessage)) == 3


def test_a_broken_promise_is_penalised_and_a_kept_one_is_not() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 4, others=2)
    environment.hand_over(51, GossipIHave(TOPIC, [8]))
    environment.hand_over(52, GossipIHave(TOPIC, [9]))
    environment.hand_over(3, message(9))
    environment.advance(4.0)
    assert tested._scores.score(51) < 0
    assert tested._scores.score(52) == 0


def test_gossip_beyond_the_bound_of_a_heartbeat_is_ignored() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 4, others=1, max_ihave_messages=2, max_ihave_length=3)
    for first in (10, 20, 30):
        environment.hand_over(51, GossipIHave(TOPIC, [first, first + 1]))
    first, second = (each.events for _, each in environment.take(GossipIWant))
    assert first == [10, 11] and len(second) == 1 and second[0] in (20, 21)


def test_messages_beyond_the_bound_of_an_ihave_are_left_out_at_random_and_for_each_peer_anew() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 4, others=6, max_ihave_length=5)
    for number in range(40):
        environment.hand_over(1, message(number))
    environment.fake.empty_outbox()
    environment.advance(1.0)
    told = [frozenset(each.events) for each in sent(environment, GossipIHave).values()]
    assert len(told) == 6 and {len(each) for each in told} == {5}
    assert len(set(told)) > 1 and len(frozenset.union(*told)) > 10


def test_messages_beyond_the_bound_of_what_is_asked_for_are_left_out_at_random() -> None:
    asked = set()
    for seed in range(5):
        environment = FakeEnvironment(seed)
        peer_with(environment, 4, others=1, max_ihave_length=2)
        environment.hand_over(51, GossipIHave(TOPIC, [10, 11, 12, 13, 14, 15]))
        asked.add(tuple(sorted(sent(environment, GossipIWant)[51].events)))
    assert {len(each) for each in asked} == {2} and len(asked) > 1


def test_with_a_low_score_there_is_no_gossip_and_with_a_lower_one_nothing() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 4, others=1)
    tested._scores.penalise(51, 2)
    environment.hand_over(51, GossipIHave(TOPIC, [8]))
    assert sent(environment, GossipIWant) == {}
    tested.publish(event(5))
    assert 51 in sent(environment, TopicMessage)
    environment.hand_over(51, message(6))
    assert len(environment.delivered) == 1
    tested._scores.penalise(51, 2)
    environment.hand_over(51, message(7))
    assert len(environment.delivered) == 1
    environment.fake.empty_outbox()
    tested.publish(event(9))
    assert 51 not in sent(environment, TopicMessage)


def test_a_large_message_is_announced_to_the_mesh_and_spared_to_those_that_have_it() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 5, others=2, version="1.2", idontwant_threshold=10)
    environment.hand_over(4, IDontWant(5))
    environment.hand_over(1, message(5, payload=bytes(10)))
    outbox = environment.fake.empty_outbox()
    told = [each.peer for each in outbox if isinstance(each.message, IDontWant)]
    assert told == [2, 3, 4, 5]
    assert [each.peer for each in outbox if isinstance(each.message, TopicMessage)] == [2, 3, 5]
    environment.hand_over(1, message(6, payload=bytes(9)))
    assert sent(environment, IDontWant) == {}


def test_a_copy_that_waits_for_the_link_is_spared_by_an_idontwant() -> None:
    environment = FakeEnvironment(0)
    peer_with(environment, 5, version="1.2", idontwant_threshold=10, uplink="100 kbit/s", degree_out=0)
    environment.hand_over(1, message(5, payload=bytes(1000)))
    leaves = []
    for _ in range(4):
        leaves += [peer for peer, _ in environment.take(TopicMessage)]
        environment.hand_over(4, IDontWant(5))
        environment.advance(0.09)
    assert leaves == [2, 3, 5]


def test_too_many_idontwant_of_a_heartbeat_are_ignored_and_old_ones_forgotten() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 5, version="1.2", max_idontwant_messages=2)
    for number in (5, 6, 7):
        environment.hand_over(4, IDontWant(number))
    assert [tested._dont_want.spares(4, number) for number in (5, 6, 7)] == [True, True, False]
    environment.advance(4.0)
    assert not tested._dont_want.spares(4, 5)


def test_validation_takes_its_time_and_a_copy_that_comes_meanwhile_counts() -> None:
    environment = FakeEnvironment(0)
    score = {"mesh_message_deliveries_weight": -1, "mesh_message_delivery_window": "0 s"}
    tested = peer_with(environment, 4, validation="100 ms", score=score)
    environment.hand_over(1, message(5))
    environment.advance(0.05)
    environment.hand_over(2, message(5))
    assert environment.delivered == []
    environment.advance(0.06)
    assert len(environment.delivered) == 1
    environment.hand_over(3, message(5))
    counters = [tested._scores._peers[peer].topics[TOPIC].mesh for peer in (1, 2, 3)]
    assert counters == [1, 1, 0]


def test_a_garbled_message_costs_its_sender_and_does_not_hide_the_right_one() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 4)
    garbled = message(5)
    garbled.payload = b"x"
    environment.hand_over(1, garbled)
    assert environment.delivered == []
    assert sent(environment, TopicMessage) == {}
    assert tested._scores.score(1) < 0
    environment.hand_over(2, message(5))
    assert len(environment.delivered) == 1
    assert tested._scores.score(2) > 0


def test_the_cache_keeps_messages_for_its_windows_and_tells_of_the_newest() -> None:
    cache = MessageCache(3, 2)
    for number in range(4):
        cache.put(message(number))
        if number < 3:
            cache.shift()
    assert cache.gossip_ids(TOPIC) == [3, 2]
    assert cache.gossip_ids(TOPIC + 1) == []
    assert [cache.get(number) is not None for number in range(4)] == [False, True, True, True]
    assert [cache.count_sent(3, 8) for _ in range(2)] == [1, 2]


def test_the_idontwant_of_a_graylisted_peer_is_ignored() -> None:
    environment = FakeEnvironment(0)
    tested = peer_with(environment, 3, version="1.2", score={"invalid_message_deliveries_weight": -1000.0})
    tested._scores.delivered_invalid(1, TOPIC)
    for sender in (1, 2):
        environment.hand_over(sender, IDontWant(77))
    assert [tested._dont_want.spares(peer, 77) for peer in (1, 2)] == [False, True]


LARGE = b"x" * 100_000


def of_a_slow_uplink(environment: FakeEnvironment) -> dict[int, TopicMessage]:
    """Have a peer publish a message that takes .8 s for each of three members, and return what has left."""
    tested = peer_with(environment, 3, version="1.2", uplink="1 Mbit/s", flood_publish=False)
    environment.fake.empty_outbox()
    tested.publish(Event(5, 0, TOPIC, payload=LARGE))
    return sent(environment, TopicMessage)


def test_the_answer_to_an_iwant_waits_behind_other_large_messages() -> None:
    environment = FakeEnvironment(0)
    assert len(of_a_slow_uplink(environment)) == 1
    environment.hand_over(3, GossipIWant([5]))
    assert not sent(environment, TopicMessage)
    environment.advance(3.0)
    assert set(sent(environment, TopicMessage)) >= {3}


def test_nothing_that_waits_goes_to_a_peer_that_has_disconnected() -> None:
    environment = FakeEnvironment(0)
    (first,) = of_a_slow_uplink(environment)
    for peer in {1, 2, 3} - {first}:
        environment.hand_over(peer, ConnectionEnd())
    environment.advance(5.0)
    assert not sent(environment, TopicMessage)
