"""Li's system at several peers: every event finds its subscribers, once, whatever happens to the tree."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from li_subscriptions import check, grow, parameters, random_ranges, random_values
from li_world import LiWorld

from emulator.contract.protocol import Event, RangeInterest, TopicInterest
from trellis.v1.content import (
    EventDelivery,
    InsertSub,
    LeafUpdate,
    ProbePub,
    ProbePubMulticast,
    ProbeSub,
    TransferSub,
)
from trellis.v1.overlay import Routed

PROBING = ("multicast", "multicast-throughout", "unicast")


def sent(world: LiWorld, kind: type) -> int:
    return sum(
        isinstance(message.message if isinstance(message, Routed) else message, kind)
        for _, _, message in world.lockstep.sent
    )


@pytest.mark.parametrize("cut_off", [0.0, 0.15])
@pytest.mark.parametrize("probing", PROBING)
def test_every_event_reaches_whom_brute_force_finds_once(probing: str, cut_off: float) -> None:
    draw = random.Random(1)
    world = LiWorld(20, parameters(probing=probing, cut_off=cut_off))
    grow(world, 100, draw)
    assert len(world.nodes()) > 40
    check(world, 60, draw)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(-1, 25)), min_size=1, max_size=40
    ),
    st.lists(st.integers(0, 100), min_size=1, max_size=8),
    st.sampled_from(PROBING),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_matching_equals_brute_force_on_corners_and_ends(
    asked: list[tuple[int, int, int]], values: list[int], probing: str, cut_off: float
) -> None:
    world = LiWorld(8, parameters(probing=probing, cut_off=cut_off))
    for index, (one, other, b) in enumerate(asked):
        ranges = {"a": (float(min(one, other)), float(max(one, other)))}
        if b >= 0:
            ranges["b"] = (float(-b), float(b))
        world.subscribe(index % 8, ranges)
    world.settle()
    for value in values:
        event = world.publish(value % 8, {"a": float(value), "b": value / 2 - 25})
        world.settle(0)
        assert world.delivered(event) == world.interested(event)


def test_who_takes_a_subscription_back_gets_no_more_events() -> None:
    world = LiWorld(6, parameters())
    interest = world.subscribe(2, {"a": (10.0, 60.0)})
    world.settle()
    world.systems[2].unsubscribe(interest)
    world.settle()
    assert not [n for n in world.nodes().values() if n.live()]
    event = world.publish(0, {"a": 20.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == []
    assert world.systems[2].gauges()["pending_subscriptions"] == 0


def test_a_changed_interest_gets_the_new_events_only() -> None:
    world = LiWorld(6, parameters())
    interest = world.subscribe(2, {"a": (10.0, 20.0)})
    world.settle()
    world.subscribe(2, {"a": (50.0, 60.0)})
    world.systems[2].unsubscribe(interest)
    world.settle()
    old = world.publish(0, {"a": 15.0, "b": 0.0})
    new = world.publish(0, {"a": 55.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(old) == []
    assert world.delivered(new) == [2]


def test_an_event_that_lacks_an_attribute_matches_no_range_over_it() -> None:
    world = LiWorld(6, parameters())
    world.subscribe(1, {"a": (10.0, 20.0)})
    world.subscribe(2, {"a": (10.0, 20.0), "b": (0.0, 1.0)})
    world.settle()
    event = world.publish(0, {"a": 15.0})
    world.settle(0)
    assert world.delivered(event) == [1]


def test_an_absent_attribute_may_match_everything() -> None:
    world = LiWorld(6, parameters(absent="match"))
    draw = random.Random(4)
    for peer in range(6):
        for _ in range(5):
            world.subscribe(peer, {"a": (10.0, 20.0), "b": (0.0, draw.uniform(0.0, 50.0))})
    world.subscribe(5, {"a": (30.0, 40.0), "b": (0.0, 1.0)})
    world.settle()
    event = world.publish(0, {"a": 15.0})
    world.settle(0)
    assert world.delivered(event) == [0, 1, 2, 3, 4, 5]
    event = world.publish(0, {"b": 0.5})
    world.settle(0)
    assert world.delivered(event) == [0, 1, 2, 3, 4, 5]


def test_ranges_and_values_may_leave_the_domain() -> None:
    world = LiWorld(4, parameters())
    world.subscribe(1, {"a": (90.0, 1e9)})
    world.subscribe(2, {"a": (-1e9, 1e9)})
    world.subscribe(3, {"a": (90.0, 100.0)})
    world.settle()
    event = world.publish(0, {"a": 200.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [1, 2]


def test_a_peer_with_several_matching_subscriptions_gets_an_event_once() -> None:
    world = LiWorld(6, parameters())
    draw = random.Random(5)
    for _ in range(20):
        world.subscribe(1, {"a": (draw.uniform(0, 50), draw.uniform(50, 100))})
    world.settle()
    event = world.publish(0, {"a": 50.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [1]


def test_subscriptions_in_flight_while_leaves_split_are_found() -> None:
    """Nothing settles between them: probes, inserts, transfers and updates are under way at once."""
    draw = random.Random(6)
    world = LiWorld(15, parameters(capacity=(2, 2)))
    for number in range(120):
        world.subscribe(draw.randrange(15), random_ranges(draw))
        if number % 3 == 0:
            step(world)
    world.settle(3)
    assert world.installations() == sum(len(node.live()) for node in world.nodes().values())
    check(world, 40, draw)


def test_what_is_installed_misses_no_event_while_others_arrive() -> None:
    draw = random.Random(7)
    world = LiWorld(15, parameters(capacity=(2, 2)))
    for _ in range(30):
        grow(world, 2, draw)
        installed = list(world.asked)
        for _ in range(6):
            world.subscribe(draw.randrange(15), random_ranges(draw))
            step(world)
        event = world.publish(draw.randrange(15), random_values(draw))
        late = world.asked
        world.asked = installed
        expected = set(world.interested(event))
        world.asked = late
        world.settle(0)
        assert expected <= set(world.delivered(event)) <= set(world.interested(event))


def step(world: LiWorld) -> None:
    """Let one message delay pass and no more."""
    outgoing = []
    for peer, environment in world.lockstep.environments.items():
        environment.advance(0.0)
        outgoing += [(peer, sent) for sent in environment.outbox]
        environment.outbox.clear()
    for peer, sent in outgoing:
        receiver = world.lockstep.environments[sent.peer]
        receiver.hand_over(peer, sent.message, sent.channel, sent.request)


def test_all_seven_messages_of_the_thesis_are_used() -> None:
    draw = random.Random(8)
    world = LiWorld(15, parameters())
    kinds = set()
    for _ in range(30):
        world.subscribe(draw.randrange(15), random_ranges(draw))
        world.lockstep.sent = []
        world.lockstep.exchange()
        kinds |= names(world)
    for _ in range(5):
        world.publish(draw.randrange(15), random_values(draw))
        world.lockstep.sent = []
        world.lockstep.exchange()
        kinds |= names(world)
    assert kinds >= {
        kind.__name__
        for kind in (
            *(ProbeSub, InsertSub, LeafUpdate, TransferSub),
            *(ProbePubMulticast, ProbePub, EventDelivery),
        )
    }


def names(world: LiWorld) -> set[str]:
    """Return the names of the messages that were sent; of what was routed, the name inside."""
    messages = [message for _, _, message in world.lockstep.sent]
    return {type(m.message if isinstance(m, Routed) else m).__name__ for m in messages}


def test_unicast_sends_no_multicast_and_throughout_sends_nothing_else() -> None:
    draw = random.Random(9)
    for probing, absent in (("unicast", ProbePubMulticast), ("multicast-throughout", ProbePub)):
        world = LiWorld(15, parameters(probing=probing))
        grow(world, 60, draw)
        for _ in range(5):
            world.lockstep.sent = []
            world.publish(draw.randrange(15), random_values(draw))
            world.lockstep.exchange()
            assert world.lockstep.sent and not sent(world, absent)


def test_an_interest_in_nothing_in_a_set_or_in_a_topic_is_refused() -> None:
    world = LiWorld(2, parameters())
    with pytest.raises(ValueError, match="at least one attribute"):
        world.subscribe(0, {})
    with pytest.raises(ValueError, match="no attribute c"):
        world.subscribe(0, {"c": (0.0, 1.0)})
    with pytest.raises(ValueError, match="not sets, as of a"):
        world.systems[0].subscribe(RangeInterest({}, {"a": frozenset([1.0])}))
    with pytest.raises(TypeError, match="TopicInterest"):
        world.systems[0].subscribe(TopicInterest(3))
    with pytest.raises(TypeError, match="topic"):
        world.systems[0].publish(Event(1, 0, topic=3))


def test_subscriptions_from_before_the_start_are_installed_then() -> None:
    world = LiWorld(4, parameters(), up=3)
    world.subscribe(3, {"a": (10.0, 20.0)})
    world.settle()
    assert world.installations() == 0
    world.join(3)
    world.settle(2)
    event = world.publish(0, {"a": 15.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [3]


def test_a_probe_that_is_lost_is_sent_again() -> None:
    world = LiWorld(4, parameters(retry="3 s"))
    world.subscribe(1, {"a": (10.0, 20.0)})
    for environment in world.lockstep.environments.values():
        environment.outbox.clear()
    world.settle(5)
    event = world.publish(0, {"a": 15.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_level": 6},
        {"capacity": (0, 3)},
        {"capacity": (5, 3)},
        {"piece": (0.0, 1.0)},
        {"attributes": {"a": (1.0, 1.0)}},
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong: Mapping[str, object]) -> None:
    with pytest.raises(ValueError):
        parameters(**wrong)
