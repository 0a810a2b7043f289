"""GossipSub's meshes: their bounds, grafts and prunes, backoff, exchange, quota, and who stays."""

from __future__ import annotations

import random

import pytest
from fake_environment import FakeEnvironment, Lockstep
from gossipsub_peer import TOPIC, connect, gossipsub, message, sent

from emulator.contract.protocol import Event, TopicInterest
from emulator.protocols.pubsub.gossipsub.mesh_choice import median, survivors
from emulator.protocols.pubsub.gossipsub.system import GossipSub
from trellis.v1.gossipsub import (
    ConnectionAnswer,
    ConnectionEnd,
    ConnectionRequest,
    TopicAnnouncement,
    TopicGraft,
    TopicMessage,
    TopicPrune,
)


def mesh(peer: GossipSub) -> set[int]:
    return set(peer.meshes.of(TOPIC))


def started(environment: FakeEnvironment, version: str = "1.1", **parameters: object) -> GossipSub:
    made = gossipsub(environment, version, **parameters)
    made.start([])
    environment.advance(0.1)
    return made


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_a_small_mesh_is_filled_to_its_degree_and_both_ends_have_the_link(version: str) -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, version)
    connect(environment, *range(1, 21))
    environment.advance(1.0)
    grafted = sent(environment, TopicGraft)
    assert set(grafted) == mesh(tested)
    assert len(grafted) == 6
    assert {each.topic for each in grafted.values()} == {TOPIC}


def test_subscribing_grafts_at_once_and_leaving_prunes_and_is_announced() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    tested.unsubscribe(TopicInterest(TOPIC))
    connect(environment, *range(1, 21))
    tested.subscribe(TopicInterest(TOPIC))
    members = mesh(tested)
    assert len(members) == 6
    assert set(sent(environment, TopicGraft)) == members
    tested.unsubscribe(TopicInterest(TOPIC))
    outbox = environment.fake.empty_outbox()
    pruned = {each.peer: each.message for each in outbox if isinstance(each.message, TopicPrune)}
    assert set(pruned) == members
    assert {each.backoff for each in pruned.values()} == {10}
    told = {each.peer for each in outbox if isinstance(each.message, TopicAnnouncement)}
    assert told == set(range(1, 21))


def test_a_large_mesh_is_pruned_to_its_degree() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, "1.0")
    connect(environment, *range(1, 21))
    for peer in range(1, 21):
        environment.hand_over(peer, TopicGraft(TOPIC))
    assert len(mesh(tested)) == 20
    environment.advance(1.0)
    assert len(mesh(tested)) == 6
    assert set(sent(environment, TopicPrune)) == set(range(1, 21)) - mesh(tested)


def test_a_full_mesh_refuses_incoming_peers_with_others_to_connect_to() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    connect(environment, *range(1, 21))
    for peer in range(1, 14):
        environment.hand_over(peer, TopicGraft(TOPIC))
    assert mesh(tested) == set(range(1, 13))
    ((refused, prune),) = environment.take(TopicPrune)
    assert refused == 13
    assert prune.backoff == 60
    assert len(prune.peers) == 16
    assert 13 not in prune.peers


def test_who_grafts_during_the_backoff_is_pruned_and_penalised() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, keepalive="1000 s")
    connect(environment, 1)
    environment.hand_over(1, TopicPrune(TOPIC, [], 60))
    environment.advance(59.0)
    assert sent(environment, TopicGraft) == {}
    environment.hand_over(1, TopicGraft(TOPIC))
    assert sent(environment, TopicPrune)[1].peers == []
    assert mesh(tested) == set()
    assert tested._scores.score(1) < 0


def test_a_pruned_peer_grafts_again_after_the_backoff_and_a_heartbeat() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, keepalive="1000 s")
    connect(environment, 1)
    environment.hand_over(1, TopicPrune(TOPIC, [], 20))
    environment.advance(20.5)
    assert sent(environment, TopicGraft) == {}
    environment.advance(2.0)
    assert mesh(tested) == {1}


def test_a_graft_of_an_unknown_topic_is_answered_by_the_first_version_alone() -> None:
    for version, answered in (("1.0", True), ("1.1", False)):
        environment = FakeEnvironment(0)
        started(environment, version)
        connect(environment, 1)
        environment.hand_over(1, TopicGraft(TOPIC + 1))
        assert (sent(environment, TopicPrune) != {}) == answered


def test_who_is_not_connected_cannot_graft_and_is_told_so() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    environment.hand_over(1, TopicGraft(TOPIC))
    assert mesh(tested) == set()
    assert set(sent(environment, ConnectionEnd)) == {1}


def test_peers_of_a_prune_are_connected_to_if_the_pruning_peer_is_trusted() -> None:
    for least, asked in ((0, {5, 6}), (1, set())):
        environment = FakeEnvironment(0)
        started(environment, score={"accept_px_threshold": least})
        connect(environment, 1)
        environment.hand_over(1, TopicPrune(TOPIC, [5, 6], 60))
        assert set(sent(environment, ConnectionRequest)) == asked


def test_a_peer_with_a_negative_score_is_pruned_and_not_grafted_again() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, keepalive="1000 s")
    connect(environment, 1)
    environment.advance(1.0)
    assert mesh(tested) == {1}
    garbled = message(1)
    garbled.signature ^= 1
    environment.hand_over(1, garbled)
    environment.fake.empty_outbox()
    environment.advance(1.0)
    assert mesh(tested) == set()
    assert sent(environment, TopicPrune)[1].peers == []
    environment.hand_over(1, TopicGraft(TOPIC))
    assert mesh(tested) == set()


def test_the_quota_of_outbound_connections_is_filled() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    connect(environment, *range(1, 13))
    for peer in range(1, 6):
        environment.hand_over(peer, TopicGraft(TOPIC))
    tested.connections.introduce([20, 21, 22])
    for peer in (20, 21, 22):
        environment.hand_over(peer, ConnectionAnswer(True, [TOPIC]))
    environment.advance(1.0)
    assert len(mesh(tested) & {20, 21, 22}) == 2


def test_a_mesh_of_poor_peers_gets_two_better_ones_each_minute() -> None:
    environment = FakeEnvironment(0)
    tested = started(environment, keepalive="1000 s", degree_out=0)
    connect(environment, *range(1, 13))
    for peer in range(1, 5):
        environment.hand_over(peer, TopicGraft(TOPIC))
    environment.advance(58.0)
    assert mesh(tested) == {1, 2, 3, 4}
    for event, peer in enumerate((9, 10, 11)):
        environment.hand_over(peer, message(event))
    environment.advance(4.0)
    assert len(mesh(tested)) == 6
    assert mesh(tested) - {1, 2, 3, 4} < {9, 10, 11}


def test_the_best_stay_and_others_at_random_with_enough_outbound_ones() -> None:
    members = list(range(10))
    scores = {peer: float(peer) for peer in members}
    for seed in range(20):
        kept = survivors(members, scores, {0, 1}, degree=6, best=4, out=2, draw=random.Random(seed))
        assert len(set(kept)) == 6
        assert kept[:4] == [9, 8, 7, 6]
        assert set(kept[4:]) == {0, 1}


def test_the_median_is_the_upper_one_of_two() -> None:
    assert median([3.0, 1.0]) == 3.0
    assert median([3.0, 1.0, 2.0]) == 2.0


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_in_a_network_all_meshes_are_within_bounds_and_no_link_has_one_end(version: str) -> None:
    world = Lockstep(lambda each: gossipsub(each, version), range(40))
    world.start()
    for _ in range(20):
        world.round()
    found = {peer: mesh(one) for peer, one in world.protocols.items() if isinstance(one, GossipSub)}
    assert all(4 <= len(members) <= 12 for members in found.values())
    assert all(peer in found[other] for peer, members in found.items() for other in members)


def test_what_is_left_of_a_mesh_is_filled_again_after_half_of_the_peers_crashed() -> None:
    world = Lockstep(lambda each: gossipsub(each, keepalive="2 s"), range(40))
    world.start()
    for _ in range(15):
        world.round()
    world.crash(range(20))
    for _ in range(15):
        world.round()
    found = {peer: mesh(one) for peer, one in world.protocols.items() if isinstance(one, GossipSub)}
    assert all(members <= set(range(20, 40)) for members in found.values())
    assert all(len(members) >= 4 for members in found.values())


@pytest.mark.parametrize(("after", "welcome"), [(9.5, False), (10.5, True)])
def test_who_pruned_with_a_backoff_is_welcome_as_soon_as_it_is_over(after: float, welcome: bool) -> None:
    environment = FakeEnvironment(0)
    tested = started(environment)
    connect(environment, 1)
    environment.advance(1.1)
    environment.hand_over(1, TopicPrune(TOPIC, [], 10))
    environment.advance(after)
    environment.hand_over(1, TopicGraft(TOPIC))
    assert (1 in mesh(tested)) is welcome


def test_a_pruned_peer_grafts_a_heartbeat_after_its_backoff_at_the_earliest() -> None:
    environment = FakeEnvironment(0)
    started(environment)
    connect(environment, 1)
    environment.advance(1.1)
    environment.hand_over(1, TopicPrune(TOPIC, [], 10))
    environment.fake.empty_outbox()
    environment.advance(10.9)
    assert not sent(environment, TopicGraft)
    environment.advance(1.2)
    assert set(sent(environment, TopicGraft)) == {1}


def graylisted(environment: FakeEnvironment, version: str = "1.1", **parameters: object) -> GossipSub:
    """Make a peer that ignores peer 1 of the connected peers 1, 2 and 3."""
    invalid = {"invalid_message_deliveries_weight": -1000.0}
    tested = started(environment, version, score=invalid, **parameters)
    connect(environment, 1, 2, 3)
    wrong = message(1)
    wrong.payload = b"other"
    environment.hand_over(1, wrong)
    environment.fake.empty_outbox()
    return tested


def test_the_graft_of_a_graylisted_peer_is_not_answered() -> None:
    environment = FakeEnvironment(0)
    graylisted(environment)
    environment.hand_over(1, TopicGraft(TOPIC))
    assert not sent(environment, TopicPrune)


def test_the_prune_of_a_graylisted_peer_is_ignored() -> None:
    environment = FakeEnvironment(0)
    tested = graylisted(environment)
    environment.advance(1.0)
    tested.meshes.members[TOPIC][1] = None
    environment.hand_over(1, TopicPrune(TOPIC, [], 60))
    assert 1 in mesh(tested)


def test_a_fan_out_has_nobody_below_the_publish_threshold() -> None:
    environment = FakeEnvironment(0)
    tested = graylisted(environment, flood_publish=False)
    tested.unsubscribe(TopicInterest(TOPIC))
    tested.publish(Event(5, 0, TOPIC))
    assert set(sent(environment, TopicMessage)) == {2, 3}
    tested._scores.delivered_invalid(2, TOPIC)
    environment.advance(1.1)
    tested.publish(Event(6, 0, TOPIC))
    assert set(sent(environment, TopicMessage)) == {3}
