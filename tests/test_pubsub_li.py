"""Li's system at several peers: every event finds its subscribers, once, whatever happens to the tree."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from li_world import LiWorld

from emulator.contract.protocol import Event, Installation, RangeInterest, TopicInterest
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.space import ROOT
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

DOMAINS = {"a": (0.0, 100.0), "b": (-50.0, 50.0)}
PROBING = ("multicast", "multicast-throughout", "unicast")


def parameters(**changes: object) -> LiParameters:
    """Return parameters with small leaves, so that trees grow, and without copies."""
    values = {"attributes": DOMAINS, "capacity": (2, 4), "min_level": 1, "max_level": 5, "replicas": 0}
    return LiParameters.model_validate({**values, **changes})


def random_ranges(draw: random.Random) -> dict[str, tuple[float, float]]:
    names = [name for name in DOMAINS if draw.random() < 0.6] or ["a"]
    ranges = {}
    for name in names:
        low, high = DOMAINS[name]
        middle, half = draw.uniform(low, high), draw.random() ** 2 * 40
        ranges[name] = middle - half, middle + half
    return ranges


def random_values(draw: random.Random) -> dict[str, float]:
    return {name: draw.uniform(*bounds) for name, bounds in DOMAINS.items()}


def grow(world: LiWorld, count: int, draw: random.Random) -> None:
    for _ in range(count):
        world.subscribe(draw.choice(world.ring.peers), random_ranges(draw))
    world.settle()


def check(world: LiWorld, count: int, draw: random.Random) -> None:
    for _ in range(count):
        event = world.publish(draw.choice(world.ring.peers), random_values(draw))
        world.settle(0)
        assert world.delivered(event) == world.interested(event)


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


def test_each_point_is_stored_in_the_leaf_that_covers_it() -> None:
    draw = random.Random(2)
    world = LiWorld(10, parameters(cut_off=0.0))
    grow(world, 60, draw)
    nodes = world.nodes()
    stored = 0
    for (attribute, position), node in nodes.items():
        domain = world.systems[0].schema.attributes[attribute]
        if node.inner:
            assert {(attribute, 2 * position), (attribute, 2 * position + 1)} <= nodes.keys()
            continue
        assert (attribute, 2 * position) not in nodes
        for subscription in node.entries.values():
            stored += 1
            assert domain.position_of(subscription.low, subscription.high, node.level) == position
    assert stored == 60 == world.installations()


def test_tables_tell_what_is_stored_of_others_and_each_subscription_that_an_event_is_compared_with() -> None:
    world = LiWorld(1, parameters(capacity=(9, 9), cut_off=0.0))
    for low in (10.0, 20.0, 30.0):
        world.subscribe(0, {"a": (low, low + 15.0)})
    world.settle()
    gauges = world.systems[0].gauges()
    assert (gauges["table_entries"], gauges["table_searches"], gauges["table_comparisons"]) == (0, 0, 0)
    world.publish(0, {"a": 27.0})
    world.settle()
    gauges = world.systems[0].gauges()
    assert (gauges["table_searches"], gauges["table_comparisons"]) == (1, 3)


def test_copies_of_others_subscriptions_are_table_entries_too() -> None:
    world = LiWorld(3, parameters(replicas=2))
    world.subscribe(0, {"a": (10.0, 20.0)})
    world.settle(3)
    assert [world.systems[peer].gauges()["table_entries"] for peer in range(3)] == [0, 1, 1]


def test_ancestors_learn_of_all_leaves() -> None:
    world = LiWorld(10, parameters())
    grow(world, 60, random.Random(3))
    nodes = world.nodes()
    for attribute in (0, 1):
        inner = {p for (a, p), n in nodes.items() if a == attribute and n.inner}
        assert nodes[attribute, ROOT].table.splits == inner


def test_a_leaf_splits_when_it_holds_more_than_its_capacity() -> None:
    world = LiWorld(3, parameters(capacity=(5, 5), cut_off=0.0))
    for low in range(5):
        world.subscribe(0, {"a": (low * 17.3, low * 17.3 + 9)})
    world.settle()
    assert list(world.nodes()) == [(0, ROOT)]
    world.subscribe(0, {"a": (91.7, 95.2)})
    world.settle()
    assert {(0, 2), (0, 3)} <= world.nodes().keys()
    assert world.nodes()[0, ROOT].inner


def test_equal_subscriptions_on_no_corner_stay_in_one_leaf() -> None:
    world = LiWorld(4, parameters())
    for peer in (0, 1, 2, 3) * 3:
        world.subscribe(peer, {"a": (10.1, 12.3)})
    world.settle()
    assert len(world.nodes()) == 1
    event = world.publish(0, {"a": 11.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == [0, 1, 2, 3]


def test_equal_subscriptions_on_a_corner_are_pulled_apart_and_filtered() -> None:
    world = LiWorld(4, parameters(cut_off=0.0, widening=0.05))
    for _ in range(12):
        world.subscribe(1, {"a": (25.0, 75.0)})
    world.settle()
    assert len(world.nodes()) > 1
    for value, expected in ((24.9, []), (25.0, [1]), (75.0, [1]), (75.1, [])):
        event = world.publish(0, {"a": value, "b": 0.0})
        world.settle(0)
        assert world.delivered(event) == expected


def test_a_subscription_is_in_force_where_it_is_stored() -> None:
    world = LiWorld(6, parameters())
    world.subscribe(2, {"a": (10.0, 12.5)})
    world.settle()
    told = [
        (peer, outcome)
        for peer, environment in world.lockstep.environments.items()
        for outcome in environment.delivered
    ]
    (home,) = [peer for peer in world.systems if world.systems[peer].tree.nodes]
    assert len(told) == 1 and told[0][0] == home
    installation = told[0][1]
    assert isinstance(installation, Installation)
    assert installation.subscriber == 2
    assert installation.hops >= 2


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


def test_a_leaf_forgets_what_its_subscriber_does_not_hold() -> None:
    world = LiWorld(6, parameters(retry="1 h"))
    interest = world.subscribe(2, {"a": (10.0, 20.0)})
    world.settle()
    world.systems[2].unsubscribe(interest)
    for environment in world.lockstep.environments.values():
        environment.outbox.clear()  # the request is lost
    event = world.publish(0, {"a": 15.0, "b": 0.0})
    world.settle(0)
    assert world.delivered(event) == []
    assert not [n for n in world.nodes().values() if n.live()]


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
