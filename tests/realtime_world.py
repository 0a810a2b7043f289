"""One host in real time, with another one that only a capture of its messages stands for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from fleet_toys import Flood, FloodParameters
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.network.build import build_network
from emulator.network.spec import NetworkSpec
from emulator.protocol import Application
from emulator.runtime.clock import TrialClock, unix_ns
from emulator.runtime.passage import Passage
from emulator.runtime.realtime import Host
from emulator.runtime.session import Session
from emulator.telemetry.otlp import read_records
from emulator.telemetry.recorder import Recorder

ONE_WAY = 0.02
UNREACHABLE_AFTER = 0.1
HERE, THERE = 0, 1


AnyApplication = TypeVar("AnyApplication", bound=Application)


class Capture:
    """A wire that keeps what it is given."""

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    def offer(self, host: int, passage: Passage) -> None:
        assert host == THERE
        self.passages.append(passage)


class World:
    """Peers 0, 1, 2 are at this host, 3 and 4 at another."""

    def __init__(self, directory: Path) -> None:
        spec = NetworkSpec.model_validate(
            {
                "latency": {"kind": "constant", "rtt": f"{2 * ONE_WAY} s"},
                "unreachable_after": f"{UNREACHABLE_AFTER} s",
            }
        )
        self.directory = directory
        self.recorder = Recorder(directory, "h", experiment="e", trial="t", seed=1, start_unix_ns=unix_ns())
        self.failures: list[Exception] = []
        self.host = Host(
            HERE,
            [HERE, HERE, HERE, THERE, THERE],
            build_network(spec, [0] * 5, 1),
            TrialClock(unix_ns(), 1.0),
            self.recorder,
            Random(1),
            self.failures.append,
        )
        self.wire = Capture()
        self.host.wire = self.wire

    def join(self, peer: int) -> Flood:
        return self.add(peer, lambda session: Flood(session, FloodParameters(period=1000)))

    def add(self, peer: int, create: Callable[[Session], AnyApplication]) -> AnyApplication:
        """A peer with the protocol that `create` makes; it is not started."""
        session = Session(self.host, peer, 0, Random(peer))
        made = create(session)
        session.adopt(made)
        self.host.sessions[peer] = session
        return made

    def crash(self, peer: int) -> None:
        self.host.sessions.pop(peer).end()

    def run(self, until: Callable[[], Any] = lambda: False, limit: float = 0.5) -> None:
        """Let time pass until the condition holds or `limit` seconds are over."""

        async def live() -> None:
            self.host.agenda.start()
            while not until() and not self.failures and self.host.clock.now() < end:
                await asyncio.sleep(0.002)

        end = self.host.clock.now() + limit
        asyncio.run(live())

    def spans(self) -> list[Span]:
        self.recorder.close()
        (file,) = self.directory.glob("*traces*")
        data = [TracesData.FromString(record) for record in read_records(file)]
        return [s for d in data for r in d.resource_spans for scope in r.scope_spans for s in scope.spans]
