"""What goes wrong at a host in real time is noticed: broken streams, failed tasks, full agendas, races."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fleet_toys import Flood, FloodParameters
from realtime_world import HERE, THERE, World
from test_runtime_realtime_streams import FakeHost, linked, listening, passage, unsettled, until

from emulator.contract.registry import WORKLOADS
from emulator.runtime.realtime import host as host_module
from emulator.runtime.realtime import streams
from emulator.runtime.realtime.ledger import Ledger
from emulator.runtime.realtime.script_follower import Contacts, ScriptFollower
from emulator.runtime.script import Join, Leave, Script, Step
from trellis.v1.overlay import Goodbye


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def test_what_was_written_to_a_stream_that_breaks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_SETTLING", 1000.0)

    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (server, address), linked(here, address) as mine:
            for number in range(3):
                mine.offer(1, passage(number))
            await until(lambda: len(there.received) == 3)
            assert not here.given_up
            await server.stop(0)
            await until(lambda: here.given_up)
        assert [each.receiver for each in here.given_up] == [0, 1, 2]

    asyncio.run(live())


def test_what_the_other_host_has_taken_is_settled_in_both_directions() -> None:
    async def live() -> None:
        here, there = FakeHost(0), FakeHost(1)
        async with listening(there) as (server, address), linked(here, address) as mine:
            for number in range(5000):
                mine.offer(1, passage(number))
            await until(lambda: len(there.received) == 5000)
            for number in range(10):
                there.wire.offer(0, passage(number))
            await until(lambda: len(here.received) == 10)
            await until(lambda: not unsettled(mine) and not unsettled(there.wire))
            await server.stop(0)
            await asyncio.sleep(0.05)
        assert not here.given_up and not there.given_up

    asyncio.run(live())


def test_a_ledger_keeps_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.runtime.realtime.ledger._MOST", 3)
    ledger = Ledger()
    ledger.write([passage(number) for number in range(5)])
    ledger.settle(3)
    assert [each.receiver for each in ledger.unsettled()] == [3, 4]


@pytest.mark.parametrize("retired", [False, True])
def test_a_link_that_ends_by_an_error_stops_its_host(retired: bool) -> None:
    async def live() -> None:
        here, failures = FakeHost(0), []
        here.fail = failures.append  # type: ignore[attr-defined]
        mine = streams.Links(here, ["", "127.0.0.1:1"])  # type: ignore[arg-type]

        async def break_down() -> None:
            try:
                await asyncio.sleep(0)
            finally:
                raise RuntimeError("a mistake in the link")

        link = mine._link(1)
        link._call = break_down  # type: ignore[method-assign]
        mine.offer(1, passage(1))
        if retired:
            await asyncio.sleep(0)
            mine.move(1, "127.0.0.1:2")
        await until(lambda: failures)
        assert str(failures[0]) == "a mistake in the link"

    asyncio.run(live())


def test_hosts_ask_whether_a_silent_connection_lives() -> None:
    assert dict(streams.OPTIONS)["grpc.keepalive_time_ms"] == 10_000


def test_only_messages_count_as_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of the plan and time-outs that were cancelled have room on the agenda."""
    monkeypatch.setattr(host_module, "_WAITING_LIMIT", 2)
    host = world.host
    for _ in range(100):
        host.agenda.add(1000.0, lambda: None)
    peer = world.join(HERE)
    for _ in range(5):
        peer.environment.send(THERE, Goodbye())
    assert host.dropped == {"delay line full": 3}
    host._waiting = 0
    peer.environment.send(THERE, Goodbye())
    assert host.dropped == {"delay line full": 3}


def test_a_peer_that_leaves_and_joins_while_it_registers_is_known_to_the_bootstrap_service(
    world: World,
) -> None:
    calls: list[tuple[list[int], list[int]]] = []
    answer = asyncio.Event()

    async def track(
        left: Sequence[int], joining: Sequence[int], asking: Sequence[int]
    ) -> tuple[Contacts, Contacts]:
        calls.append((list(left), list(joining)))
        if len(calls) == 1:
            await answer.wait()
        return [[] for _ in joining], [[] for _ in asking]

    async def live() -> None:
        follower: Any = ScriptFollower(
            world.host,
            Script([], []),
            WORKLOADS["topics"],
            lambda environment: Flood(environment, FloodParameters(period=1000)),
            track,
            seed=1,
        )
        task = asyncio.create_task(follower.run())
        follower._act(Step(0.0, HERE, Join(0)))
        await until(lambda: calls)
        follower._act(Step(0.1, HERE, Leave(0, graceful=True)))
        follower._act(Step(0.2, HERE, Join(1)))
        answer.set()
        await until(lambda: len(calls) == 2)
        await until(lambda: HERE in world.host.sessions)
        task.cancel()
        assert calls == [([], [HERE]), ([HERE], [HERE])]
        assert world.host.sessions[HERE].planned == 1

    asyncio.run(live())
