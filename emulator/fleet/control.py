"""The coordinator's gRPC service, and its clients' view of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
from trellis.v1 import control_pb2, control_pb2_grpc

from emulator.fleet.coordinator import ControlError, Coordinator
from emulator.runtime.clock import unix_ns
from emulator.runtime.links import OPTIONS

_CLOCK_ROUNDS = 8


class CoordinatorService(control_pb2_grpc.CoordinatorServicer):
    """Answers hosts from a `Coordinator`."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._started = asyncio.Event()

    async def serve(self, address: str) -> tuple[grpc.aio.Server, str]:
        """Start a server; `host:0` takes a free port. Gives the server and its address.

        Raises RuntimeError if the address cannot be bound.
        """
        server = grpc.aio.server(options=OPTIONS)
        control_pb2_grpc.add_CoordinatorServicer_to_server(self, server)  # type: ignore[no-untyped-call]
        port = server.add_insecure_port(address)
        await server.start()
        return server, f"{address.rpartition(':')[0]}:{port}"

    async def Register(self, request: control_pb2.Registration, context: Any) -> control_pb2.Assignment:
        try:
            assignment = self._coordinator.register(request, unix_ns())
        except ControlError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise
        return assignment

    async def MeasureClock(self, request: control_pb2.ClockRequest, context: Any) -> control_pb2.ClockReply:
        received = unix_ns()
        return control_pb2.ClockReply(received_unix_ns=received, replied_unix_ns=unix_ns())

    async def AwaitStart(self, request: control_pb2.Ready, context: Any) -> control_pb2.Start:
        if self._coordinator.ready(request, unix_ns()):
            self._started.set()
        await self._started.wait()
        return self._coordinator.start()

    async def Track(self, request: control_pb2.TrackRequest, context: Any) -> control_pb2.TrackReply:
        return self._coordinator.track(request, unix_ns())

    async def ReportProgress(
        self, request: control_pb2.HostProgress, context: Any
    ) -> control_pb2.ProgressReply:
        return control_pb2.ProgressReply(stop=self._coordinator.note_progress(request, unix_ns()))

    async def Finish(self, request: control_pb2.HostFidelity, context: Any) -> control_pb2.Finished:
        self._coordinator.finish(request, unix_ns())
        return control_pb2.Finished()


async def measure_clock_offset(stub: Any, host: str, clock: Callable[[], int] = unix_ns) -> int:
    """This host's clock minus the coordinator's in ns, by the exchange with the shortest round trip.

    Each exchange gives four timestamps (as NTP's, RFC 5905, section 8); the error is at most half of
    the round trip.
    """
    exchanges: list[tuple[int, int]] = []
    for _ in range(_CLOCK_ROUNDS):
        asked = clock()
        reply = await stub.MeasureClock(control_pb2.ClockRequest(host=host), timeout=10)
        heard = clock()
        exchanges.append(clock_exchange(asked, reply.received_unix_ns, reply.replied_unix_ns, heard))
    return min(exchanges)[1]


def clock_exchange(asked: int, received: int, replied: int, heard: int) -> tuple[int, int]:
    """(round trip, asker's clock minus the other's), ns; `asked` and `heard` are on the asker's clock."""
    round_trip = (heard - asked) - (replied - received)
    return round_trip, ((asked - received) + (heard - replied)) // 2
