"""The state of a real-time trial at its coordinator, without the network: hosts, peers, and what is known.

The coordinator serves the plan, waits until all hosts are ready, keeps progress and a tracker of live peers,
and collects what the verdict needs. It is not on the path of any message between peers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from emulator.contract.random_streams import stream
from emulator.experiment.file.spec import Kubernetes, RealTime, TrialSpec
from emulator.experiment.plan.link_seconds import link_seconds
from emulator.experiment.plan.tables import Plan, operations_of
from emulator.experiment.run.telemetry_totals import Written
from emulator.fleet.coordinator.live_regions import LiveRegions
from emulator.fleet.coordinator.live_totals import LiveTotals
from emulator.fleet.coordinator.members import COUNTS, Member
from emulator.fleet.coordinator.planned_kills import planned_kills
from emulator.fleet.host.assignment import put_network, put_script, spec_for_hosts
from emulator.runtime.plan_script import faults_hit, network_of, script_of, second_sides
from emulator.runtime.progress import Progress
from emulator.runtime.tracker import Tracker
from emulator.tracing import spans
from trellis.v1 import control_pb2

_START_DELAY_NS = (500_000_000, 60_000_000_000)
"""The least and the most time between the last host being ready and trial time 0, when hosts get ready."""
_START_DELAY_OF_HOST_NS = 50_000_000
"""The time that each host adds to this delay, because many hosts may share a node."""
_ECHO_DELAY_NS = 10_000_000_000
"""The time that is added to this delay if hosts measure round trips before the trial."""
CONTROLLER = "churn-0"
"""The name under which the churn controller's telemetry is kept, as if it were a host."""
_NAMED = 10
"""The most hosts or peers that a sentence names."""


_EARLY_S, _EARLY_SHARE = 1.0, 0.001
"""The most that a host's clock may be ahead of the coordinator's: wall seconds, and a share of trial time."""


class ControlError(Exception):
    """A host asked for something that does not fit the state of the trial."""


def listed(names: Sequence[object]) -> str:
    """Return names for a sentence: the first few, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(map(str, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")


class Coordinator:
    """The state of one trial. Times are unix ns on the coordinator's clock, given by the caller."""

    def __init__(self, spec: TrialSpec, plan: Plan, experiment: str, trial: str) -> None:
        """Raises ValueError for a spec of another runtime, and what `build_network` raises."""
        if not isinstance(spec.runtime, RealTime):
            raise ValueError(f"runtime.kind is {spec.runtime.kind!r}, which has no hosts")
        hosts = spec.runtime.hosts
        self.spec = spec
        self.runtime = spec.runtime
        self.trial = trial
        self.time_scale = spec.runtime.time_scale
        self.trace = spans.current()
        """The traceparent of the trial's span, which hosts put theirs below; "" if nothing is traced."""
        self.start_ns: int | None = None
        """The unix time of trial time 0, None until all hosts are ready."""
        self.stopping = False
        """This is true if the trial is to end early; the conductor sets it."""
        self.totals = LiveTotals()
        self.regions = LiveRegions(plan)
        self.killed: dict[tuple[int, int], control_pb2.Killed] = {}
        """The reports of the churn controller on sessions that end with their pods, by peer and session."""
        self._written: dict[tuple[str, int], Written] = {}
        self._plan = plan
        self._experiment = experiment
        self._network = network_of(spec, plan)
        self._hit = faults_hit(spec, plan)
        self._second = second_sides(spec, plan)
        self.host_of = [peer % hosts for peer in range(len(self._network.locations))]
        self.members = {
            f"host-{index}": Member(f"host-{index}", index, self.host_of.count(index))
            for index in range(hosts)
        }
        self._moves: list[control_pb2.Move] = []
        self._start: control_pb2.Start | None = None
        """The last answer to `start`, kept because thousands of hosts get the same one."""
        self._untold: set[str] = set()
        """The hosts that have not yet told a restarted coordinator which of their peers are up."""
        self._tracker = Tracker(stream(spec.seed, "bootstrap"))

    @property
    def pods_end_sessions(self) -> bool:
        """This is true if sessions end with their pods."""
        return isinstance(self.runtime, Kubernetes) and self.runtime.churn == "pods"

    def register(self, registration: control_pb2.Registration, at_ns: int) -> control_pb2.Assignment:
        """Register a host, also one that has come back, and return its part of the plan.

        Raises ControlError for an unknown host.
        """
        member = self._member(registration.host, at_ns)
        if member.address and registration.start != member.program:
            self._come_back(member, registration, at_ns)
        member.program = registration.start
        member.address = registration.address
        member.echo_address = registration.echo_address
        member.process_id = registration.process_id
        member.versions = dict(registration.versions)
        own = self.peers_of(member)
        assignment = control_pb2.Assignment(
            experiment=self._experiment,
            trial=self.trial,
            spec=spec_for_hosts(self.spec),
            host_index=member.index,
            host_of_peer=self.host_of,
            incarnation=member.incarnation,
            sessions_end_with_host=self.pods_end_sessions,
            came_back=bool(member.returns) and member.returns[-1] in self.restarts(member),
            trace=self.trace,
        )
        kind = self.spec.workload.kind
        put_script(assignment, script_of(self._plan, kind, self.spec.phases.end, own), kind)
        put_network(assignment, self._network, own)
        self.regions.put(assignment, own)
        sides = zip(self._hit, self._second, strict=True)
        assignment.faults.extend(control_pb2.Hit(peers=peers, second=second) for peers, second in sides)
        return assignment

    def has_finished(self, registration: control_pb2.Registration) -> bool:
        """Return whether this start of the host has taken part in the trial already."""
        member = self.members.get(registration.host)
        return member is not None and member.result is not None and member.program == registration.start

    def _come_back(self, member: Member, registration: control_pb2.Registration, at_ns: int) -> None:
        member.incarnation += 1
        member.ready = False
        member.result = None
        member.lost = ""
        member.before = Counter({name: member.count(name) for name in COUNTS})
        member.progress = control_pb2.HostProgress()
        self._forget_peers_of(member)
        if self.start_ns is None:
            return
        member.returns.append(self.trial_time(at_ns))
        self._moves.append(
            control_pb2.Move(
                host=member.index, address=registration.address, echo_address=registration.echo_address
            )
        )

    def ready(self, ready: control_pb2.Ready, at_ns: int) -> bool:
        """Note that a host is ready. Returns whether all are; then `start` tells when the trial starts."""
        member = self._member(ready.host, at_ns)
        member.ready = True
        member.clock_offset_start_ns = ready.clock_offset_ns
        if self.start_ns is None and all(m.ready for m in self.members.values()):
            echoes = all(m.echo_address for m in self.members.values())
            shortest, longest = _START_DELAY_NS
            delay = min(max(shortest, len(self.members) * _START_DELAY_OF_HOST_NS), longest)
            self.start_ns = at_ns + delay + echoes * _ECHO_DELAY_NS
        return self.start_ns is not None

    def start(self) -> control_pb2.Start:
        """Return when the trial starts. Raises ControlError before all hosts are ready."""
        if self.start_ns is None:
            raise ControlError("not all hosts are ready")
        if self._start is None or self._start.moves_known != len(self._moves):
            members = self.members.values()
            self._start = control_pb2.Start(
                addresses=[member.address for member in members],
                echo_addresses=[member.echo_address for member in members],
                start_unix_ns=self.start_ns,
                moves_known=len(self._moves),
            )
        return self._start

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

    def note_progress(self, progress: control_pb2.HostProgress, at_ns: int) -> control_pb2.ProgressReply:
        """Keep a host's progress, and return what the host has not heard yet.

        The report of a pod may come after its successor has registered. Then the coordinator keeps only what
        the pod wrote and why it ended.
        """
        member = self._member(progress.host, at_ns)
        self._note_written(progress.host, progress)
        if progress.error:
            member.errors.append((progress.error, self.trial_time(at_ns)))
        if progress.HasField("written") and progress.written.start != member.incarnation:
            return control_pb2.ProgressReply()
        self.totals.take(member.progress, progress)
        member.progress = progress
        if progress.tells_up:
            self._untold.discard(member.name)
            for peer in progress.up:
                self._tracker.add(peer)
        return control_pb2.ProgressReply(
            stop=self.stopping,
            moves=self._moves[progress.moves_known :],
            tell_up=member.name in self._untold,
        )

    def check_finish(self, result: control_pb2.HostFidelity, at_ns: int) -> None:
        """Check that a host's last word does not come before the trial's end by the coordinator's clock.

        A host may finish early if the trial is given up, or if the host reports an error. Raises ControlError
        otherwise.
        """
        if result.error or self.stopping:
            return
        at, end = self.trial_time(at_ns), self.spec.phases.end
        tolerance = _EARLY_S + _EARLY_SHARE * end * self.time_scale
        if self.start_ns is None or (end - at) * self.time_scale > tolerance:
            raise ControlError(f"{result.host} told its end of the trial at {at:.1f} of {end:.1f} s")

    def finish(self, result: control_pb2.HostFidelity, at_ns: int) -> None:
        """Keep what a host measured, which is its last word in the trial."""
        member = self._member(result.host, at_ns)
        self._note_written(result.host, result)
        member.result = result

    def note_killed(self, killed: control_pb2.Killed, at_ns: int) -> None:
        """Keep when a session ended with its pod."""
        self._note_written(CONTROLLER, killed)
        self.killed.setdefault((killed.peer, killed.session), killed)

    def written(self) -> list[Written]:
        """Return what each start of a host, and the churn controller, told of its telemetry, or zeros."""
        starts = [(m.name, start) for m in self.members.values() for start in m.starts]
        nothing = {key: Written(*key, 0, 0, 0, 0, last_word=False) for key in starts}
        return [told for _, told in sorted((nothing | self._written).items())]

    def _note_written(
        self, host: str, told: control_pb2.HostProgress | control_pb2.HostFidelity | control_pb2.Killed
    ) -> None:
        """Keep what a start told of its telemetry, unless the same start has told more already."""
        if not told.HasField("written"):
            return
        counts = told.written
        written = Written(
            host,
            counts.start,
            counts.spans,
            counts.points,
            counts.lost_spans,
            counts.lost_points,
            counts.last_word,
        )
        before = self._written.setdefault((host, counts.start), written)
        if (written.last_word, written.spans, written.points) >= (
            before.last_word,
            before.spans,
            before.points,
        ):
            self._written[host, counts.start] = written

    def churn_plan(self) -> control_pb2.ChurnPlan:
        """Return the kills that the churn controller has not reported yet.

        Raises ControlError before the start.
        """
        if self.start_ns is None:
            raise ControlError("the trial has not started")
        plan = control_pb2.ChurnPlan(
            experiment=self._experiment,
            trial=self.trial,
            seed=self.spec.seed,
            start_unix_ns=self.start_ns,
            time_scale=self.time_scale,
            end_s=self.spec.phases.end,
            trace=self.trace,
        )
        plan.kills.extend(kill for kill in self.kills if (kill.peer, kill.session) not in self.killed)
        return plan

    @cached_property
    def kills(self) -> Sequence[control_pb2.Kill]:
        """The sessions that end with their pods before the trial's end, by time."""
        if not self.pods_end_sessions:
            return ()
        return planned_kills(self._plan, self.host_of, self.spec.phases.end)

    @cached_property
    def killed_sessions(self) -> frozenset[tuple[int, int]]:
        """The (peer, session) of each of the kills."""
        return frozenset((kill.peer, kill.session) for kill in self.kills)

    @cached_property
    def _kills_of(self) -> Mapping[str, Sequence[float]]:
        """The trial times (s) at which sessions end with a pod in the plan, ascending, by the pod's host."""
        times: dict[str, list[float]] = {}
        for kill in self.kills:
            times.setdefault(kill.host, []).append(kill.at_s)
        return times

    @property
    def operations(self) -> int:
        """The number of operations that the plan has."""
        return operations_of(self._plan, self.spec.workload.kind)

    @property
    def link_seconds(self) -> list[list[float]]:
        """The seconds for which the peers of each class of links are up by the plan, in each interval of the
        time series."""
        return link_seconds(self.spec, self._plan)

    def peers_of(self, member: Member) -> list[int]:
        """Return the peers that run on a host."""
        return [peer for peer, host in enumerate(self.host_of) if host == member.index]

    def restarts(self, member: Member) -> list[float]:
        """Return the trial times at which the host came back without a session's end before."""
        if not member.returns:
            return []
        ends = list(self._kills_of.get(member.name, ()))
        unplanned = []
        for at in member.returns:
            before = [end for end in ends if end <= at]
            if before:
                ends.remove(before[-1])
            else:
                unplanned.append(at)
        return unplanned

    def lose(self, name: str, why: str) -> None:
        """Note that a host is gone. The tracker no longer gives its peers as contacts."""
        member = self.members[name]
        if member.result is None and not member.lost:
            member.lost = why
            self._forget_peers_of(member)

    def resume(self, at_ns: int) -> None:
        """Prepare to go on in a new program: no host counts as silent, and no peer is known to be up."""
        for member in self.members.values():
            member.heard_ns = at_ns
        self._untold = set(self.members)

    @property
    def awaits_kills(self) -> bool:
        """This is true if the churn controller has yet to tell of a session that ends with its pod."""
        return any((kill.peer, kill.session) not in self.killed for kill in self.kills)

    @property
    def over(self) -> bool:
        """This is true if every host has finished or is lost."""
        return all(member.result is not None or member.lost for member in self.members.values())

    def trial_time(self, at_ns: int) -> float:
        """Return the trial time in seconds, 0 before the start."""
        return 0.0 if self.start_ns is None else max((at_ns - self.start_ns) * 1e-9 / self.time_scale, 0.0)

    def progress(self, at_ns: int) -> Progress:
        """Return the progress of the whole trial, summed over its hosts."""
        phases, now = self.spec.phases, self.trial_time(at_ns)
        members = self.members.values()
        live = [member for member in members if not member.lost]
        return Progress(
            phase=phases.at(now),
            trial_time=min(now, phases.end),
            trial_end=phases.end,
            peers_up=sum(member.progress.peers_up for member in live),
            asked=sum(member.count("asked") for member in members),
            delivered=sum(member.count("delivered") for member in members),
            words=self.spec.workload.kind.words,
            messages=sum(member.count("sent") for member in members),
            hosts_lost=len(members) - len(live),
        )

    def _member(self, name: str, at_ns: int) -> Member:
        member = self.members.get(name)
        if member is None:
            raise ControlError(f"no host {name!r} in this trial, only host-0 to host-{len(self.members) - 1}")
        member.heard_ns = at_ns
        return member

    def _forget_peers_of(self, member: Member) -> None:
        for peer in [peer for peer in self._tracker if self.host_of[peer] == member.index]:
            self._tracker.remove(peer)
