"""Filter-based routing: the tables of Kyra's figure 2, covering and its end, and repair."""

from __future__ import annotations

import pytest
from kyra_example import DOMAIN, NAMES, WANTED, Tally, interest, number, spans, values_in

from emulator.contract.protocol import Event, RangeInterest
from emulator.protocols.pubsub.content.order import candidates
from emulator.protocols.pubsub.content.space import filter_of
from emulator.protocols.pubsub.siena.parameters import SienaParameters
from emulator.protocols.pubsub.siena.system import Siena
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.filters import FilterUpdate, TreeEvent

FIGURE_2 = {
    "A": {"C": "0-9"},
    "B": {"C": "0-7,9"},
    "C": {"A": "1,5", "B": "7,8", "D": "0,6", "E": "2-7,9"},
    "D": {"C": "1-9"},
    "E": {"C": "0-2,5-8", "F": "2,4-7,9"},
    "F": {"E": "0-3,5-8", "G": "2,4,6,9"},
    "G": {"F": "0-3,5-8", "H": "2,9"},
    "H": {"G": "0-8"},
}
PARENTS = {"A": "C", "B": "C", "C": "", "D": "C", "E": "C", "F": "E", "G": "F", "H": "G"}


def parents(of: dict[str, str]) -> list[int]:
    return [number(of[name]) if of[name] else -1 for name in NAMES]


def network(tree: list[int], domain: dict[str, tuple[float, float]] = DOMAIN) -> Lockstep:
    parameters = SienaParameters(attributes=domain, parents=tree)
    return Lockstep(lambda environment: Siena(environment, parameters), range(len(tree)))


def server(peers: Lockstep, peer: int) -> Siena:
    found = peers.protocols[peer]
    assert isinstance(found, Siena)
    return found


def example() -> Lockstep:
    peers = network(parents(PARENTS))
    for name in NAMES:
        server(peers, number(name)).subscribe(interest(WANTED[name]))
    peers.start()
    for _ in range(12):
        peers.round()
    return peers


def tables(peers: Lockstep) -> dict[str, dict[str, set[int]]]:
    found = {}
    for name in NAMES:
        routes = server(peers, number(name)).tree.routes
        found[name] = {
            NAMES[neighbour]: values_in(routes.table.boxes_of(neighbour)) for neighbour in routes.neighbours
        }
    return found


def test_routing_tables_are_those_of_figure_2() -> None:
    assert tables(example()) == {name: spans(rows) for name, rows in FIGURE_2.items()}


def test_event_9_from_a_is_matched_at_c_e_f_and_g_before_it_reaches_h() -> None:
    peers = example()
    before = {name: server(peers, number(name)).trees.searches for name in NAMES}
    server(peers, number("A")).publish(Event(1, number("A"), attributes={"value": 9.0}))
    peers.exchange()
    matched = {name for name in NAMES if server(peers, number(name)).trees.searches > before[name]}
    assert matched == set("ACEFGH")
    assert [o.hops for o in peers.environments[number("H")].delivered] == [5]


def test_all_80_pairs_of_event_and_publisher_take_243_messages() -> None:
    tally = Tally()
    tally.publish_all(example(), {TreeEvent: "tree"})
    assert tally.wrong == []
    assert (tally.messages, tally.uninterested) == ({"tree": 243}, 131)


def settle(peers: Lockstep) -> None:
    for _ in range(8):
        peers.round()


def chain(servers: int) -> Lockstep:
    peers = network([peer - 1 for peer in range(servers)], {"x": (0.0, 100.0), "y": (0.0, 100.0)})
    peers.start()
    settle(peers)
    return peers


def box(low: float, high: float) -> RangeInterest:
    return RangeInterest({"x": (low, high)})


def entries(peers: Lockstep, at: int, of: int) -> list[tuple[float, float]]:
    space = server(peers, at).space
    found = server(peers, at).tree.routes.table.boxes_of(of)
    return sorted((each.lows[space.names.index("x")], each.highs[space.names.index("x")]) for each in found)


def test_a_covered_subscription_is_told_no_further_and_again_when_the_covering_one_is_taken_back() -> None:
    peers = chain(4)
    server(peers, 3).subscribe(box(10, 20))
    settle(peers)
    server(peers, 2).subscribe(box(0, 50))
    settle(peers)
    assert entries(peers, 0, 1) == [(0, 50)]
    assert entries(peers, 2, 3) == [(10, 20)]
    server(peers, 3).subscribe(box(30, 40))
    settle(peers)
    assert entries(peers, 0, 1) == [(0, 50)]
    server(peers, 2).unsubscribe(box(0, 50))
    settle(peers)
    assert entries(peers, 0, 1) == entries(peers, 1, 2) == [(10, 20), (30, 40)]


def test_a_subscription_that_two_clients_have_stays_until_both_took_it_back() -> None:
    peers = chain(2)
    for _ in range(2):
        server(peers, 1).subscribe(box(10, 20))
    server(peers, 1).unsubscribe(box(10, 20))
    settle(peers)
    assert entries(peers, 0, 1) == [(10, 20)]
    server(peers, 1).unsubscribe(box(10, 20))
    settle(peers)
    assert entries(peers, 0, 1) == []


def test_updates_that_come_twice_or_for_an_earlier_stream_change_nothing() -> None:
    environment = FakeEnvironment(0)
    siena = Siena(environment, SienaParameters(attributes=DOMAIN, parents=[-1, 0]))
    siena.start([])
    siena.tree.links.on_attachment(1)
    wanted = RangeInterest({"value": (1.0, 2.0)})
    other = RangeInterest({"value": (4.0, 5.0)})
    first = FilterUpdate(0, 0, 7, 0, [], [filter_of(siena.space.box(wanted))])
    second = FilterUpdate(
        0, 0, 7, 1, [filter_of(siena.space.box(wanted))], [filter_of(siena.space.box(other))]
    )
    for update in (first, second, first, second):
        assert siena.trees.on_update(1, update).known
    assert siena.tree.routes.table.boxes_of(1) == [siena.space.box(other)]
    assert siena.trees.on_update(1, FilterUpdate(0, 0, 6, 0, [], [])).known
    assert siena.tree.routes.table.boxes_of(1) == [siena.space.box(other)]
    assert not siena.trees.on_update(1, FilterUpdate(0, 0, 8, 1, [], [])).known


def test_children_of_a_crashed_server_attach_to_its_parent_and_events_go_on() -> None:
    peers = chain(5)
    for peer in range(5):
        server(peers, peer).subscribe(box(0, 10))
    settle(peers)
    peers.crash([2])
    settle(peers)
    settle(peers)
    assert server(peers, 3).tree.links.parent == 1
    server(peers, 0).publish(Event(1, 0, attributes={"x": 5.0}))
    peers.exchange()
    got = [peer for peer, environment in peers.environments.items() if environment.delivered]
    assert got == [0, 1, 3, 4]


def test_another_server_takes_the_place_of_a_crashed_root() -> None:
    tree = [-1, 0, 0, 0]
    peers = network(tree, {"x": (0.0, 100.0)})
    peers.start()
    for peer in range(4):
        server(peers, peer).subscribe(box(0, 10))
    settle(peers)
    peers.crash([0])
    settle(peers)
    settle(peers)
    server(peers, 3).publish(Event(1, 3, attributes={"x": 5.0}))
    peers.exchange()
    assert all(peers.environments[peer].delivered for peer in (1, 2))
    assert candidates({0: -1, 1: 0, 2: 0, 3: 1}, 3) == [1, 0, 2]


def test_a_subscription_to_an_unknown_attribute_is_refused() -> None:
    siena = Siena(FakeEnvironment(0), SienaParameters(attributes=DOMAIN, parents=[-1]))
    with pytest.raises(ValueError, match="has no attribute price"):
        siena.subscribe(RangeInterest({"price": (0, 1)}))
