"""The coordinator's gRPC service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
import grpc.aio

from emulator.fleet.coordinator.authorization import UNGUARDED, Trust
from emulator.fleet.coordinator.coordinator import CONTROLLER, ControlError, Coordinator
from emulator.fleet.coordinator.host_words import check_killed, check_peers, check_progress, check_result
from emulator.fleet.coordinator.journal import Journal
from emulator.fleet.coordinator.requests import Requests
from emulator.fleet.host.asking_again import AFTER
from emulator.runtime.realtime.clock import unix_ns
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.tracing import spans
from emulator.tracing.tracer import Attributes
from emulator.trust.refusals import Refusals
from emulator.trust.strangers import Strangers
from emulator.trust.tickets import write_ticket
from trellis.v1 import control_pb2, control_pb2_grpc

T = TypeVar("T")

_AROUND_A_TRIAL = 1800.0
"""The wall seconds that a ticket holds beyond the trial's own: hosts wait for each other before it, and send
what is left after it."""
_PATIENCE = 20.0
"""The wall seconds that a call may wait; after that the caller is told to ask again."""
_WAITING, _AGAIN_S = 1000, 15
"""The most calls that wait at once, and the wall seconds after which further callers are to ask again.

A call that waits takes 18 KiB, most of it gRPC's. A trial of more than 1,000 hosts starts at least 50 s after
the last of them is ready, so all of them hear of the start in time.
"""
_LARGE_ANSWERS = 64
"""The most answers that are under way at once of those that grow with the number of hosts.

All hosts may wait for the same moment, and memory for each would grow with the square of their number."""


class CoordinatorService(control_pb2_grpc.CoordinatorServicer):
    """Answers the calls of hosts and of the churn controller, in one trial after the other."""

    def __init__(self, trust: Trust = UNGUARDED) -> None:
        self._trust = trust
        self._coordinator: Coordinator | None = None
        self._journal: Journal | None = None
        self._over = False
        self._changed = asyncio.Condition()
        self._waiting = 0
        self._turns = asyncio.Semaphore(_LARGE_ANSWERS)
        self.refusals = Refusals()
        """The counts of connections and calls that were refused, by reason."""
        self.requests = Requests()
        """The counts of calls over all trials: how they ended and how long they took."""

    async def serve(self, address: str) -> tuple[grpc.aio.Server, str]:
        """Start a server and return it with its address; `host:0` takes a free port.

        Raises OSError if the address cannot be bound or the file of hosts' speakers cannot be read, and
        DamagedFile.
        """
        trust, strangers = self._trust, Strangers(self.refusals)
        server = grpc.aio.server(
            options=[*OPTIONS, *trust.credentials.bounds],
            interceptors=[self.requests, *trust.interceptors(strangers)],
        )
        control_pb2_grpc.add_CoordinatorServicer_to_server(self, server)  # type: ignore[no-untyped-call]
        port = trust.credentials.listen(server, address)
        await server.start()
        trust.credentials.guard(strangers, port)
        return server, f"{address.rpartition(':')[0]}:{port}"

    async def begin(self, coordinator: Coordinator, journal: Journal | None = None) -> None:
        """Serve this trial from now on. The journal gets what hosts tell before it is acted on."""
        self._coordinator, self._journal = coordinator, journal
        await self._wake()

    async def end(self) -> None:
        """End the trial; hosts wait for the next one."""
        self._coordinator = self._journal = None
        await self._wake()

    async def close(self) -> None:
        """Tell hosts that there will be no further trial."""
        self._over = True
        await self.end()

    async def Register(self, request: control_pb2.Registration, context: Any) -> control_pb2.Assignment:
        def open_to_host() -> Coordinator | None:
            here = self._coordinator
            return None if here is None or here.has_finished(request) else here

        coordinator = await self._await(open_to_host, context)
        await self._take_turn(coordinator, context)
        try:
            assignment = coordinator.register(request, at_ns := unix_ns())
        except ControlError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise
        self._note("register", request, at_ns)
        assignment.ticket = self._ticket(coordinator, request.host)
        about: Attributes = {"trellis.host": request.host, "trellis.incarnation": assignment.incarnation}
        spans.record("hand out plan", at_ns, unix_ns(), about, coordinator.trace)
        return assignment

    async def MeasureClock(self, request: control_pb2.ClockRequest, context: Any) -> control_pb2.ClockReply:
        received = unix_ns()
        return control_pb2.ClockReply(received_unix_ns=received, replied_unix_ns=unix_ns())

    async def AwaitStart(self, request: control_pb2.Ready, context: Any) -> control_pb2.Start:
        coordinator = await self._of_trial(request.trial, context)
        started = coordinator.ready(request, at_ns := unix_ns())
        self._note("ready", request, at_ns)
        if started:
            await self._wake()
        await self._await(lambda: coordinator.start_ns if coordinator is self._coordinator else None, context)
        await self._take_turn(coordinator, context)
        return coordinator.start()

    async def Track(self, request: control_pb2.TrackRequest, context: Any) -> control_pb2.TrackReply:
        coordinator = await self._of_trial(request.trial, context)
        peers = (*request.left, *request.joining, *request.asking)
        await _allow(context, lambda: check_peers(coordinator, request.host, peers))
        return coordinator.track(request, unix_ns())

    async def ReportProgress(
        self, request: control_pb2.HostProgress, context: Any
    ) -> control_pb2.ProgressReply:
        coordinator = await self._of_trial(request.trial, context)
        at_ns = unix_ns()
        await _allow(context, lambda: check_peers(coordinator, request.host, request.up))
        await _allow(context, lambda: check_progress(request, len(coordinator.regions.names)))
        if request.error or request.written.last_word:
            self._note("note_progress", request, at_ns)
        return coordinator.note_progress(request, at_ns)

    async def Finish(self, request: control_pb2.HostFidelity, context: Any) -> control_pb2.Finished:
        coordinator = await self._of_trial(request.trial, context)
        at_ns = unix_ns()
        await _allow(context, lambda: coordinator.check_finish(request, at_ns))
        await _allow(context, lambda: check_result(coordinator, request))
        self._note("finish", request, at_ns)
        coordinator.finish(request, at_ns)
        return control_pb2.Finished()

    async def AwaitChurn(self, request: control_pb2.ChurnRequest, context: Any) -> control_pb2.ChurnPlan:
        def started() -> Coordinator | None:
            here = self._coordinator
            return here if here and here.pods_end_sessions and here.start_ns is not None else None

        coordinator = await self._await(started, context)
        plan = coordinator.churn_plan()
        plan.ticket = self._ticket(coordinator, CONTROLLER)
        return plan

    async def ReportKilled(self, request: control_pb2.Killed, context: Any) -> control_pb2.Finished:
        coordinator = await self._of_trial(request.trial, context)
        at_ns = unix_ns()
        await _allow(context, lambda: check_killed(coordinator, request))
        self._note("note_killed", request, at_ns)
        coordinator.note_killed(request, at_ns)
        return control_pb2.Finished()

    def _ticket(self, coordinator: Coordinator, host: str) -> str:
        if not self._trust.ticket_key:
            return ""
        longest = coordinator.spec.phases.end * coordinator.time_scale + _AROUND_A_TRIAL
        until = unix_ns() // 10**9 + round(longest)
        return write_ticket(self._trust.ticket_key, coordinator.trial, host, until)

    def _note(self, call: str, request: Any, at_ns: int) -> None:
        if self._journal is not None:
            self._journal.note(call, request, at_ns)

    async def _of_trial(self, trial: str, context: Any) -> Coordinator:
        """Return the coordinator of the trial that the host takes part in."""
        if self._coordinator is None and not self._over:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "between trials: ask again")
        if self._coordinator is None or self._coordinator.trial != trial:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"the trial {trial} is not running")
        assert self._coordinator is not None
        return self._coordinator

    async def _await(self, ready: Callable[[], T | None], context: Any) -> T:
        """Wait until `ready` returns something and return it; abort the call if that takes long, or if many
        wait already."""
        if self._waiting >= _WAITING and not self._over and ready() is None:
            later = ((AFTER, str(_AGAIN_S)),)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not yet, and many wait: ask again", later)
        self._waiting += 1
        try:
            return await self._awaited(ready, context)
        finally:
            self._waiting -= 1

    async def _awaited(self, ready: Callable[[], T | None], context: Any) -> T:
        async with self._changed:
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._changed.wait_for(lambda: self._over or ready() is not None)
            except TimeoutError:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "not yet: ask again")
        if (found := ready()) is None:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "there is no further trial")
        assert found is not None
        return found

    async def _take_turn(self, coordinator: Coordinator, context: Any) -> None:
        """Wait until few large answers are under way. The turn is over when the caller has its answer.

        The call is aborted if the trial has ended meanwhile.
        """
        await self._turns.acquire()
        context.add_done_callback(lambda ended: self._turns.release())
        if coordinator is not self._coordinator:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the trial has ended: ask again")

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def _allow(context: Any, check: Callable[[], None]) -> None:
    """Make a check of what a caller says. Refuses the call with the reason if the check fails."""
    try:
        check()
    except ControlError as error:
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        raise
