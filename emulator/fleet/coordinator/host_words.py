"""Checks of what hosts say: a host speaks of its own peers alone, and of figures that can have been measured.

A host that says anything else is refused, so that its words neither move the peers of another host nor end
the verdict over the trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from emulator.compact.durations import Distribution
from emulator.fleet.coordinator.coordinator import ControlError, Coordinator
from emulator.messages.message import KINDS
from emulator.runtime.live_histograms import BOUNDS
from trellis.v1 import control_pb2

_LONGEST = 4000
"""The most characters of a host's words that are kept."""
_MOST = 1e15
"""The limit of an amount in a report; sums of all hosts stay finite."""


def check_peers(coordinator: Coordinator, host: str, peers: Iterable[int]) -> None:
    """Check that these peers run on this host. Raises ControlError otherwise."""
    member, host_of = coordinator.members.get(host), coordinator.host_of
    for peer in peers:
        if member is None or peer >= len(host_of) or host_of[peer] != member.index:
            raise ControlError(f"{host} speaks for peer {peer}, which does not run there")


def check_result(coordinator: Coordinator, result: control_pb2.HostFidelity) -> None:
    """Check the figures of a host's last word. Raises ControlError that names those that cannot be."""
    spec = coordinator.spec
    amounts = {"loop_stall_s": result.loop_stall_s, "cpu_s": result.cpu_s}
    uses = list(_uses(result))
    amounts |= {f"the busy time of {name}": use.busy_s for name, use in uses}
    amounts |= {f"the bits of {name}": use.busy_bits for name, use in uses}
    amounts |= {f"the busy time of peers of class {n}": t.busy_s for n, t in enumerate(result.processing)}
    wrong = [f"{name} is {value}" for name, value in amounts.items() if not 0 <= value < math.inf]
    distributions = [(name, getattr(result, name)) for name in ("timer_lateness", "session_error")]
    distributions += [(f"the waits at {name}", use.waits) for name, use in uses]
    for name, told in distributions:
        if len(told.buckets) != len(told.counts):
            wrong.append(f"{name} has {len(told.buckets)} buckets, but {len(told.counts)} counts")
        elif not Distribution(zip(told.buckets, told.counts, strict=True), told.maximum_s).is_sound():
            wrong.append(f"the maximum of {name}, {told.maximum_s} s, is not in its last bucket")
    bandwidth = spec.network.bandwidth
    links = 0 if bandwidth is None else 2 * len(bandwidth.all_classes())
    if len(result.links) not in (0, links):
        wrong.append(f"it told of {len(result.links)} sorts of links, but there are {links}")
    classes = 0 if spec.processing is None else len(spec.processing.times_ns())
    if len(result.processing) not in (0, classes):
        wrong.append(f"it told of {len(result.processing)} classes of peers, but there are {classes}")
    most = len(spec.intervals()) - 1
    for index, use in enumerate(result.links):
        if len(use.past) > most or any(past.past for past in use.past):
            wrong.append(f"links {index} have more intervals than the time series")
    hosts = len(coordinator.members)
    strangers = {probe.sending_host for probe in result.probes if probe.sending_host >= hosts}
    wrong += [f"a probe came from host {index}, but there are {hosts}" for index in sorted(strangers)[:3]]
    for times in result.faults:
        if times.fault >= len(spec.windows):
            wrong.append(f"it told of fault {times.fault}, but there are {len(spec.windows)}")
        elif not all(math.isfinite(at) for at in (times.begun_s, times.ended_s)):
            wrong.append(f"fault {times.fault} began or ended at no time")
        if len(times.rates) not in (0, 2):
            wrong.append(f"fault {times.fault} has rates in {len(times.rates)} directions")
    if wrong:
        raise ControlError(f"{result.host} told what nobody can have measured: {'; '.join(wrong)}")


def check_progress(progress: control_pb2.HostProgress, regions: int) -> None:
    """Check the figures of a host's report in a trial with so many regions that have series.

    Raises ControlError that names those that cannot be.
    """
    amounts = {"timer_lateness_max_s": progress.timer_lateness_max_s, "cpu_s": progress.cpu_s}
    wrong = []
    for name, bounds in BOUNDS.items():
        told: control_pb2.Histogram = getattr(progress, name)
        amounts[f"the sum of {name}"] = told.sum
        if len(told.counts) not in (0, len(bounds) + 1):
            wrong.append(f"{name} has {len(told.counts)} counts, but there are {len(bounds) + 1}")
        if not all(_is_sound(exemplar, bounds) for exemplar in told.exemplars):
            wrong.append(f"{name} has an exemplar that nothing was counted for")
    amounts |= {f"the messages of kind {kind!r:.40}": sent for kind, sent in progress.sent_of_kind.items()}
    for name in ("delivered_in_region", "up_in_region"):
        counts = getattr(progress, name)
        amounts |= {f"{name} {number}": count for number, count in enumerate(counts[:regions])}
        if len(counts) not in (0, regions):
            wrong.append(f"{name} has {len(counts)} counts, but there are {regions} regions")
    strange = sorted(set(progress.sent_of_kind) - set(KINDS))
    wrong += [f"{kind!r:.40} is no kind of messages" for kind in strange[:3]]
    wrong += [f"{name} is {value}" for name, value in amounts.items() if not 0 <= value < _MOST]
    if wrong:
        raise ControlError(f"{progress.host} told what nobody can have measured: {'; '.join(wrong)}")


def _uses(result: control_pb2.HostFidelity) -> Iterator[tuple[str, control_pb2.LinkUse]]:
    """Yield the use of links that a host told of, with words for what it is."""
    for index, use in enumerate(result.links):
        yield f"links {index}", use
        for number, past in enumerate(use.past):
            yield f"links {index} in interval {number}", past
    for times in result.faults:
        for way, use in enumerate(times.rates):
            yield f"links {way} in fault {times.fault}", use


def printable(text: str) -> str:
    """Return what a host said as one line of at most 4,000 characters that a terminal can show.

    Line breaks would forge lines of logs, and control characters change what a terminal shows.
    """
    line = "".join(character if character.isprintable() else " " for character in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def check_killed(coordinator: Coordinator, killed: control_pb2.Killed) -> None:
    """Check that the plan ends this session with its pod. Raises ControlError otherwise."""
    if (killed.peer, killed.session) not in coordinator.killed_sessions:
        session = f"session {killed.session} of peer {killed.peer}"
        raise ControlError(f"the plan does not end {session} with its pod")


def _is_sound(exemplar: control_pb2.Exemplar, bounds: Sequence[float]) -> bool:
    """Return whether an exemplar is of one of the bounds, and was counted in a trace at some time."""
    known = exemplar.bound <= len(bounds) and len(exemplar.trace_id) == 16
    return known and 0 <= exemplar.value < _MOST and 0 <= exemplar.at_s < _MOST
