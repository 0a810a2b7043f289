"""One host of the fleet, from registration to its last report of a trial."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import platform
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from emulator.contract.mistakes import in_words
from emulator.contract.random_streams import stream
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.faults.network_faults import faults_of
from emulator.files.disk import told
from emulator.fleet.host import stop_signals
from emulator.fleet.host.asking_again import pause_after
from emulator.fleet.host.assignment import network_in, script_in, without_plan
from emulator.fleet.host.clock_offset import measure_clock_offset
from emulator.fleet.host.delay_enforcement import Enforcement, NotEnforced
from emulator.network.busy_peers import BusyPeers
from emulator.runtime.breaches import is_checked
from emulator.runtime.realtime.checked_host import CheckedHost
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.script_follower import Contacts, ScriptFollower
from emulator.runtime.realtime.self_measurement import Observer, progress_of
from emulator.runtime.realtime.streams import Links, LinksService
from emulator.telemetry.backend_traces import seed_of_ids
from emulator.telemetry.exporter import admitted
from emulator.telemetry.recorder import Recorder, SinkFactory
from emulator.tracing.spans import span
from emulator.trust.credentials import OPEN, Credentials
from trellis.v1 import control_pb2

_START_LIMIT = 600.0
"""The wall seconds that a host waits for the others to be ready."""
_CALL_LIMIT = 10.0
_REPORT_PERIOD = (0.5, 5.0)
"""The least and the most wall seconds between two progress reports of a host. A silent host counts as lost.
"""
_REPORTS_PER_S = 50
"""The progress reports a second of all hosts together, about."""
_AWAIT_LIMIT = 60.0
"""The wall seconds of a call that waits for other hosts."""
_PARTING = 5.0
"""The wall seconds for the last word to a coordinator that cannot be reached."""
_FAREWELL = 1.0
"""The wall seconds in which peers that leave may still send."""
AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""The status codes of a coordinator that cannot be reached, or lets a caller wait."""


class TrialGone(Exception):
    """The coordinator runs another trial, or no trial."""


def own_versions() -> dict[str, str]:
    """Return the versions that all processes of a trial must share."""
    return {
        "python": platform.python_version(),
        "trellis": version("trellis"),
        "grpcio": version("grpcio"),
        "protobuf": version("protobuf"),
    }


class Membership:
    """The part of one host in one trial."""

    def __init__(
        self,
        name: str,
        assignment: control_pb2.Assignment,
        stub: Any,
        service: LinksService,
        enforcement: Enforcement,
        telemetry: Path,
        sink: SinkFactory,
        patience: float,
        credentials: Credentials = OPEN,
    ) -> None:
        """Take an assignment, of which the plan, its largest part, is not kept.

        `service` receives what other hosts send; `patience` is the number of wall seconds for which the
        coordinator may be away."""
        self._name = name
        self._assignment = without_plan(assignment)
        self._stub = stub
        self._service = service
        self._enforcement = enforcement
        self._telemetry = telemetry
        self._sink = admitted(sink, assignment.ticket)
        self._patience = patience
        self._credentials = credentials
        self._spec = TrialSpec.model_validate_json(assignment.spec)
        self._script = script_in(assignment, self._spec.workload.kind)
        self._network = network_in(assignment, self._spec)
        self._regions = assignment.region_count, dict(assignment.regions)
        self._hit = [each.peers for each in assignment.faults]
        second = [each.second for each in assignment.faults]
        self._faults = faults_of(self._spec.faults, self._hit, second, len(assignment.location))
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._leaving = False

    @property
    def trial(self) -> str:
        return self._assignment.trial

    @property
    def trace(self) -> str:
        """The traceparent of the trial's span, "" if the coordinator is not traced."""
        return self._assignment.trace

    def leave(self) -> None:
        """End early: the host's peers leave, and the host tells only what it wrote."""
        self._leaving = True
        self._ended.set()

    async def run(self) -> str:
        """Take part until the trial's end. Returns the error that made the host useless, or "".

        Raises TrialGone, grpc.aio.AioRpcError if the coordinator is away for too long or the trial does not
        start, and whatever a protocol raises.
        """
        spec, assignment, name = self._spec, self._assignment, self._name
        stops_before = stop_signals.continued()
        if lacking := self._enforcement.lacking(spec):  # this host fails before the others have to start
            return await self._finish(control_pb2.HostFidelity(error=lacking))
        assert isinstance(spec.runtime, RealTime)
        with span("measure clock"):
            offset = await self._asked(partial(measure_clock_offset, self._stub, name))
        with span("await start"):
            start = await self._await_start(offset)
        start_ns = start.start_unix_ns + offset
        clock = TrialClock(start_ns, spec.runtime.time_scale)
        enforcement = self._enforcement
        try:
            enforcement.begin(assignment, spec, self._network, start)
        except NotEnforced as refusal:
            return await self._finish(control_pb2.HostFidelity(error=str(refusal)))
        with span("measure round trips"):
            await enforcement.measure_before(clock)
        try:
            recorder = Recorder(
                self._telemetry,
                name,
                experiment=assignment.experiment,
                trial=assignment.trial,
                seed=seed_of_ids(spec.seed, start.start_unix_ns),
                start_unix_ns=start_ns,
                sink=self._sink,
                incarnation=assignment.incarnation,
            )
        except OSError as failure:
            return await self._finish(control_pb2.HostFidelity(error=_unwritable(failure)))
        host = (CheckedHost if is_checked(spec) else Host)(
            assignment.host_index,
            list(assignment.host_of_peer),
            self._network,
            clock,
            recorder,
            stream(spec.seed, "host", name),
            self._fail,
            in_kernel=enforcement.in_kernel,
            faults=self._faults,
            busy=BusyPeers(spec.processing, self._script.processing) if spec.processing is not None else None,
        )
        host.checked = spec.runtime.check
        host.watch(spec.system.name)
        host.outcomes.count_regions(*self._regions)
        system = SYSTEMS[spec.system.name]
        parameters = system.parameters.model_validate(spec.system.parameters)
        controller = ScriptFollower(
            host,
            self._script,
            spec.workload.kind,
            lambda world: system.create(world, parameters),
            self._track,
            spec.seed,
            attackers=spec.attackers,
            sessions_end_with_host=assignment.sessions_end_with_host,
            incarnation=assignment.incarnation,
            came_back=assignment.came_back,
            faults=spec.faults,
            hit=self._hit,
            network_faults=self._faults,
        )
        controller.follow()
        probing = not enforcement.limits_rates
        observer = Observer(host, spec, stream(spec.seed, "probes", name), probing)
        observer.follow()
        enforcement.follow(host.agenda, clock, spec)
        try:
            try:
                with span("run peers"):
                    await self._live(host, controller, start)
                observer.observe_end()
            finally:
                with span("close telemetry"):
                    error = await _close(recorder)
        except TrialGone:
            raise
        except Exception as failure:
            await self._part(host, in_words(failure))
            raise
        if self._leaving:
            await self._part(host, error)
            return error
        await enforcement.measure_after()
        result = observer.fidelity(controller)
        enforcement.report(result)
        result.clock_offset_ns = await self._asked(partial(measure_clock_offset, self._stub, name))
        if not error and stop_signals.continued() > stops_before:
            error = f"it {stop_signals.WORD} and went on later"
        result.error = error
        return await self._finish(result)

    async def _part(self, host: Host, error: str) -> None:
        """Tell a coordinator that answers soon the last word of a program that ends early."""
        word = progress_of(host)
        word.host, word.trial, word.error = self._name, self.trial, error
        with contextlib.suppress(grpc.aio.AioRpcError, TrialGone):
            await self._asked(partial(self._stub.ReportProgress, word, timeout=_CALL_LIMIT), _PARTING)

    async def _await_start(self, offset: int) -> control_pb2.Start:
        ready = control_pb2.Ready(host=self._name, clock_offset_ns=offset, trial=self.trial)
        call = partial(self._stub.AwaitStart, ready, timeout=_AWAIT_LIMIT)
        start: control_pb2.Start = await self._asked(call, _START_LIMIT)
        return start

    async def _live(self, host: Host, controller: ScriptFollower, start: control_pb2.Start) -> None:
        """Run the host's peers from the common start to the end of the trial."""
        links = Links(host, start.addresses, self._enforcement.prepare, self._credentials)
        self._service.links = links
        # Objects that exist now stay, and the state of peers lives long: the garbage collector need not look
        # often.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        host.agenda.start()
        work: list[Coroutine[Any, Any, Any]]
        work = [controller.run(), self._report_progress(host, links, start), self._ended.wait()]
        tasks: set[asyncio.Future[Any]] = {asyncio.create_task(each) for each in work}
        remaining = host.clock.wall(self._spec.phases.end) - time.monotonic()
        try:
            done, _ = await asyncio.wait(
                tasks | {self._failure}, timeout=remaining, return_when=asyncio.FIRST_COMPLETED
            )
            for first in done:
                first.result()
            if self._leaving and controller.leave_all():
                await asyncio.sleep(_FAREWELL)
        finally:
            host.agenda.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._service.links = None
            await links.close()
            gc.unfreeze()

    async def _report_progress(self, host: Host, links: Links, start: control_pb2.Start) -> None:
        """Report progress until the trial's end.

        Raises grpc.aio.AioRpcError if the coordinator is away too long.
        """
        tell_up, moves_known = False, start.moves_known
        shortest, longest = _REPORT_PERIOD
        period = min(max(shortest, len(start.addresses) / _REPORTS_PER_S), longest)
        await asyncio.sleep(period * host.index / len(start.addresses))
        while True:
            report = progress_of(host)
            report.host, report.trial, report.moves_known = self._name, self.trial, moves_known
            if tell_up:
                report.tells_up = True
                report.up.extend(host.sessions)
            reply = await self._asked(partial(self._stub.ReportProgress, report, timeout=_CALL_LIMIT))
            tell_up = reply.tell_up
            for move in reply.moves:
                moves_known += 1
                if move.host != host.index:
                    links.move(move.host, move.address)
            if reply.stop:
                self._ended.set()
            await asyncio.sleep(period)

    async def _track(
        self, left: Sequence[int], joining: Sequence[int], asking: Sequence[int]
    ) -> tuple[Contacts, Contacts]:
        request = control_pb2.TrackRequest(
            host=self._name, trial=self.trial, left=left, joining=joining, asking=asking
        )
        reply = await self._asked(partial(self._stub.Track, request, timeout=_CALL_LIMIT))
        return [list(c.peers) for c in reply.joining], [list(c.peers) for c in reply.asking]

    async def _finish(self, result: control_pb2.HostFidelity) -> str:
        result.host, result.trial = self._name, self.trial
        with span("finish"):
            await self._asked(partial(self._stub.Finish, result, timeout=_CALL_LIMIT))
        return result.error

    async def _asked(self, call: Callable[[], Awaitable[Any]], limit: float | None = None) -> Any:
        """Return the coordinator's answer; ask again while it is away, for at most `limit` wall seconds.

        Raises TrialGone, and grpc.aio.AioRpcError when the time is over.
        """
        deadline = time.monotonic() + (self._patience if limit is None else limit)
        while True:
            try:
                return await call()
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                    raise TrialGone(error.details()) from None
                if error.code() not in AWAY or time.monotonic() > deadline:
                    raise
                pause = pause_after(error)
            await asyncio.sleep(pause)

    def _fail(self, error: Exception) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)


async def _close(recorder: Recorder) -> str:
    """Write the telemetry that is left. Returns the error if that fails, or ""."""
    try:
        await asyncio.to_thread(recorder.close)
    except OSError as failure:
        return _unwritable(failure)
    return ""


def _unwritable(error: OSError) -> str:
    return f"telemetry cannot be written: {told(error)}"
