"""What the coordinator sends is what the host does."""

from __future__ import annotations

from array import array
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from small_trial import trial_spec

from emulator.contract.protocol import Event, RangeInterest, TopicInterest
from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import Held, Operation, WorkloadKind
from emulator.fleet.host.assignment import network_in, put_network, put_script, script_in
from emulator.network.peer_network import Network
from emulator.network.spec import NetworkSpec
from emulator.runtime.script import Action, GiveUp, Join, Leave, Script, Step, TakeUp
from emulator.workload.event_operations import Publish, Subscription
from emulator.workload.lookup_kind import LookUp
from trellis.v1 import control_pb2

numbers = st.integers(0, 2**31 - 1)
names = st.text(min_size=1, max_size=5)
values = st.floats(allow_nan=False)
times = st.floats(0, 1e6)
interests = st.one_of(
    st.builds(TopicInterest, numbers, st.floats(0, 100)),
    st.builds(
        RangeInterest,
        st.dictionaries(names.map("range of ".__add__), st.tuples(values, values)),
        st.dictionaries(names, st.frozensets(values, min_size=1)),
    ),
)
topic_events = st.builds(Event, numbers, st.just(3), numbers, st.just({}), st.integers(0, 50).map(bytes))
content_events = st.builds(
    Event, numbers, st.just(3), st.none(), st.dictionaries(names, values), st.integers(0, 50).map(bytes)
)


publications = st.builds(Publish, st.one_of(topic_events, content_events))
lookups = st.builds(LookUp, numbers, st.integers(0, 2**128 - 1))


def actions(held: list[Held], asked: st.SearchStrategy[Operation]) -> st.SearchStrategy[Action]:
    kinds: list[st.SearchStrategy[Action]] = [
        st.builds(Join, numbers),
        st.builds(Leave, numbers, st.booleans()),
        asked,
    ]
    for each in held:
        kinds += [st.just(TakeUp(each.what)), st.just(GiveUp(each.what))]
    return st.one_of(kinds)


def sent(script: Script, kind: WorkloadKind) -> Script:
    """Return the script as a host has it."""
    assignment = control_pb2.Assignment()
    put_script(assignment, script, kind)
    return script_in(control_pb2.Assignment.FromString(assignment.SerializeToString()), kind)


@given(st.data(), st.lists(st.tuples(numbers, times, times, interests), max_size=4))
def test_any_script_survives_the_way_to_a_host(
    data: st.DataObject, rows: list[tuple[int, float, float, TopicInterest | RangeInterest]]
) -> None:
    held = [
        Held(peer, start, end, Subscription(number, what))
        for number, (peer, start, end, what) in enumerate(rows)
    ]
    steps = data.draw(st.lists(st.builds(Step, times, st.just(3), actions(held, publications)), max_size=8))
    roles = data.draw(st.dictionaries(numbers, names, max_size=3))
    received = sent(Script(steps, held, roles), WORKLOADS["content"])
    assert received.steps == Script(steps, held).steps
    assert received.roles == roles
    assert sorted(received.all_held(), key=lambda h: h.what.number) == held


@given(st.lists(st.builds(Step, times, st.just(3), lookups), max_size=8))
def test_lookups_survive_the_way_to_a_host(steps: list[Step]) -> None:
    assert sent(Script(steps, []), WORKLOADS["lookups"]).steps == Script(steps, []).steps


def test_a_host_has_the_delays_from_its_own_peers_to_all() -> None:
    rows = [array("f", [0.5, 1.0, 2.0]), array("f", [1.0, 0.5, 3.0]), array("f", [2.0, 3.0, 0.5])]
    whole = Network(rows, [2, 0, 1, 2], NetworkSpec())
    assignment = control_pb2.Assignment()
    put_network(assignment, whole, [1, 3])
    part = network_in(assignment, trial_spec("vitis", 4, 1.0))
    assert [part.one_way(1, other) for other in range(4)] == [whole.one_way(1, other) for other in range(4)]
    assert part.one_way(3, 2) == 3.0
    assert {row.location for row in assignment.rows} == {0, 2}


def test_a_host_has_what_is_lost_and_what_later_delays_are() -> None:
    rows = [array("d", [0.5, 0.1]), array("d", [0.1, 0.5])]
    lost = [array("d", [0.0, 0.25]), array("d", [0.75, 0.1])]
    later = [(20.0, [array("f", [0.5, 2.0]), array("f", [3.0, 0.5])])]
    whole = Network(rows, [1, 0], NetworkSpec(), lost=lost, later=later)
    assignment = control_pb2.Assignment()
    put_network(assignment, whole, [0])
    part = network_in(
        control_pb2.Assignment.FromString(assignment.SerializeToString()), trial_spec("vitis", 2, 90.0)
    )
    random = Random(7)
    share = sum(part.delay(0, 1, random) is None for _ in range(4000)) / 4000
    assert abs(share - 0.75) < 0.03
    assert part.one_way(0, 1) == 0.1
    part.turn(20.0)
    assert part.one_way(0, 1) == 3.0
    part.turn(19.9)
    assert part.one_way(0, 1) == 0.1


def test_a_host_knows_how_the_rates_of_links_change() -> None:
    fault = {"name": "slow", "at": "1 s", "links": {"number": 1, "bandwidth": {"up": "1 Mbit/s"}}}
    spec = trial_spec("vitis", 2, 9.0, network={"bandwidth": {"up": "10 Mbit/s"}}, faults=[fault])
    assignment = control_pb2.Assignment(
        location=[0, 0], link_class=[0, 0], faults=[control_pb2.Hit(peers=[1])]
    )
    links = network_in(assignment, spec).shared
    assert links is not None
    for peer, takes in ((0, 1_000_000), (1, 10_000_000)):
        links.enter(2 * peer, 0, links.instant(2 * 10**9), 1250, "")
        assert links.nanoseconds(links.await_next(2 * peer)) == 2 * 10**9 + takes
