"""The coordinator of a real-time trial, without its network: who is there, who is up, what is known.

It serves the plan, waits until all hosts are ready, keeps progress and a tracker of live peers, and
collects what the verdict needs. It is not on the path of any message between peers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from trellis.v1 import control_pb2

from emulator.experiment.plan import Plan
from emulator.experiment.spec import Processes, TrialSpec
from emulator.runtime.progress import Progress
from emulator.runtime.tracker import Tracker
from emulator.streams import stream

_START_DELAY_NS = 500_000_000
"""From when the last host is ready to trial time 0: time for the hosts to connect."""


class ControlError(Exception):
    """A host asked for something that does not fit the state of the trial."""


@dataclass
class Member:
    """What the coordinator knows of one host."""

    name: str
    index: int
    peers: int
    address: str = ""
    process_id: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    ready: bool = False
    restarts: int = 0
    clock_offset_start_ns: int = 0
    progress: control_pb2.HostProgress = field(default_factory=control_pb2.HostProgress)
    heard_ns: int = 0
    """Unix time at which it was last heard from."""
    result: control_pb2.HostFidelity | None = None
    lost: str = ""
    """Why it did not finish."""


class Coordinator:
    """The state of one trial. Times are unix ns on the coordinator's clock, given by the caller."""

    def __init__(self, spec: TrialSpec, plan: Plan, experiment: str, trial: str) -> None:
        """Raises ValueError for a spec of another runtime."""
        if not isinstance(spec.runtime, Processes):
            raise ValueError(f"runtime.kind is {spec.runtime.kind!r}, not 'processes'")
        hosts = spec.runtime.hosts
        self.spec = spec
        self.trial = trial
        self.time_scale = spec.runtime.time_scale
        self.start_ns: int | None = None
        """Trial time 0, once all hosts are ready."""
        self.stopping = False
        """Set to end the trial early."""
        self._plan = plan
        self._experiment = experiment
        peers = plan.peers.num_rows
        self._host_of = [peer % hosts for peer in range(peers)]
        self.members = {
            f"host-{index}": Member(f"host-{index}", index, self._host_of.count(index))
            for index in range(hosts)
        }
        self._tracker = Tracker(stream(spec.seed, "bootstrap"))

    def register(self, registration: control_pb2.Registration, at_ns: int) -> control_pb2.Assignment:
        """A host's part of the plan. Raises ControlError for an unknown host or one that is back."""
        member = self._member(registration.host, at_ns)
        if member.address:
            member.restarts += 1
            raise ControlError(f"{member.name} has registered before: a restarted host cannot rejoin a trial")
        member.address = registration.address
        member.process_id = registration.process_id
        member.versions = dict(registration.versions)
        plan = self._plan
        return control_pb2.Assignment(
            experiment=self._experiment,
            trial=self.trial,
            spec=self.spec.model_dump_json(),
            peers=encode_table(plan.peers),
            sessions=encode_table(self._part(plan.sessions, "peer", member.index)),
            subscriptions=encode_table(self._part(plan.subscriptions, "peer", member.index)),
            publications=encode_table(self._part(plan.publications, "publisher", member.index)),
            lookups=encode_table(self._part(plan.lookups, "peer", member.index)),
            host_of_peer=self._host_of,
            host_index=member.index,
        )

    def ready(self, ready: control_pb2.Ready, at_ns: int) -> bool:
        """True once all hosts are ready; then `start` tells when the trial starts."""
        member = self._member(ready.host, at_ns)
        member.ready = True
        member.clock_offset_start_ns = ready.clock_offset_ns
        if self.start_ns is None and all(m.ready for m in self.members.values()):
            self.start_ns = at_ns + _START_DELAY_NS
        return self.start_ns is not None

    def start(self) -> control_pb2.Start:
        """Raises ControlError before all hosts are ready."""
        if self.start_ns is None:
            raise ControlError("not all hosts are ready")
        addresses = [member.address for member in self.members.values()]
        return control_pb2.Start(addresses=addresses, start_unix_ns=self.start_ns)

    def track(self, request: control_pb2.TrackRequest, at_ns: int) -> control_pb2.TrackReply:
        """Note leaves and joins, in this order, and give each asking peer a random few others."""
        self._member(request.host, at_ns)
        for peer in request.left:
            self._tracker.remove(peer)
        reply = control_pb2.TrackReply()
        for peer in request.joining:
            reply.joining.add(peers=self._tracker.contacts(peer))
            self._tracker.add(peer)
        for peer in request.asking:
            reply.asking.add(peers=self._tracker.contacts(peer))
        return reply

    def note_progress(self, progress: control_pb2.HostProgress, at_ns: int) -> bool:
        """Keep a host's progress; true if the host shall stop."""
        self._member(progress.host, at_ns).progress = progress
        return self.stopping

    def finish(self, result: control_pb2.HostFidelity, at_ns: int) -> None:
        """Keep what a host measured."""
        self._member(result.host, at_ns).result = result

    def lose(self, name: str, why: str) -> None:
        """A host is gone; its peers are no longer given as contacts."""
        member = self.members[name]
        if member.result is None and not member.lost:
            member.lost = why
            for peer in [peer for peer in self._tracker if self._host_of[peer] == member.index]:
                self._tracker.remove(peer)

    @property
    def over(self) -> bool:
        """Every host has finished or is lost."""
        return all(member.result is not None or member.lost for member in self.members.values())

    def trial_time(self, at_ns: int) -> float:
        """Seconds of trial time; 0 before the start."""
        return 0.0 if self.start_ns is None else max((at_ns - self.start_ns) * 1e-9 / self.time_scale, 0.0)

    def progress(self, at_ns: int) -> Progress:
        """Of the whole trial."""
        phases, now = self.spec.phases, self.trial_time(at_ns)
        parts = [member.progress for member in self.members.values()]
        live = [member.progress for member in self.members.values() if not member.lost]
        return Progress(
            phase=phases.at(now),
            trial_time=min(now, phases.end),
            trial_end=phases.end,
            peers_up=sum(part.peers_up for part in live),
            published=sum(part.published for part in parts),
            delivered=sum(part.delivered for part in parts),
            lookups=sum(part.lookups for part in parts) if self.spec.workload.lookups else None,
            messages=sum(part.sent for part in parts),
        )

    def _member(self, name: str, at_ns: int) -> Member:
        member = self.members.get(name)
        if member is None:
            raise ControlError(f"no host {name!r} in this trial, only {', '.join(self.members)}")
        member.heard_ns = at_ns
        return member

    def _part(self, table: pa.Table, column: str, index: int) -> pa.Table:
        mine = pa.array([peer for peer, host in enumerate(self._host_of) if host == index], pa.int32())
        return table.filter(pc.is_in(table[column], mine))


def encode_table(table: pa.Table) -> bytes:
    """As an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_table(data: bytes) -> pa.Table:
    """The table of an Arrow IPC stream. Raises pyarrow.ArrowInvalid for anything else."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
