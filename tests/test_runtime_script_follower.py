"""A host's controller when somebody else ends the host, or starts it again in the middle of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fleet_toys import Flood, FloodParameters
from realtime_world import World

from emulator.contract.registry import WORKLOADS
from emulator.runtime.realtime.script_follower import Contacts, ScriptFollower
from emulator.runtime.realtime.session import Session
from emulator.runtime.script import Join, Leave, Script, Step
from emulator.telemetry import names


async def nobody(
    left: Sequence[int], joining: Sequence[int], asking: Sequence[int]
) -> tuple[Contacts, Contacts]:
    return [[] for _ in joining], [[] for _ in asking]


def controller(
    world: World, steps: list[Step], *, sessions_end_with_host: bool = False, **fields: Any
) -> ScriptFollower:
    made = ScriptFollower(
        world.host,
        Script(steps, [], fields.pop("roles", {})),
        WORKLOADS["topics"],
        lambda environment: Flood(environment, FloodParameters(period=1000)),
        nobody,
        seed=1,
        sessions_end_with_host=sessions_end_with_host,
        **fields,
    )
    for peer in (0, 1):
        world.join(peer)
    return made


def left(world: World) -> list[int]:
    return sorted(
        attribute.value.int_value
        for span in world.spans()
        if span.name == "leave"
        for attribute in span.attributes
        if attribute.key == "trellis.peer"
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


ENDS = [Step(5.0, 0, Leave(0, graceful=False)), Step(5.0, 1, Leave(0, graceful=True))]


@pytest.mark.parametrize(("sessions_end_with_host", "leaving"), [(True, [1]), (False, [0, 1])])
def test_who_is_to_crash_with_the_host_takes_no_leave(
    world: World, sessions_end_with_host: bool, leaving: list[int]
) -> None:
    tested = controller(world, ENDS, sessions_end_with_host=sessions_end_with_host)
    assert tested.leave_all()
    assert left(world) == leaving


def test_a_host_whose_peers_all_crash_has_nothing_to_say(world: World) -> None:
    both = [*ENDS[:1], Step(5.0, 1, Leave(0, graceful=False))]
    tested = controller(world, both, sessions_end_with_host=True)
    assert not tested.leave_all()
    assert left(world) == []


@pytest.mark.parametrize(("sessions_end_with_host", "up"), [(True, [0, 1]), (False, [])])
def test_sessions_that_end_with_the_host_go_on_until_it_is_ended(
    world: World, sessions_end_with_host: bool, up: list[int]
) -> None:
    soon = world.host.clock.now() + 0.05
    steps = [Step(soon, 0, Leave(0, graceful=False)), Step(soon, 1, Leave(0, graceful=False))]
    controller(world, steps, sessions_end_with_host=sessions_end_with_host).follow()
    later: list[int] = []
    world.host.agenda.add(soon + 0.01, later.append, 1)
    world.run(until=lambda: later)
    assert sorted(world.host.sessions) == up


def test_who_begins_late_joins_open_sessions_at_once_and_no_ended_ones() -> None:
    steps = [
        Step(0.0, 0, Join(0)),
        Step(0.0, 1, Join(0)),
        Step(2.0, 1, Leave(0, graceful=False)),
        Step(9.0, 1, Join(1)),
    ]
    assert Script(steps, []).rest(5.0) == [steps[0], steps[3]]
    assert Script(steps, []).rest(-1.0) == steps


def followed(world: World, ago: float = 0.0, **fields: Any) -> ScriptFollower:
    """Return the follower of peers 0 and 1 once they have joined in what the plan calls their third session.

    Their joins were due `ago` seconds before.
    """
    world.run(until=lambda: True)
    steps = [Step(world.host.clock.now() - ago, peer, Join(2)) for peer in (0, 1)]
    tested = controller(world, steps, **fields)
    for peer in (0, 1):
        world.crash(peer)
    tested.follow()
    task = world.loop.create_task(tested.run())
    world.run(until=lambda: len(world.host.sessions) == 2)
    task.cancel()
    return tested


def joined(world: World, **fields: Any) -> dict[int, Session]:
    """Return the sessions of peers 0 and 1, the third ones of the plan."""
    followed(world, **fields)
    return world.host.sessions


@pytest.mark.parametrize(("came_back", "late"), [(False, 2), (True, 0)])
def test_sessions_that_a_host_takes_up_again_are_late_only_if_it_was_not_away(
    world: World, came_back: bool, late: int
) -> None:
    assert len(followed(world, 80.0, came_back=came_back).session_error) == late


def test_no_timer_is_late_for_sessions_that_began_before_the_host(world: World) -> None:
    followed(world, 80.0)
    assert world.host.agenda.lateness.maximum < 10


def test_joins_after_a_host_came_back_are_judged(world: World) -> None:
    assert len(followed(world, -0.05, came_back=True).session_error) == 2


def test_a_peer_has_the_role_of_the_plan(world: World) -> None:
    sessions = joined(world, roles={1: "server"})
    assert [sessions[peer].root.role for peer in (0, 1)] == ["peer", "server"]


def test_a_life_after_a_restart_of_the_host_is_a_later_one_of_the_same_session(world: World) -> None:
    sessions = joined(world, incarnation=3)
    assert {session.root.session for session in sessions.values()} == {5}
    joins = [span for span in world.spans() if span.name == "join"]
    assert [a.value.int_value for span in joins for a in span.attributes if a.key == names.SESSION] == [2, 2]
