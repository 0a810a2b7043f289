"""A host's controller when somebody else ends the host, or starts it again in the middle of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fleet_toys import Flood, FloodParameters
from realtime_world import World

from emulator.runtime.controller import Contacts, Controller
from emulator.runtime.script import Join, Leave, Script, Step


async def nobody(
    left: Sequence[int], joining: Sequence[int], asking: Sequence[int]
) -> tuple[Contacts, Contacts]:
    return [[] for _ in joining], [[] for _ in asking]


def controller(world: World, steps: list[Step], *, sessions_end_with_host: bool) -> Controller:
    made = Controller(
        world.host,
        Script(steps, []),
        lambda session: Flood(session, FloodParameters(period=1000)),
        nobody,
        seed=1,
        sessions_end_with_host=sessions_end_with_host,
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


ENDS = [Step(5.0, 0, Leave(0, graceful=False)), Step(5.0, 1, Leave(0, graceful=True))]


@pytest.mark.parametrize(("sessions_end_with_host", "leaving"), [(True, [1]), (False, [0, 1])])
def test_who_is_to_crash_with_the_host_takes_no_leave(
    tmp_path: Path, sessions_end_with_host: bool, leaving: list[int]
) -> None:
    world = World(tmp_path)
    tested = controller(world, ENDS, sessions_end_with_host=sessions_end_with_host)
    assert tested.leave_all()
    assert left(world) == leaving


def test_a_host_whose_peers_all_crash_has_nothing_to_say(tmp_path: Path) -> None:
    world = World(tmp_path)
    both = [*ENDS[:1], Step(5.0, 1, Leave(0, graceful=False))]
    tested = controller(world, both, sessions_end_with_host=True)
    assert not tested.leave_all()
    assert left(world) == []


@pytest.mark.parametrize(("sessions_end_with_host", "up"), [(True, [0, 1]), (False, [])])
def test_sessions_that_end_with_the_host_go_on_until_it_is_ended(
    tmp_path: Path, sessions_end_with_host: bool, up: list[int]
) -> None:
    world = World(tmp_path)
    soon = world.host.clock.now() + 0.05
    steps = [Step(soon, 0, Leave(0, graceful=False)), Step(soon, 1, Leave(0, graceful=False))]
    controller(world, steps, sessions_end_with_host=sessions_end_with_host).follow()
    world.run(limit=0.2)
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
