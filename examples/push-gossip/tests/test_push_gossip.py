"""Push gossip, driven by hand: no clock, no network."""

from __future__ import annotations

import math

import numpy as np
import pytest
from push_gossip.messages import Digest, Rumour
from push_gossip.popularity import Zipf
from push_gossip.system import PUSH_GOSSIP, PushGossip, PushGossipParameters

import trellis
from emulator.contract.protocol import Event, TopicInterest
from emulator.testing.fake_environment import FakeEnvironment, Lockstep

NEWS = Event(number=7, publisher=0, topic=3, payload=b"news")


def peer(world: FakeEnvironment, fanout: int = 3, repair: float = 0.0) -> PushGossip:
    made = PUSH_GOSSIP.create(world, PushGossipParameters.model_construct(fanout=fanout, repair=repair))
    assert isinstance(made, PushGossip)
    return made


def crowd(peers: int, fanout: int, repair: float = 0.0) -> Lockstep:
    """Return peers whose views are full, all subscribed to the topic of the news."""
    together = Lockstep(lambda world: peer(world, fanout, repair), range(peers))
    for one in together.protocols.values():
        one.subscribe(TopicInterest(3))
    together.start()
    for _ in range(15):
        together.round()
    return together


def reached(together: Lockstep) -> int:
    """Return the peers that delivered something; the publisher, peer 0, delivers its own event to nobody."""
    return sum(bool(world.delivered) for world in together.environments.values())


def test_an_event_is_sent_on_once_to_as_many_as_the_fanout_says() -> None:
    together = crowd(12, fanout=3)
    world = together.environments[5]
    world.hand_over(0, Rumour(event=7, topic=3, publisher=0, hops=2))
    sent = world.take(Rumour)
    assert len({to for to, _ in sent}) == 3
    assert {message.hops for _, message in sent} == {3}
    world.hand_over(1, Rumour(event=7, topic=3, publisher=0, hops=4))
    assert world.take(Rumour) == []
    assert [event.hops for event in world.delivered] == [2]


def test_who_did_not_ask_for_a_topic_passes_its_events_on_and_delivers_nothing() -> None:
    together = crowd(12, fanout=3)
    together.protocols[5].unsubscribe(TopicInterest(3))
    world = together.environments[5]
    world.hand_over(0, Rumour(event=7, topic=3, publisher=0, hops=1))
    assert len(world.take(Rumour)) == 3
    assert world.delivered == []


def test_a_digest_is_answered_by_what_it_lacks() -> None:
    world = FakeEnvironment()
    one = peer(world)
    for number in (1, 4):
        one.publish(Event(number, 0, 3))
    world.take(Rumour)
    world.hand_over(9, Digest(events=1 << 4))
    assert [(to, message.event) for to, message in world.take(Rumour)] == [(9, 1)]


@pytest.mark.parametrize("fanout", [2, 3, 5])
def test_coverage_follows_the_theory_of_epidemics(fanout: int) -> None:
    """Without repair an event reaches the share s of peers with s = 1 - exp(-fanout s)."""
    together = crowd(200, fanout)
    together.protocols[0].publish(NEWS)
    together.exchange()
    share = 1.0
    for _ in range(100):
        share = 1 - math.exp(-fanout * share)
    assert reached(together) / 200 == pytest.approx(share, abs=0.08)


def test_repair_reaches_everybody() -> None:
    together = crowd(60, fanout=2, repair=1.0)
    together.protocols[0].publish(NEWS)
    for _ in range(15):
        together.round()
    assert reached(together) == 59


def test_popular_topics_have_more_subscribers() -> None:
    drawn = Zipf(kind="zipf", topics=50, per_peer=3, skew=1.0).draw(2000, 60.0, np.random.default_rng(1))
    followers = np.bincount(drawn.topic, minlength=50)
    assert followers.sum() == 6000
    assert followers[0] > 3 * followers[9] > 0


def test_the_ready_experiment_is_valid_and_small_enough_for_a_coffee() -> None:
    experiment = trellis.load("push-gossip:fanout.yaml")
    assert len(experiment.trials()) == 24
    assert experiment.with_(peers=50, repeat=1).spec.peers == 50
