"""What the coordinator holds for its hosts: answers that grow with their number, and calls that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import grpc
import grpc.aio
import pytest
from coordinator_world import plan_of, spec_of
from test_fleet_truth import in_a_loop

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.fleet.host.asking_again import AFTER, pause_after
from trellis.v1 import control_pb2

HOSTS = 150
MOST = 64
WAITING = 1000


class Refused(Exception):
    """A call was aborted."""


class Call:
    """The context of a call, which ends when a test says so."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Any], None]] = []
        self.code: grpc.StatusCode | None = None
        self.told: Sequence[tuple[str, str]] = ()

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    async def abort(
        self, code: grpc.StatusCode, details: str, trailing_metadata: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.code, self.told = code, trailing_metadata
        raise Refused(details)

    def end(self) -> None:
        for callback in self._callbacks:
            callback(self)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def answered(tasks: list[asyncio.Task[Any]]) -> int:
    return sum(task.done() for task in tasks)


def coordinator() -> Coordinator:
    runtime = {"kind": "kubernetes", "hosts": HOSTS}
    return Coordinator(spec_of(HOSTS, runtime=runtime), plan_of(HOSTS), "experiment", "trial")


async def ask(
    service: CoordinatorService, method: str, requests: list[Any]
) -> tuple[list[Call], list[asyncio.Task[Any]]]:
    calls = [Call() for _ in requests]
    answer = getattr(service, method)
    tasks = [
        asyncio.create_task(answer(request, call)) for request, call in zip(requests, calls, strict=True)
    ]
    await settle()
    return calls, tasks


def registrations() -> list[control_pb2.Registration]:
    return [control_pb2.Registration(host=f"host-{n}", start="s", address="a:1") for n in range(HOSTS)]


def readies() -> list[control_pb2.Ready]:
    return [control_pb2.Ready(host=f"host-{n}", trial="trial") for n in range(HOSTS)]


async def end_one_after_the_other(calls: list[Call], tasks: list[asyncio.Task[Any]]) -> list[Any]:
    """Return the answers. Each call that ends makes room for another answer."""
    for ended, call in enumerate(calls):
        assert answered(tasks) == min(MOST + ended, HOSTS)
        call.end()
        await settle()
    return [task.result() for task in tasks]


@in_a_loop
async def test_few_parts_of_the_plan_are_under_way_when_a_trial_begins() -> None:
    service = CoordinatorService()
    calls, tasks = await ask(service, "Register", registrations())
    await service.begin(coordinator())
    await settle()
    answers = await end_one_after_the_other(calls, tasks)
    assert [answer.host_index for answer in answers] == [*range(HOSTS)]


@in_a_loop
async def test_few_lists_of_addresses_are_under_way_when_all_hosts_are_ready() -> None:
    service = CoordinatorService()
    await service.begin(coordinator())
    answers = await end_one_after_the_other(*await ask(service, "AwaitStart", readies()))
    assert all(len(answer.addresses) == HOSTS for answer in answers)


@in_a_loop
async def test_a_host_whose_turn_comes_after_the_trial_is_told_to_ask_again() -> None:
    service = CoordinatorService()
    await service.begin(coordinator())
    calls, tasks = await ask(service, "AwaitStart", readies())
    await service.end()
    calls[0].end()
    await settle()
    assert [call.code for call in calls if call.code] == [grpc.StatusCode.UNAVAILABLE]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@in_a_loop
async def test_a_host_that_leaves_while_it_waits_keeps_no_turn() -> None:
    service = CoordinatorService()
    await service.begin(coordinator())
    calls, tasks = await ask(service, "AwaitStart", readies())
    waiting = next(n for n, task in enumerate(tasks) if not task.done())
    tasks[waiting].cancel()
    for call in calls[:waiting] + calls[waiting + 1 :]:
        await settle()
        call.end()
    await settle()
    assert answered(tasks) == HOSTS


@in_a_loop
async def test_of_very_many_hosts_some_wait_and_the_others_are_told_when_to_ask_again() -> None:
    service = CoordinatorService()
    registration = control_pb2.Registration(host="host-0", start="s", address="a:1")
    calls, tasks = await ask(service, "Register", [registration] * (WAITING + 5))
    assert answered(tasks) == 5
    told = [call for call in calls if call.code is not None]
    assert [call.code for call in told] == [grpc.StatusCode.UNAVAILABLE] * 5
    error = grpc.aio.AioRpcError(
        grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(*told[0].told)
    )
    assert pause_after(error) == 15
    tasks[0].cancel()
    await settle()
    (later,), (waiting,) = await ask(service, "Register", [registration])
    assert not waiting.done() and later.code is None
    for task in (*tasks, waiting):
        task.cancel()
    await asyncio.gather(*tasks, waiting, return_exceptions=True)


@pytest.mark.parametrize(
    ("told", "seconds"), [(None, 0.5), ("7", 7), ("900", 60), ("-1", 0.5), ("nan", 0.5), ("", 0.5)]
)
def test_a_host_asks_again_when_it_was_told_to(told: str | None, seconds: float) -> None:
    trailing = grpc.aio.Metadata(*([] if told is None else [(AFTER, told)]))
    error = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), trailing)
    assert pause_after(error) == seconds
