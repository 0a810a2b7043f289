"""The calls of the coordinator's service are counted by method, how they ended and how long they took."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from test_fleet_truth import in_a_loop
from test_trust_calls import FIRST, World, world

from emulator.fleet.coordinator.live_metrics import RequestCollector
from emulator.trust.credentials import Credentials
from trellis.v1 import control_pb2

_LIMIT = 20


async def refused(world: World, method: str, request: object, credentials: Credentials | None = None) -> None:
    shown = {} if credentials is None else {"credentials": credentials}
    async with world.calling(start=FIRST, **shown) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await getattr(stub, method)(request, timeout=_LIMIT)


@in_a_loop
async def test_a_call_is_counted_with_its_end_also_if_it_is_refused() -> None:
    async with world() as here:
        await here.register(FIRST)
        await refused(here, "ReportProgress", control_pb2.HostProgress(host="host-0", trial="another"))
        await refused(here, "Track", control_pb2.TrackRequest(), Credentials("wrong"))
    requests = here.service.requests
    assert requests.ends == {
        ("Register", "OK"): 1,
        ("ReportProgress", "FAILED_PRECONDITION"): 1,
        ("Track", "UNAUTHENTICATED"): 1,
    }
    assert [len(requests.durations[method]) for method in ("Register", "ReportProgress", "Track")] == [
        1,
        1,
        1,
    ]


@in_a_loop
async def test_a_call_whose_caller_goes_is_cancelled() -> None:
    async with world() as here, here.calling(start=FIRST) as stub:
        await here.register(FIRST)
        call = stub.AwaitStart(control_pb2.Ready(host="host-0", trial="trial"), timeout=_LIMIT)
        while not here.coordinator.members["host-0"].ready:
            await asyncio.sleep(0.01)
        call.cancel()
        while not here.service.requests.ends["AwaitStart", "CANCELLED"]:
            await asyncio.sleep(0.01)
        assert here.service.requests.ends.total() == 2


@in_a_loop
async def test_names_of_methods_that_strangers_choose_are_no_labels() -> None:
    async with world() as here, Credentials("wrong").open(here.address, []) as channel:
        for name in ("/trellis.v1.Coordinator/First", "/a/b"):
            call = channel.unary_unary(name)
            with pytest.raises(grpc.aio.AioRpcError):
                await call(b"", timeout=_LIMIT)
    # A call is counted after its caller has the answer, and all are once the server has stopped.
    assert here.service.requests.ends == {("other", "UNAUTHENTICATED"): 2}


@in_a_loop
async def test_prometheus_is_told_of_every_method() -> None:
    async with world() as here:
        await here.register(FIRST)
    counts, durations = RequestCollector("demo", here.service.requests).collect()
    assert [(sample.labels["method"], sample.labels["code"], sample.value) for sample in counts.samples] == [
        ("Register", "OK", 1)
    ]
    calls = {
        sample.labels["method"]: sample.value
        for sample in durations.samples
        if sample.name == "trellis_control_request_duration_seconds_count"
    }
    assert calls.pop("Register") == 1 and "AwaitStart" in calls and not any(calls.values())
