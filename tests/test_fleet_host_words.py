"""A host speaks for its own peers, and tells figures that can have been measured; or it is refused."""

from __future__ import annotations

import math
from typing import Any

import grpc
import pytest
from coordinator_world import SECOND, five_peers, plan_of, result, spec_of
from test_fleet_truth import in_a_loop, running

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.fleet.coordinator.coordinator import ControlError, Coordinator
from emulator.fleet.coordinator.host_words import check_killed, check_peers, check_progress, check_result
from emulator.fleet.coordinator.service import CoordinatorService
from trellis.v1 import control_pb2, control_pb2_grpc


def told(buckets: list[int], counts: list[int], maximum_s: float) -> control_pb2.Distribution:
    return control_pb2.Distribution(buckets=buckets, counts=counts, maximum_s=maximum_s)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"loop_stall_s": math.nan}, "loop_stall_s is nan"),
        ({"loop_stall_s": -1.0}, "loop_stall_s is -1.0"),
        ({"cpu_s": math.inf}, "cpu_s is inf"),
        ({"faults": [control_pb2.FaultTimes(fault=0)]}, "it told of fault 0, but there are 0"),
        ({"timer_lateness": told([1, 2], [1], 0.0)}, "timer_lateness has 2 buckets, but 1 counts"),
        ({"timer_lateness": told([5, 900], [1, 9], 0.0)}, "the maximum of timer_lateness, 0.0 s, is not in"),
        ({"session_error": told([], [], 7.0)}, "the maximum of session_error, 7.0 s, is not in its last"),
        ({"session_error": told([5], [1], math.nan)}, "the maximum of session_error, nan s, is not in"),
        ({"processing": [control_pb2.BusyTime()]}, "it told of 1 classes of peers, but there are 0"),
        ({"processing": [control_pb2.BusyTime(busy_s=-1)]}, "the busy time of peers of class 0 is -1.0"),
        ({"probes": [control_pb2.Probe(sending_host=7)]}, "a probe came from host 7, but there are 2"),
    ],
)
def test_figures_that_nobody_can_have_measured_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ControlError, match="host-0 told what nobody can have measured: ") as caught:
        check_result(five_peers(), result("host-0", **fields))
    assert problem in str(caught.value)


def test_figures_that_a_host_has_measured_are_taken() -> None:
    fine = {"loop_stall_s": 0.5, "cpu_s": 2.0, "session_error": told([5], [1], 5.5e-6)}
    check_result(five_peers(), result("host-0", probes=[control_pb2.Probe(sending_host=1)], **fine))
    check_result(five_peers(), result("host-1"))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"timer_lateness_max_s": math.nan}, "timer_lateness_max_s is nan"),
        ({"cpu_s": -1.0}, "cpu_s is -1.0"),
        ({"cpu_s": 1e300}, "cpu_s is 1e+300"),
        ({"hops": control_pb2.Histogram(counts=[1, 2])}, "hops has 2 counts, but there are 14"),
        ({"delay_error": control_pb2.Histogram(sum=math.inf)}, "the sum of delay_error is inf"),
        (
            {"hops": control_pb2.Histogram(exemplars=[control_pb2.Exemplar(trace_id=bytes(3))])},
            "hops has an exemplar that nothing was counted for",
        ),
        (
            {"hops": control_pb2.Histogram(exemplars=[control_pb2.Exemplar(bound=99, trace_id=bytes(16))])},
            "hops has an exemplar that nothing was counted for",
        ),
        ({"sent_of_kind": {"gossip\n": 1}}, "'gossip\\n' is no kind of messages"),
        ({"up_in_region": [1]}, "up_in_region has 1 counts, but there are 2 regions"),
        ({"delivered_in_region": [1, 10**16]}, "delivered_in_region 1 is 10000000000000000"),
        ({"sent_of_kind": {"event": 10**16}}, "the messages of kind 'event' is 10000000000000000"),
    ],
)
def test_a_report_that_nobody_can_have_measured_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ControlError) as caught:
        check_progress(control_pb2.HostProgress(host="host-0", **fields), regions=2)
    assert str(caught.value) == f"host-0 told what nobody can have measured: {problem}"
    check_progress(control_pb2.HostProgress(host="host-0"), regions=2)


USE = control_pb2.LinkUse(waits=told([5], [1], 5.5e-6), busy_s=1.0, busy_bits=1e6)


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        (
            {"past": [control_pb2.LinkUse(waits=told([1, 2], [1], 0.0))]},
            "links 0 in interval 0 has 2 buckets",
        ),
        ({"past": [control_pb2.LinkUse()] * 9}, "links 0 have more intervals than the time series"),
        ({"past": [control_pb2.LinkUse(past=[USE])]}, "links 0 have more intervals than the time series"),
        ({"busy_s": math.nan}, "the busy time of links 0 is nan"),
        ({"busy_bits": -1.0}, "the bits of links 0 is -1.0"),
    ],
)
def test_a_use_of_links_that_nobody_can_have_measured_is_refused(use: dict[str, Any], problem: str) -> None:
    fields: dict[str, object] = {
        "network": {"latency": {"kind": "constant", "rtt": "40 ms"}, "bandwidth": {"up": "1 Mbit/s"}},
        "telemetry": {"metrics_interval": "1 s"},
    }
    asked = spec_of(5, **fields)
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    links = [control_pb2.LinkUse(**use), control_pb2.LinkUse()]
    with pytest.raises(ControlError) as caught:
        check_result(coordinator, result("host-0", links=links))
    assert problem in str(caught.value)
    check_result(coordinator, result("host-0", links=[control_pb2.LinkUse(past=[USE] * 3), USE]))


@pytest.mark.parametrize(("host", "peer"), [("host-0", 1), ("host-1", 4), ("host-0", 10**6), ("host-9", 0)])
def test_a_host_speaks_for_its_own_peers(host: str, peer: int) -> None:
    with pytest.raises(ControlError, match=f"{host} speaks for peer {peer}, which does not run there"):
        check_peers(five_peers(), host, [peer])
    check_peers(five_peers(), "host-0", [0, 2, 4])


def test_a_kill_that_the_plan_does_not_have_is_refused() -> None:
    spec = spec_of(4, runtime={"kind": "kubernetes", "hosts": 4, "churn": "pods"})
    coordinator = Coordinator(spec, plan_of(4, end=5.0), "experiment", "trial")
    check_killed(coordinator, control_pb2.Killed(peer=3, session=0))
    with pytest.raises(ControlError, match="the plan does not end session 7 of peer 3 with its pod"):
        check_killed(coordinator, control_pb2.Killed(peer=3, session=7))


@in_a_loop
async def test_what_is_refused_changes_nothing_and_the_caller_is_told() -> None:
    coordinator = running(end_s=10.0)
    coordinator.start_ns = coordinator.start_ns and coordinator.start_ns - 11 * SECOND
    service = CoordinatorService()
    server, address = await service.serve("127.0.0.1:0")
    await service.begin(coordinator)
    calls = {
        "Track": control_pb2.TrackRequest(trial="trial", host="host-0", joining=[1]),
        "ReportProgress": control_pb2.HostProgress(trial="trial", host="host-0", tells_up=True, up=[3]),
        "Finish": result("host-0", trial="trial", cpu_s=math.nan),
        "ReportProgress ": control_pb2.HostProgress(trial="trial", host="host-0", cpu_s=math.nan),
        "ReportKilled": control_pb2.Killed(trial="trial", peer=1, session=3),
    }
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
            for name, request in calls.items():
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await getattr(stub, name.strip())(request, timeout=5)
                assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION, name
    finally:
        await service.close()
        await server.stop(0)
    assert coordinator.members["host-0"].result is None and not coordinator.killed
