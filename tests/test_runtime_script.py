"""The plan as a runtime follows it: each peer's actions in order of time."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
from small_trial import make_plan

from emulator.contract.protocol import Event, Interest, RangeInterest, TopicInterest
from emulator.contract.registry import WORKLOADS
from emulator.experiment.plan.tables import Plan
from emulator.runtime.plan_script import script_of as script_of_kind
from emulator.runtime.script import GiveUp, Join, Leave, Script, TakeUp
from emulator.workload.event_operations import Publish, Subscription
from emulator.workload.lookup_kind import LookUp
from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS

END = 10.0
RANGE = {"attribute": "a", "low": 1.0, "high": 2.0}
SET = {"attribute": "b", "low": 0.0, "high": 9.0, "values": [0.0, 9.0]}
VALUE = {"attribute": "a", "value": 1.5}
PLAN = make_plan(
    3,
    sessions=[(0, 0.0, 4.0), (0, 6.0, END), (1, 1.0, END), (2, 2.0, 3.0)],
    subscriptions=[(0, 7, 0.0, END), (0, 8, 0.0, 5.0), (1, 9, 3.0, 8.0)],
    publications=[(2.5, 1, 7), (7.0, 0, 9)],
    graceful=True,
)


def script_of(plan: Plan, end: float, peers: Collection[int] | None = None, kind: str = "topics") -> Script:
    return script_of_kind(plan, WORKLOADS[kind], end, peers)


def held(script: Script, peer: int, at: float) -> list[tuple[int, Interest]]:
    those = script.held_by(peer, at)
    assert all(isinstance(each, Subscription) for each in those)
    return [(each.number, each.interest) for each in those if isinstance(each, Subscription)]


def told(script: Script) -> list[tuple[float, int, object]]:
    return [(step.at, step.peer, step.action) for step in script.steps]


def test_steps_are_in_order_of_time() -> None:
    steps = told(script_of(PLAN, END))
    assert [at for at, _, _ in steps] == sorted(at for at, _, _ in steps)
    assert [(at, peer, type(action)) for at, peer, action in steps] == [
        (0.0, 0, Join),
        (1.0, 1, Join),
        (2.0, 2, Join),
        (2.5, 1, Publish),
        (3.0, 2, Leave),
        (3.0, 1, TakeUp),
        (4.0, 0, Leave),
        (5.0, 0, GiveUp),
        (6.0, 0, Join),
        (7.0, 0, Publish),
        (8.0, 1, GiveUp),
    ]


def test_the_end_of_the_trial_is_no_leave_and_no_unsubscribe() -> None:
    actions = [action for at, _, action in told(script_of(PLAN, END)) if at >= END]
    assert actions == []
    assert not [a for _, peer, a in told(script_of(PLAN, 3.0)) if peer == 2 and isinstance(a, Leave)]


def test_a_leave_says_which_session_ends_and_how() -> None:
    leaves = [
        action for _, peer, action in told(script_of(PLAN, END)) if isinstance(action, Leave) and peer == 0
    ]
    assert leaves == [Leave(session=0, graceful=True)]
    steps = told(script_of(PLAN, END))
    joins = [action for _, peer, action in steps if isinstance(action, Join) and peer == 0]
    assert joins == [Join(0), Join(1)]


def test_a_publication_carries_its_event() -> None:
    actions = [action for _, _, action in told(script_of(PLAN, END))]
    first, second = (action.of for action in actions if isinstance(action, Publish))
    assert (first.number, first.publisher, first.topic, first.hops) == (0, 1, 7, 0)
    assert (second.number, second.publisher, second.topic) == (1, 0, 9)
    assert len(first.payload) == 8


def test_interests_are_those_held_at_the_time() -> None:
    script = script_of(PLAN, END)
    assert held(script, 0, 0.0) == [(0, TopicInterest(7)), (1, TopicInterest(8))]
    assert held(script, 0, 5.0) == [(0, TopicInterest(7))]
    assert held(script, 1, 2.9) == []
    assert held(script, 1, 3.0) == [(2, TopicInterest(9))]
    assert held(script, 2, 1.0) == []


def test_a_host_gets_the_part_of_its_peers_alone() -> None:
    whole = told(script_of(PLAN, END))
    part = script_of(PLAN, END, peers={0, 2})
    assert told(part) == [step for step in whole if step[1] != 1]
    assert part.held_by(1, 4.0) == []
    assert script_of(PLAN, END, peers=[]).steps == []


ASKED = make_plan(2, [(0, 0.0, END), (1, 0.0, END)], lookups=[(4.0, 1, 2**128 - 1), (2.0, 0, 0)])
CONTENT = Plan(
    ASKED.peers,
    ASKED.sessions,
    subscriptions=pa.Table.from_pylist(
        [
            {"interest": 0, "peer": 0, "start_s": 0.0, "end_s": END, "ranges": [RANGE]},
            {"interest": 1, "peer": 1, "start_s": 3.0, "end_s": 5.0, "ranges": [RANGE, SET]},
        ],
        SUBSCRIPTIONS,
    ),
    publications=pa.Table.from_pylist(
        [{"event": 0, "at_s": 6.0, "publisher": 1, "attributes": [VALUE], "payload_bytes": 3}], PUBLICATIONS
    ),
)


def test_ranges_sets_and_their_numbers_are_told() -> None:
    script = script_of(CONTENT, END, kind="content")
    first, both = RangeInterest({"a": (1.0, 2.0)}), RangeInterest({"a": (1.0, 2.0)}, {"b": frozenset([0, 9])})
    assert held(script, 0, 0.0) == [(0, first)]
    assert [s.action for s in script.steps if s.at in (3.0, 5.0)] == [
        TakeUp(Subscription(1, both)),
        GiveUp(Subscription(1, both)),
    ]


def test_an_event_carries_its_attributes() -> None:
    actions = [step.action for step in script_of(CONTENT, END, kind="content").steps]
    (event,) = (action.of for action in actions if isinstance(action, Publish))
    assert event == Event(0, 1, None, {"a": 1.5}, bytes(3))


def test_lookups_are_told_with_their_keys_to_the_host_of_their_peer() -> None:
    script = script_of(ASKED, END, kind="lookups")
    steps = [(s.at, s.peer, s.action) for s in script.steps if isinstance(s.action, LookUp)]
    assert steps == [(2.0, 0, LookUp(0, 0)), (4.0, 1, LookUp(1, 2**128 - 1))]
    script = script_of(ASKED, END, peers={1}, kind="lookups")
    own = [s.action for s in script.steps if isinstance(s.action, LookUp)]
    assert own == [LookUp(1, 2**128 - 1)]


def test_roles_are_those_of_the_plan_and_plain_without_it() -> None:
    plan = make_plan(3, [], roles={0: "server", 2: "relay"})
    assert [script_of(plan, END).role(peer) for peer in range(3)] == ["server", "peer", "relay"]
    assert script_of(plan, END, peers={1, 2}).roles == {2: "relay"}
    older = Plan(plan.peers.drop_columns("role"), plan.sessions)
    assert [script_of(older, END).role(peer) for peer in range(3)] == ["peer"] * 3


def test_a_topic_given_up_and_taken_up_at_one_time_is_held() -> None:
    plan = make_plan(1, [(0, 0.0, END)], [(0, 7, 0.0, 5.0), (0, 7, 5.0, END)])
    changes = [type(a) for at, _, a in told(script_of(plan, END)) if at == 5.0]
    assert changes == [GiveUp, TakeUp]
