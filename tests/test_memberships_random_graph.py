"""The random graph: bounded, symmetric, whole, and mended."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest
from fake_environment import FakeEnvironment, Lockstep
from pydantic import ValidationError

from emulator.contract.protocol import Contact
from emulator.protocols.overlays.random_graph.membership import RandomGraph
from emulator.protocols.overlays.random_graph.parameters import RandomGraphParameters
from trellis.v1.overlay import Goodbye
from trellis.v1.random_graph import LinkAnswer, LinkEnd, LinkHeartbeat, LinkMove, LinkRequest

PEERS = 60


def graph(peers: int = PEERS, rounds: int = 30, **parameters: object) -> Lockstep:
    given = RandomGraphParameters.model_validate(parameters)
    world = Lockstep(lambda environment: RandomGraph(environment, given), range(peers))
    world.start()
    for _ in range(rounds):
        world.round()
    return world


def links(world: Lockstep) -> dict[int, set[int]]:
    return {peer: set(one.neighbours()["random"]) for peer, one in world.protocols.items()}


def reached(found: dict[int, set[int]]) -> int:
    seen, new = {next(iter(found))}, {next(iter(found))}
    while new:
        new = {n for peer in new for n in found[peer]} - seen
        seen |= new
    return len(seen)


def test_a_bounded_graph_fills_up_to_its_degree_and_is_whole_and_symmetric() -> None:
    found = links(graph(degree=5))
    assert all(peer in found[n] for peer, those in found.items() for n in those)
    assert max(map(len, found.values())) == 5
    assert fmean(map(len, found.values())) > 4.8
    assert reached(found) == PEERS


def test_each_peer_has_a_bound_of_its_own_in_the_spread() -> None:
    world = graph(degree=5, spread=2)
    bounds = {peer: one.bound for peer, one in world.protocols.items()}  # type: ignore[attr-defined]
    assert set(bounds.values()) == {3, 4, 5, 6, 7}
    assert all(len(those) <= bounds[peer] for peer, those in links(world).items())


def test_a_sparse_graph_has_its_degree_in_the_mean_alone() -> None:
    found = links(graph(degree=6, graph="sparse"))
    degrees = Counter(map(len, found.values()))
    assert fmean(map(len, found.values())) == pytest.approx(6, abs=0.7)
    assert len(degrees) > 4
    assert reached(found) == PEERS


def test_neighbours_of_a_peer_are_no_more_often_neighbours_than_in_a_graph_drawn_at_once() -> None:
    found = links(graph(peers=300, degree=6))
    closed = [n in found[m] for those in found.values() for m in those for n in those if m != n]
    assert fmean(closed) < 1.5 * 5 / 300


def test_who_is_asked_names_a_neighbour_as_long_as_the_walk_has_steps_left() -> None:
    environment = FakeEnvironment(0)
    tested = RandomGraph(environment, RandomGraphParameters(degree=4))
    environment.hand_over(1, LinkRequest(2, 3), request=1)
    assert environment.take(LinkAnswer) == [(1, LinkAnswer(True))]
    environment.hand_over(2, LinkRequest(2, 3), request=2)
    assert environment.take(LinkAnswer) == [(2, LinkAnswer(False, Contact(1)))]
    environment.hand_over(2, LinkRequest(2, 0), request=3)
    assert environment.take(LinkAnswer) == [(2, LinkAnswer(True))]
    assert set(tested.neighbours()["random"]) == {1, 2}


def test_a_walk_goes_on_where_it_is_told_with_a_step_less() -> None:
    environment = FakeEnvironment(0)
    tested = RandomGraph(environment, RandomGraphParameters(degree=2, walk=2))
    tested.start([1])
    for asked, onward, steps in ((1, Contact(5), 2), (5, Contact(6), 1), (6, Contact(7), 0)):
        sent = next(each for each in environment.outbox if isinstance(each.message, LinkRequest))
        assert (sent.peer, sent.message) == (asked, LinkRequest(2, steps))
        environment.outbox.clear()
        environment.hand_over(asked, LinkAnswer(False, onward), request=-sent.request)
    assert not environment.take(LinkRequest)


def test_the_graph_mends_after_a_third_has_crashed() -> None:
    world = graph(degree=5)
    world.crash(range(0, PEERS, 3))
    for _ in range(30):
        world.round()
    found = links(world)
    assert all(n in found for those in found.values() for n in those)
    assert fmean(map(len, found.values())) > 4.7
    assert reached(found) == len(found)


def test_a_full_peer_puts_a_needy_one_between_itself_and_a_neighbour() -> None:
    environment = FakeEnvironment(0)
    tested = RandomGraph(environment, RandomGraphParameters(degree=2))
    changes: list[tuple[int, bool]] = []

    class Listener:
        def neighbour_changed(self, contact: Contact, joined: bool) -> None:
            changes.append((contact.peer, joined))

    tested.add_listener(Listener())
    for peer in (1, 2):
        environment.hand_over(peer, LinkRequest(2), request=1)
    environment.outbox.clear()
    environment.hand_over(3, LinkRequest(1), request=2)
    assert environment.take(LinkAnswer) == [(3, LinkAnswer(False))]
    environment.hand_over(3, LinkRequest(2), request=3)
    sent = [(each.peer, each.message) for each in environment.outbox]
    moved = next(peer for peer, message in sent if isinstance(message, LinkMove))
    assert sent == [(moved, LinkMove(3)), (3, LinkAnswer(True))]
    assert set(tested.neighbours()["random"]) == {1, 2, 3} - {moved}
    assert changes == [(1, True), (2, True), (moved, False), (3, True)]


def test_a_peer_that_is_moved_asks_the_one_that_it_is_told_of() -> None:
    environment = FakeEnvironment(0)
    tested = RandomGraph(environment, RandomGraphParameters(degree=2))
    environment.hand_over(1, LinkRequest(2), request=1)
    environment.outbox.clear()
    environment.hand_over(9, LinkMove(3))
    assert not environment.outbox
    environment.hand_over(1, LinkMove(3))
    assert [peer for peer, _ in environment.take(LinkRequest)] == [3]
    assert not tested.neighbours()["random"]


def test_a_neighbour_that_is_silent_or_denies_the_link_is_dropped() -> None:
    environment = FakeEnvironment(0)
    tested = RandomGraph(environment, RandomGraphParameters(degree=4))
    tested.start([])
    for peer in (1, 2, 3):
        environment.hand_over(peer, LinkRequest(2), request=peer)
    environment.hand_over(3, LinkEnd())
    environment.advance(12.0)
    environment.hand_over(1, LinkHeartbeat())
    environment.advance(7.0)
    assert list(tested.neighbours()["random"]) == [1]
    environment.outbox.clear()
    environment.hand_over(2, LinkHeartbeat())
    assert [peer for peer, _ in environment.take(LinkEnd)] == [2]


def test_who_leaves_says_goodbye() -> None:
    world = graph(degree=4)
    leaver = world.protocols[0]
    neighbours = set(links(world)[0])
    leaver.stop(graceful=True)
    told = {peer for peer, _ in world.environments[0].take(Goodbye)}
    assert told == neighbours


@pytest.mark.parametrize("given", [{"degree": 4, "spread": 3}, {"graph": "sparse", "spread": 1}])
def test_parameters_that_cannot_be(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RandomGraphParameters.model_validate(given)
