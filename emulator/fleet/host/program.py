"""The program of a host, which takes part in one trial, or in all trials that the coordinator has."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from emulator.fleet.host.asking_again import pause_after
from emulator.fleet.host.delay_enforcement import Enforcement
from emulator.fleet.host.member import AWAY, Membership, TrialGone, own_versions
from emulator.runtime.realtime.clock import unix_ns
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.runtime.realtime.streams import LinksService
from emulator.telemetry.recorder import SinkFactory
from emulator.tracing import log_lines, spans
from emulator.trust.credentials import OPEN, Credentials
from emulator.trust.interceptor import Door
from emulator.trust.strangers import Strangers
from trellis.v1 import control_pb2, control_pb2_grpc, wire_pb2_grpc

_REGISTER_LIMIT = 30.0
"""The wall seconds in which a host that takes part in one trial must have reached its coordinator."""
_PATIENCE = 5.0
"""The wall seconds for which the coordinator of local processes may be away."""
_LONG_PATIENCE = 180.0
"""The wall seconds for which a coordinator may be away that is restarted when it ends."""
_CALL_LIMIT = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """The surroundings of a host: where it runs, what it writes to and what it may use."""

    name: str
    coordinator: str
    """The address of the coordinator."""
    listen: str
    """The address to listen on for other hosts; port 0 takes a free one."""
    telemetry: Path
    """The folder of OTLP files; with `stay`, each trial has a folder in it."""
    sink: SinkFactory
    stay: bool = False
    """This is true if the host takes part in one trial after the other, and waits for a coordinator that is
    away."""
    netem: bool = False
    """This is true if the host may have the kernel delay what it sends."""
    credentials: Credentials = OPEN
    """The secrets that the host shows to the coordinator and to other hosts, and asks of them."""


async def run_host(place: Place) -> str:
    """Take part until the end. Returns the error that made the host useless, or "".

    Raises grpc.aio.AioRpcError if the coordinator cannot be reached or has no trial for the host, OSError if
    the address cannot be bound, and whatever a protocol raises.
    """
    credentials, start = place.credentials, secrets.token_hex(16)
    service = LinksService(start)
    strangers = Strangers()
    doors = [Door({"": [credentials.token]}, strangers)] if credentials.token else []
    server = grpc.aio.server(options=[*OPTIONS, *credentials.bounds], interceptors=doors)
    wire_pb2_grpc.add_LinksServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    port = credentials.listen(server, place.listen)
    address = f"{place.listen.rpartition(':')[0]}:{port}"
    await server.start()
    credentials.guard(strangers, port)
    try:
        async with Enforcement(address, netem=place.netem) as enforcement:
            return await _Program(place, address, start, service, enforcement).run()
    finally:
        await server.stop(grace=0)


class _Program:
    def __init__(
        self, place: Place, address: str, start: str, service: LinksService, enforcement: Enforcement
    ) -> None:
        """`start` is the token that tells this start of the program from others."""
        self._place = place
        self._start = start
        self._service = service
        self._enforcement = enforcement
        self._registration = control_pb2.Registration(
            host=place.name,
            address=address,
            echo_address=enforcement.echo_address,
            process_id=os.getpid(),
            start=uuid.uuid4().hex,
            versions=own_versions(),
        )
        self._membership: Membership | None = None
        self._told_to_go = asyncio.Event()

    async def run(self) -> str:
        work = asyncio.create_task(self._all_trials() if self._place.stay else self._one_trial())
        if not self._place.stay:
            return await work
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._go)
        told = asyncio.create_task(self._told_to_go.wait())
        await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
        if self._membership is None and not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return ""
        return await work

    def _go(self) -> None:
        self._told_to_go.set()
        if self._membership is not None:
            self._membership.leave()

    async def _one_trial(self) -> str:
        async with self._place.credentials.open(self._place.coordinator, OPTIONS) as channel:
            await asyncio.wait_for(channel.channel_ready(), _REGISTER_LIMIT)
            stub = self._stub(channel)
            return await self._take_part(self._join(stub, await self._assigned(stub), _PATIENCE))

    async def _all_trials(self) -> str:
        async with self._place.credentials.open(self._place.coordinator, OPTIONS) as channel:
            stub = self._stub(channel)
            while not self._told_to_go.is_set():
                membership = await self._register(stub)
                if membership is None:
                    await self._told_to_go.wait()
                    break
                try:
                    await self._take_part(membership)
                except TrialGone as why:
                    print(f"left {membership.trial}: {why}", flush=True)
                    self._registration.start = uuid.uuid4().hex
        return ""

    def _stub(self, channel: grpc.aio.Channel) -> Any:
        showing = self._place.credentials.showing(channel, self._start)
        return control_pb2_grpc.CoordinatorStub(showing)  # type: ignore[no-untyped-call]

    async def _register(self, stub: Any) -> Membership | None:
        """Register for the next trial and return the host's part in it, None if there will be none."""
        said = time.monotonic()
        while True:
            try:
                return self._join(stub, await self._assigned(stub), _LONG_PATIENCE)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.OUT_OF_RANGE:
                    return None
                if error.code() not in AWAY:
                    raise
                if time.monotonic() - said > _CALL_LIMIT:
                    said = time.monotonic()
                    print(f"waiting for {self._place.coordinator}: {error.details()}", flush=True)
                pause = pause_after(error)
            await asyncio.sleep(pause)

    async def _assigned(self, stub: Any) -> control_pb2.Assignment:
        """Register, and return the host's part of the plan."""
        asked = unix_ns()
        assignment: control_pb2.Assignment = await stub.Register(self._registration, timeout=_CALL_LIMIT)
        about = {"trellis.host": self._place.name}
        spans.record("register", asked, unix_ns(), about, assignment.trace)
        return assignment

    def _join(self, stub: Any, assignment: control_pb2.Assignment, patience: float) -> Membership:
        place = self._place
        return Membership(
            place.name,
            assignment,
            stub,
            self._service,
            self._enforcement,
            place.telemetry / assignment.trial if place.stay else place.telemetry,
            place.sink,
            patience,
            place.credentials,
        )

    async def _take_part(self, membership: Membership) -> str:
        self._membership = membership
        log_lines.of_trial(membership.trial, membership.trace)
        about = {"trellis.host": self._place.name, "trellis.trial": membership.trial}
        try:
            with spans.span("take part", about, membership.trace) as told:
                if problem := await membership.run():
                    told.fail(problem)
                return problem
        finally:
            log_lines.of_trial("", "")
            self._membership = None
