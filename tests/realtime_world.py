"""One host in real time, with another one that only a capture of its messages stands for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from fleet_toys import Flood, FloodParameters
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.contract.protocol import Application, Environment
from emulator.faults.network_faults import NetworkFaults
from emulator.messages.message import Message
from emulator.network.build_network import build_network
from emulator.network.busy_peers import BusyPeers
from emulator.network.rate_change import RateChange
from emulator.network.spec import NetworkSpec
from emulator.runtime.realtime.clock import TrialClock, unix_ns
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.sent_message import Passage, Wire
from emulator.runtime.realtime.session import Session
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder
from trellis.v1 import wire_pb2
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData, Pull

ONE_WAY = 0.02
UNREACHABLE_AFTER = 0.1
HERE, THERE = 0, 1
LONG = 20.0
"""Wall seconds after which what a test waits for counts as missing."""


AnyApplication = TypeVar("AnyApplication", bound=Application)


class Parts(Application):
    """A peer with a part `a`; both are asked for pulls, and write down what happens to them."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.part = environment.channel("a")
        self.heard: list[tuple[str, int, Message]] = []
        self.unreachable: list[tuple[int, float]] = []
        self.ends: list[Any] = []
        for name, where in (("", environment), ("a", self.part)):
            where.handle(Goodbye, partial(self.hear, name))
            where.handle(EventData, partial(self.hear, name))
        self.part.serve(Pull, lambda sender, pull: EventData(event=pull.event) if pull.event else None)

    def start(self, contacts: Any) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def hear(self, name: str, sender: int, message: Message) -> None:
        self.heard.append((name, sender, message))

    def on_unreachable(self, peer: int) -> None:
        self.unreachable.append((peer, self.environment.now))

    def pull(self, peer: int, event: int, timeout: float = 1000.0) -> None:
        self.part.request(peer, Pull(event), timeout, self.ends.append, lambda: self.ends.append("failed"))


class Capture(Wire):
    """A wire that keeps what it is given."""

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    def offer(self, host: int, passage: Passage) -> None:
        assert host == THERE
        self.passages.append(passage)

    def batch(self) -> wire_pb2.Batch:
        """Return all of it as it goes over a link."""
        batch = wire_pb2.Batch(host=HERE)
        for passage in self.passages:
            passage.add_to(batch)
        return batch


class World:
    """Peers 0, 1, 2 are at this host, 3 and 4 at another."""

    def __init__(
        self,
        directory: Path,
        busy: BusyPeers | None = None,
        faults: NetworkFaults | None = None,
        changes: Sequence[RateChange] = (),
        **network: Any,
    ) -> None:
        """`busy` are the peers that take time for messages, `faults` those of messages, `changes` those of
        rates, and `network` is what the experiment says of the network beside its delay."""
        spec = NetworkSpec.model_validate(
            {
                "latency": {"kind": "constant", "rtt": f"{2 * ONE_WAY} s"},
                "unreachable_after": f"{UNREACHABLE_AFTER} s",
                **network,
            }
        )
        self.directory = directory
        self.faults = faults
        self.recorder = Recorder(directory, "h", experiment="e", trial="t", seed=1, start_unix_ns=unix_ns())
        self.failures: list[Exception] = []
        self.host = Host(
            HERE,
            [HERE, HERE, HERE, THERE, THERE],
            build_network(spec, [0] * 5, 1, [0] * 5, changes),
            TrialClock(unix_ns(), 1.0),
            self.recorder,
            Random(1),
            self.failures.append,
            faults=faults,
            busy=busy,
        )
        self.wire = Capture()
        self.loop = asyncio.new_event_loop()
        self.started = False
        self.host.wire = self.wire

    def join(self, peer: int, session: int = 0) -> Flood:
        return self.add(peer, lambda environment: Flood(environment, FloodParameters(period=1000)), session)

    def add(
        self, peer: int, create: Callable[[Environment], AnyApplication], session: int = 0
    ) -> AnyApplication:
        """Add a peer with the protocol that `create` makes; it is not started."""
        life = Session(self.host, peer, session, Random(peer))
        made = create(life.root)
        self.host.sessions[peer] = life
        return made

    def crash(self, peer: int) -> None:
        self.host.sessions.pop(peer).end()

    def run(self, until: Callable[[], Any]) -> None:
        """Let time pass until the condition holds, or a protocol has raised an error."""
        self._live(until, LONG)
        assert until() or self.failures, "waited in vain"

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self._live(lambda: False, seconds)

    def _live(self, until: Callable[[], Any], limit: float) -> None:
        async def live() -> None:
            if not self.started:
                self.started = True
                self.host.agenda.start()
            while not until() and not self.failures and self.host.clock.now() < end:
                await asyncio.sleep(0.002)

        end = self.host.clock.now() + limit
        self.loop.run_until_complete(live())

    def close(self) -> None:
        self.host.agenda.stop()
        self.loop.close()

    def spans(self) -> list[Span]:
        self.recorder.close()
        (file,) = self.directory.glob("*traces*")
        data = [TracesData.FromString(record) for record in read_records(file)]
        return [s for d in data for r in d.resource_spans for scope in r.scope_spans for s in scope.spans]
