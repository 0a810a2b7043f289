"""One host of the fleet, from registration to its last report."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import platform
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from trellis.v1 import control_pb2, control_pb2_grpc, wire_pb2_grpc

from emulator.experiment.plan import Plan
from emulator.experiment.spec import Processes, TrialSpec
from emulator.fleet.control import measure_clock_offset
from emulator.fleet.coordinator import decode_table
from emulator.network.model import build_network
from emulator.registry import SYSTEMS
from emulator.runtime.clock import TrialClock
from emulator.runtime.controller import Contacts, Controller
from emulator.runtime.links import OPTIONS, Links
from emulator.runtime.observer import Observer, progress_of
from emulator.runtime.realtime import Host
from emulator.runtime.script import Script
from emulator.streams import stream
from emulator.telemetry.otlp import BackgroundSink
from emulator.telemetry.recorder import Recorder

_REGISTER_LIMIT = 30.0
_START_LIMIT = 120.0
_CALL_LIMIT = 10.0
_REPORT_PERIOD = 0.5
"""Wall seconds between progress reports."""
_REPORT_FAILURES = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a host is and what it writes to."""

    name: str
    coordinator: str
    """Address of the coordinator."""
    listen: str
    """Address to listen on for other hosts; port 0 takes a free one."""
    telemetry: Path
    systems: Sequence[str] = ()
    """Modules that add systems to the registry when they are imported."""


def own_versions() -> dict[str, str]:
    """Versions that all processes of a trial must share."""
    return {
        "python": platform.python_version(),
        "trellis": version("trellis"),
        "grpcio": version("grpcio"),
        "protobuf": version("protobuf"),
    }


async def run_host(place: Place) -> str:
    """Take part in a trial until its end. Gives the error that made the host useless, or "".

    Raises grpc.aio.AioRpcError if the coordinator cannot be reached, TimeoutError if the trial does
    not start, and whatever a protocol raises.
    """
    for module in place.systems:
        importlib.import_module(module)
    server = grpc.aio.server(options=OPTIONS)
    port = server.add_insecure_port(place.listen)
    address = f"{place.listen.rpartition(':')[0]}:{port}"
    async with grpc.aio.insecure_channel(place.coordinator, options=OPTIONS) as channel:
        await asyncio.wait_for(channel.channel_ready(), _REGISTER_LIMIT)
        stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
        registration = control_pb2.Registration(
            host=place.name, address=address, process_id=os.getpid(), versions=own_versions()
        )
        assignment = await stub.Register(registration, timeout=_REGISTER_LIMIT)
        member = _Member(place, assignment, stub, server)
        try:
            return await member.run()
        finally:
            await server.stop(grace=0)


class _Member:
    def __init__(
        self, place: Place, assignment: control_pb2.Assignment, stub: Any, server: grpc.aio.Server
    ) -> None:
        self._place = place
        self._assignment = assignment
        self._stub = stub
        self._server = server
        self._spec = TrialSpec.model_validate_json(assignment.spec)
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped = asyncio.Event()

    async def run(self) -> str:
        spec, assignment, name = self._spec, self._assignment, self._place.name
        plan = Plan(**{name: decode_table(getattr(assignment, name)) for name in Plan.__slots__})
        script = Script(plan, spec.phases.end)
        network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
        offset = await measure_clock_offset(self._stub, name)
        ready = control_pb2.Ready(host=name, clock_offset_ns=offset)
        start = await self._stub.AwaitStart(ready, timeout=_START_LIMIT)
        start_ns = start.start_unix_ns + offset
        try:
            recorder = Recorder(
                self._place.telemetry,
                name,
                experiment=assignment.experiment,
                trial=assignment.trial,
                seed=spec.seed,
                start_unix_ns=start_ns,
                sink=BackgroundSink,
            )
        except OSError as failure:
            return await self._finish(control_pb2.HostFidelity(host=name, error=_unwritable(failure)))
        clock = TrialClock(start_ns, spec.runtime.time_scale if isinstance(spec.runtime, Processes) else 1.0)
        random = stream(spec.seed, "host", name)
        host = Host(
            assignment.host_index, list(assignment.host_of_peer), network, clock, recorder, random, self._fail
        )
        system = SYSTEMS[spec.system.name]
        parameters = system.parameters.model_validate(spec.system.parameters)
        controller = Controller(
            host, script, lambda world: system.create(world, parameters), self._track, spec.seed
        )
        controller.follow()
        observer = Observer(host, spec, stream(spec.seed, "probes", name))
        observer.follow()
        error = ""
        try:
            await self._live(host, controller, start.addresses)
            observer.observe_end()
        finally:
            try:
                recorder.close()
            except OSError as failure:
                error = _unwritable(failure)
        result = observer.fidelity(controller)
        result.host = name
        result.clock_offset_ns = await measure_clock_offset(self._stub, name)
        result.error = error
        return await self._finish(result)

    async def _live(self, host: Host, controller: Controller, addresses: Sequence[str]) -> None:
        """From the common start to the end of the trial."""
        links = Links(host, addresses)
        wire_pb2_grpc.add_LinksServicer_to_server(links, self._server)  # type: ignore[no-untyped-call]
        await self._server.start()
        # What exists now stays, and what peers keep lives long: the collector need not look often.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        host.agenda.start()
        work: list[Coroutine[Any, Any, None]]
        work = [links.run(), controller.run(), self._report_progress(host), self._await_stop()]
        tasks: set[asyncio.Future[None]] = {asyncio.create_task(each) for each in work}
        remaining = host.clock.wall(self._spec.phases.end) - time.monotonic()
        try:
            done, _ = await asyncio.wait(
                tasks | {self._failure}, timeout=remaining, return_when=asyncio.FIRST_COMPLETED
            )
            for first in done:
                first.result()
        finally:
            host.agenda.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _await_stop(self) -> None:
        await self._stopped.wait()

    async def _report_progress(self, host: Host) -> None:
        """Raises grpc.aio.AioRpcError if the coordinator is gone for several reports."""
        failures = 0
        while True:
            report = progress_of(host)
            report.host = self._place.name
            try:
                reply = await self._stub.ReportProgress(report, timeout=_CALL_LIMIT)
                failures = 0
                if reply.stop:
                    self._stopped.set()
            except grpc.aio.AioRpcError:
                failures += 1
                if failures == _REPORT_FAILURES:
                    raise
            await asyncio.sleep(_REPORT_PERIOD)

    async def _track(
        self, left: Sequence[int], joining: Sequence[int], asking: Sequence[int]
    ) -> tuple[Contacts, Contacts]:
        request = control_pb2.TrackRequest(host=self._place.name, left=left, joining=joining, asking=asking)
        reply = await self._stub.Track(request, timeout=_CALL_LIMIT)
        return [list(c.peers) for c in reply.joining], [list(c.peers) for c in reply.asking]

    async def _finish(self, result: control_pb2.HostFidelity) -> str:
        await self._stub.Finish(result, timeout=_CALL_LIMIT)
        return result.error

    def _fail(self, error: Exception) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)


def _unwritable(error: OSError) -> str:
    return f"telemetry cannot be written: {error}"
