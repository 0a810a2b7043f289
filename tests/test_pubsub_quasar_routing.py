"""Quasar's Algorithm 2, by a scripted random source on graphs of up to eight peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fake_environment import FakeEnvironment
from quasar_world import Graph, QuasarWorld

from emulator.contract.protocol import Event, TopicInterest
from emulator.protocols.pubsub.quasar.bloom import hashing_of, home_level
from emulator.protocols.pubsub.quasar.routing import find_gradient
from trellis.v1.quasar import AttenuatedFilter, GradientUpdate, QuasarEvent

GROUP = 0
LINE: Graph = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2, 4], 4: [3, 5], 5: [4, 6], 6: [5, 7], 7: [6]}
STAR: Graph = {0: [1, 2, 3, 4], 1: [0], 2: [0], 3: [0], 4: [0]}


class Scripted:
    """A random source that makes the choices that the test names, by place in the list."""

    def __init__(self, choices: Sequence[int]) -> None:
        self.left = list(choices)

    def choice(self, among: Sequence[Any]) -> Any:
        return among[self.left.pop(0)]

    def sample(self, among: Sequence[Any], count: int) -> list[Any]:
        return [among[self.left.pop(0)] for _ in range(count)]


def script(world: QuasarWorld, peer: int, *choices: int) -> Scripted:
    scripted = world.environment(peer).random = Scripted(choices)  # type: ignore[assignment]
    return scripted  # type: ignore[return-value]


def event(
    hops: int = 1, negated: Sequence[int] = (0,), ttl: int = 32, directed: int = 0, number: int = 7
) -> QuasarEvent:
    return QuasarEvent(number, GROUP, 0, hops, b"x", list(negated), ttl, directed)


def sent(environment: FakeEnvironment) -> list[tuple[int, QuasarEvent]]:
    return environment.take(QuasarEvent)


def handled(
    world: QuasarWorld, peer: int, sender: int, message: QuasarEvent
) -> list[tuple[int, QuasarEvent]]:
    """Return what the peer sends when it gets the message."""
    environment = world.environment(peer)
    environment.outbox.clear()
    environment.hand_over(sender, message)
    return sent(environment)


def entry(*names: int, topics: Sequence[int] = ()) -> bytes:
    hashing = hashing_of(512, 4)
    return home_level(512, [*map(hashing.of_peer, names), *map(hashing.of_group, topics)])


def test_the_lowest_level_wins_then_the_first_neighbour() -> None:
    with_group, without = entry(topics=[GROUP]), entry()
    near = (8, [without, with_group])
    group = hashing_of(512, 4).of_group(GROUP)
    assert find_gradient([(7, [without, without]), near, (9, [with_group, without])], 2, group, []) == (9, 0)
    assert find_gradient([(7, None), near, (6, [without, with_group])], 2, group, []) == (8, 1)
    assert find_gradient([(7, [without, without])], 2, group, []) == (-1, -1)


def test_a_publisher_in_the_same_level_of_the_same_neighbour_negates_it_alone() -> None:
    hashing = hashing_of(512, 4)
    group, publisher = hashing.of_group(GROUP), [hashing.of_peer(3)]
    both, other = entry(3, topics=[GROUP]), entry(topics=[GROUP])
    assert find_gradient([(1, [both, other])], 2, group, publisher) == (1, 1)
    assert find_gradient([(1, [both, both])], 2, group, publisher) == (-1, -1)
    assert find_gradient([(1, [both, both]), (2, [entry(3), other])], 2, group, publisher) == (2, 1)
    assert find_gradient([(1, [both, both])], 2, group, []) == (1, 0)


def test_a_message_descends_a_gravity_well_of_three_hops_step_by_step() -> None:
    world = QuasarWorld(LINE, {0: [GROUP], 5: [GROUP]})
    world.rounds(4)
    scripted = script(world, 1, 1)
    world.quasars[0].publish(Event(7, 0, GROUP))
    world.lockstep.exchange()
    assert scripted.left == []  # from 1 no well but the publisher's can be seen; from 2 on it is downhill
    assert world.delivered() == {5: 5}


FIGURE_2: Graph = {
    **{0: [1, 2, 3, 4], 1: [0, 5], 2: [0, 6], 3: [0, 4], 4: [0, 3]},
    **{5: [1, 7], 6: [2, 7], 7: [5, 6]},
}
"""The members are A = 0, B = 5, C = 6, and D = 7, which no gradient reaches from A. 3 and 4 lead nowhere."""


def test_a_message_takes_the_way_of_figure_2() -> None:
    world = QuasarWorld(FIGURE_2, {peer: [GROUP] for peer in (0, 5, 6, 7)}, branch=3, returns=False, ttl=4)
    world.rounds(4)
    scripts = [script(world, 0, 0, 1, 2), script(world, 3, 0, 1), script(world, 4, 1, 0)]
    world.lockstep.sent = []
    world.quasars[0].publish(Event(7, 0, GROUP))
    world.lockstep.exchange()
    sent = [
        (sender, to, m.hops, m.ttl, m.directed, m.negated)
        for sender, to, m in world.lockstep.sent
        if isinstance(m, QuasarEvent)
    ]
    assert sent == [
        *((0, 1, 1, 4, 0, [0]), (0, 2, 1, 4, 0, [0]), (0, 3, 1, 4, 0, [0])),  # three copies of A
        (1, 5, 2, 3, 1, [0]),  # B's well, of level 0
        (2, 6, 2, 3, 1, [0]),  # C's
        (3, 4, 2, 3, 0, [0]),  # A's own well is all that there is, and negated
        (4, 3, 3, 2, 0, [0]),  # from a dead end a copy goes back
        (5, 7, 3, 3, 0, [0, 5]),  # B publishes anew, but not to where the copy comes from
        (6, 7, 3, 3, 0, [0, 6]),
        (3, 4, 4, 1, 0, [0]),  # its last hop: the TTL ends it
        (7, 6, 4, 3, 0, [0, 5, 7]),  # D has B's copy first; C has the message, and drops it
    ]
    assert world.delivered() == {5: 2, 6: 2, 7: 3}
    assert [one.left for one in scripts] == [[], [], [0]]


def test_a_member_delivers_adds_itself_and_publishes_anew_to_all_neighbours() -> None:
    world = QuasarWorld(STAR, {0: [GROUP]})
    world.rounds(4)
    copies = handled(world, 0, 2, event(hops=3, negated=[9, 8], ttl=5, directed=1))
    assert [to for to, _ in copies] == [1, 2, 3, 4]
    first = copies[0][1]
    assert all(copy is first for _, copy in copies)
    assert (first.hops, first.negated, first.ttl, first.directed) == (4, [9, 8, 0], 5, 0)
    (delivered,) = world.environment(0).delivered
    assert (delivered.number, delivered.hops, delivered.payload) == (7, 3, b"x")
    assert handled(world, 0, 3, event()) == []
    assert len(world.environment(0).delivered) == 1


def test_a_relay_passes_a_duplicate_on_unless_relays_drop_them() -> None:
    for drops, second in (("members", 1), ("all", 0)):
        world = QuasarWorld(LINE, {5: [GROUP]}, drop_duplicates=drops)
        world.rounds(4)
        assert len(handled(world, 4, 3, event())) == 1
        assert len(handled(world, 4, 3, event())) == second


def test_a_message_ends_with_its_ttl_at_relays() -> None:
    world = QuasarWorld(LINE, {5: [GROUP]})
    world.rounds(4)
    ((to, passed),) = handled(world, 4, 3, event(ttl=2))
    assert (to, passed.ttl) == (5, 1)
    assert handled(world, 4, 3, event(ttl=1)) == []
    assert len(handled(world, 5, 4, event(ttl=1))) == 2


def test_a_publisher_sends_as_many_copies_as_the_branching_factor() -> None:
    world = QuasarWorld(STAR, {}, branch=3)
    world.rounds(2)
    script(world, 0, 3, 1, 0)
    environment = world.environment(0)
    environment.outbox.clear()
    world.quasars[0].publish(Event(7, 0, GROUP))
    copies = sent(environment)
    assert [to for to, _ in copies] == [4, 2, 1]
    assert {(c.hops, tuple(c.negated), c.ttl, c.directed) for _, c in copies} == {(1, (0,), 32, 0)}


def test_a_random_step_may_go_back_unless_copies_do_not_return() -> None:
    for returns, choice, expected in ((True, 0, 1), (False, 0, 3)):
        world = QuasarWorld(STAR, {}, returns=returns)
        world.rounds(4)
        script(world, 0, choice)
        ((to, passed),) = handled(world, 0, 1, event(negated=[2]))
        assert to == expected
        assert (passed.hops, passed.ttl, passed.directed, passed.negated) == (2, 31, 0, [2])
    member = QuasarWorld(STAR, {0: [GROUP]}, returns=False)
    member.rounds(2)
    assert [to for to, _ in handled(member, 0, 1, event(negated=[2]))] == [3, 4]


def test_without_negation_only_the_sender_is_kept_out() -> None:
    world = QuasarWorld(STAR, {}, returns=False, negation=False)
    world.rounds(4)
    script(world, 0, 0)
    assert [to for to, _ in handled(world, 0, 1, event(negated=[2]))] == [2]


def test_a_copy_that_does_not_return_is_drawn_to_a_publisher_by_no_other_members_gradient() -> None:
    for returns, expected in ((True, 0), (False, 2)):
        world = QuasarWorld(LINE, {0: [GROUP]}, returns=returns)
        world.rounds(4)
        beside_a_member = AttenuatedFilter([entry(0, topics=[GROUP]), entry(topics=[GROUP]), bytes(512)])
        world.environment(1).hand_over(0, GradientUpdate(0, 99, True, beside_a_member))
        script(world, 1, 0)
        assert [to for to, _ in handled(world, 1, 0, event())] == [expected]


def test_a_gradient_may_lead_back_to_the_sender_even_if_copies_do_not_return() -> None:
    world = QuasarWorld(LINE, {0: [GROUP]}, returns=False, negation=False)
    world.rounds(4)
    assert [to for to, _ in handled(world, 1, 0, event())] == [0]


def test_a_dead_end_sends_back_even_if_copies_do_not_return() -> None:
    world = QuasarWorld(LINE, {}, returns=False)
    world.rounds(4)
    script(world, 7, 0)
    assert [to for to, _ in handled(world, 7, 6, event())] == [6]


def test_without_negation_a_copy_falls_back_into_its_publishers_well() -> None:
    for negation, expected in ((True, 2), (False, 0)):
        world = QuasarWorld(LINE, {0: [GROUP]}, negation=negation)
        world.rounds(4)
        script(world, 1, 1)
        assert [to for to, _ in handled(world, 1, 0, event())] == [expected]


@pytest.mark.parametrize(("negate_stale", "negated"), [(True, [0, 5]), (False, [0])])
def test_a_peer_where_a_stale_gradient_ends_joins_the_negative_information(
    negate_stale: bool, negated: list[int]
) -> None:
    world = QuasarWorld(LINE, {5: [GROUP]}, negate_stale=negate_stale)
    world.rounds(4)
    world.quasars[5].unsubscribe(TopicInterest(GROUP))
    script(world, 5, 1)
    ((to, passed),) = handled(world, 5, 4, event(directed=1))
    assert passed.negated == negated
    assert to == (6 if negate_stale else 4)  # back into its own stale well, as 4 tells it
    gauges = world.quasars[5].gauges()
    assert (gauges["directed_0"], gauges["astray_0"]) == (1, 1)
    assert gauges["recovered_0"] == (0 if negate_stale else 1)


def test_a_gradient_that_goes_on_is_not_stale() -> None:
    world = QuasarWorld(LINE, {5: [GROUP]})
    world.rounds(4)
    ((to, passed),) = handled(world, 4, 3, event(directed=2))
    assert (to, passed.negated, passed.directed) == (5, [0], 1)
    gauges = world.quasars[4].gauges()
    assert (gauges["directed_1"], gauges["astray_1"]) == (1, 0)


def test_a_false_positive_is_found_at_the_next_hop() -> None:
    world = QuasarWorld(LINE, {})
    world.rounds(4)
    lie = AttenuatedFilter([bytes(512), b"\xff" * 512, bytes(512)])
    world.environment(3).hand_over(4, GradientUpdate(0, 99, True, lie))
    script(world, 3, 0)
    assert [c.directed for _, c in handled(world, 3, 2, event())] == [0]  # the whole level negates itself
    full = AttenuatedFilter([bytes(512), entry(topics=[GROUP]), bytes(512)])
    world.environment(3).hand_over(4, GradientUpdate(0, 100, True, full))
    ((to, passed),) = handled(world, 3, 2, event())
    assert (to, passed.directed) == (4, 2)
    script(world, 4, 1)
    ((_, onward),) = handled(world, 4, 3, passed)
    assert (onward.directed, onward.negated) == (0, [0, 4])
    assert world.quasars[4].gauges()["astray_1"] == 1


def test_a_publication_waits_for_the_first_neighbour() -> None:
    world = QuasarWorld({0: [], 1: []}, {1: [GROUP]})
    world.quasars[0].publish(Event(7, 0, GROUP))
    world.lockstep.round(2.0)
    assert not world.delivered()
    world.graphs[0].add(1)
    world.lockstep.round(2.0)
    assert world.delivered() == {1: 1}


def test_each_peer_asks_its_neighbours_in_an_order_of_its_own() -> None:
    everybody = range(40)
    world = QuasarWorld({peer: [n for n in everybody if n != peer] for peer in everybody}, {})
    world.rounds(1)
    early = set(range(20))
    first = [world.quasars[peer]._gradients.surroundings()[0][0] for peer in everybody]
    assert 10 < sum(peer in early for peer in first) < 30
    assert len(set(first)) > 10
