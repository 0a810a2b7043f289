"""A coordinator that only gives churn controllers their plans."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from emulator.runtime.realtime.clock import unix_ns
from trellis.v1 import control_pb2, control_pb2_grpc


class FakeCoordinator(control_pb2_grpc.CoordinatorServicer):
    """Gives the plans in turn: each until all its kills are reported."""

    def __init__(self, *plans: control_pb2.ChurnPlan) -> None:
        self.plans = list(plans)
        self.killed: list[control_pb2.Killed] = []
        self.clock_lead_ns = 0
        self.failing = 0
        """Calls that are yet to be answered with UNAVAILABLE."""
        self.asked = 0

    async def AwaitChurn(self, request: control_pb2.ChurnRequest, context: Any) -> control_pb2.ChurnPlan:
        self.asked += 1
        await self._fail(context)
        if not self.plans:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "no more")
        plan = self.plans[0]
        done = {(killed.peer, killed.session) for killed in self.killed if killed.trial == plan.trial}
        left = control_pb2.ChurnPlan()
        left.CopyFrom(plan)
        del left.kills[:]
        left.kills.extend(kill for kill in plan.kills if (kill.peer, kill.session) not in done)
        return left

    async def MeasureClock(self, request: control_pb2.ClockRequest, context: Any) -> control_pb2.ClockReply:
        now = unix_ns() + self.clock_lead_ns
        return control_pb2.ClockReply(received_unix_ns=now, replied_unix_ns=now)

    async def ReportKilled(self, request: control_pb2.Killed, context: Any) -> control_pb2.Finished:
        await self._fail(context)
        if not self.plans or self.plans[0].trial != request.trial:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not running")
        self.killed.append(request)
        if len([k for k in self.killed if k.trial == request.trial]) == len(self.plans[0].kills):
            self.plans.pop(0)
        return control_pb2.Finished()

    async def _fail(self, context: Any) -> None:
        if self.failing:
            self.failing -= 1
            await context.abort(grpc.StatusCode.UNAVAILABLE, "ask again")


def plan_of(
    trial: str, *kills: tuple[int, float, bool], lead_ns: int = 0, time_scale: float = 0.5
) -> control_pb2.ChurnPlan:
    """Return a plan of these (peer, at_s, graceful); the trial starts now."""
    return control_pb2.ChurnPlan(
        experiment="experiment",
        trial=trial,
        seed=1,
        start_unix_ns=unix_ns() + lead_ns,
        time_scale=time_scale,
        end_s=60.0,
        kills=[
            control_pb2.Kill(peer=peer, session=3, host=f"host-{peer}", at_s=at, graceful=graceful)
            for peer, at, graceful in kills
        ],
    )


@asynccontextmanager
async def served(coordinator: FakeCoordinator) -> AsyncIterator[str]:
    """Serve the coordinator and yield its address."""
    server = grpc.aio.server()
    control_pb2_grpc.add_CoordinatorServicer_to_server(coordinator, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)
