"""What the coordinator makes of the hosts' measurements: `Fidelity`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from emulator.experiment.fidelity import Check, Fidelity, HostReport
from emulator.fleet.coordinator import Coordinator, Member, listed
from emulator.fleet.stops import WORD
from emulator.runtime.distribution import Distribution
from trellis.v1 import control_pb2

_NAMED = 10
"""Peers that a reason names."""


def judge(coordinator: Coordinator, versions: dict[str, str], early_end: str = "") -> Fidelity:
    """The verdict over a trial that is over.

    Limits are durations of the experiment, so lateness, stalls and errors are compared in trial time: what
    was late by 30 ms while a trial second took ten is late by 3 ms for its peers.

    `versions` are the coordinator's own, `early_end` says why the trial ended before its time, if so.
    """
    members = list(coordinator.members.values())
    results = [member.result for member in members if member.result is not None]
    limits = coordinator.spec.fidelity
    lateness = _merged(result.timer_lateness for result in results)
    sessions = _merged(result.session_error for result in results)
    delays = _delay_errors(coordinator)
    dropped: Counter[str] = Counter()
    for result in results:
        dropped.update(dict(result.dropped))
    lost = [member for member in members if member.lost]
    back = [member for member in members if coordinator.restarts(member)]
    alive = _not_killed(coordinator)
    failed = [(member, member.result.error) for member in members if member.result and member.result.error]
    strangers = [member for member in members if member.address and member.versions != versions]
    lost_spans = sum(result.lost_spans for result in results)
    missed = sum(result.operations_missed for result in results)
    stall = max((result.loop_stall_s for result in results), default=0.0)
    scale = coordinator.time_scale

    stopped = [m.name for m in members if WORD in m.lost or (m.result and WORD in m.result.error)]
    slow = f"{listed(stopped)} {WORD}" if stopped else "the machine is too slow for this many peers"

    def in_time(name: str, wall_s: float, limit_s: float, detail: str) -> Check:
        if scale != 1:
            detail += f"; {_ms(wall_s):g} ms of wall time"
        return Check(name, _ms(wall_s / scale), _ms(limit_s), "ms", detail)

    checks = [
        Check("hosts lost", len(lost), 0, "hosts", "; ".join(_describe(coordinator, m) for m in lost)),
        Check(
            "hosts restarted",
            len(back),
            0,
            "hosts",
            "; ".join(_restarts(coordinator, member) for member in back),
        ),
        Check("hosts with an error", len(failed), 0, "hosts", "; ".join(f"{m.name}: {e}" for m, e in failed)),
        Check("hosts of another version", len(strangers), 0, "hosts", ", ".join(m.name for m in strangers)),
        Check("trial ended early", float(bool(early_end)), 0, "times", early_end),
        in_time(
            "timer lateness, 99th percentile",
            lateness.quantile(0.99),
            limits.timer_lateness_p99,
            f"{slow}: fewer peers, more cores or a larger time_scale" if not stopped else slow,
        ),
        in_time(
            "event-loop stall, longest",
            stall,
            limits.loop_stall,
            f"{slow}, or a handler computes for too long" if not stopped else slow,
        ),
        in_time(
            "one-way delay error, 99th percentile",
            delays.quantile(0.99),
            limits.delay_error_p99,
            f"{len(delays)} probes",
        ),
        in_time(
            "join and leave time error, 99th percentile",
            sessions.quantile(0.99),
            limits.session_error_p99,
            f"{len(sessions)} joins and leaves",
        ),
        Check(
            "dropped envelopes",
            dropped.total(),
            limits.dropped_envelopes,
            "envelopes",
            ", ".join(f"{count} {cause}" for cause, count in sorted(dropped.items())),
        ),
        in_time(
            "round trip error, 99th percentile",
            _echo_errors(results).quantile(0.99),
            limits.round_trip_error_p99,
            "UDP echoes between pods, before and after the trial",
        ),
        Check("lost spans", lost_spans, limits.lost_spans, "spans", "telemetry could not be written"),
        Check("sessions that outlived their pods' deletion", len(alive), 0, "sessions", listed(alive)),
        Check("operations missed", missed, 0, "operations", "their peers were not up"),
    ]
    measured = {
        "time_scale": scale,
        "timer_lateness_p50_ms": _ms(lateness.quantile(0.5) / scale),
        "timer_lateness_max_ms": _ms(lateness.maximum / scale),
        "delay_error_p50_ms": _ms(delays.quantile(0.5) / scale),
        "delay_error_max_ms": _ms(delays.maximum / scale),
        "session_error_p50_ms": _ms(sessions.quantile(0.5) / scale),
        "session_error_max_ms": _ms(sessions.maximum / scale),
        "probes": float(len(delays)),
        "messages": float(sum(result.sent for result in results)),
        "messages_between_hosts": float(sum(result.sent_to_other_hosts for result in results)),
        "messages_bounced": float(sum(result.bounced for result in results)),
        "host_cpu_max_share": max((result.cpu_s for result in results), default=0.0) / _wall(coordinator),
        "hosts_memory_bytes": float(sum(result.memory_bytes for result in results)),
    }
    measured["messages_per_s"] = measured["messages"] / _wall(coordinator)
    measured |= _echoes(results, scale) | _kills(coordinator)
    enforced_by = ", ".join(sorted({result.enforced_by for result in results})) or "nothing"
    hosts = [_report(coordinator, member) for member in members]
    return Fidelity(coordinator.runtime.kind, enforced_by, checks, hosts, measured)


def _wall(coordinator: Coordinator) -> float:
    return coordinator.spec.phases.end * coordinator.time_scale


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _merged(parts: Iterable[control_pb2.Distribution]) -> Distribution:
    whole = Distribution()
    for part in parts:
        whole.merge(Distribution(zip(part.buckets, part.counts, strict=True), part.maximum_s))
    return whole


def _delay_errors(coordinator: Coordinator) -> Distribution:
    """Achieved less requested one-way delay of the probes, without sign, in wall seconds.

    Hosts begin trial time by their clock offset at registration; its change since then is taken as
    linear over the trial.
    """
    members = list(coordinator.members.values())
    end = max(coordinator.spec.phases.end, 1e-9)
    drift = [
        (member.result.clock_offset_ns - member.clock_offset_start_ns) / end if member.result else 0.0
        for member in members
    ]
    scale = coordinator.time_scale
    errors = Distribution()
    for member in members:
        for probe in member.result.probes if member.result is not None else ():
            late_ns = (probe.received_ns - probe.due_ns) * scale
            slide_ns = (drift[member.index] - drift[probe.sending_host]) * probe.sent_ns * 1e-9
            errors.add(abs(late_ns - slide_ns) * 1e-9)
    return errors


def _echo_errors(results: Sequence[control_pb2.HostFidelity]) -> Distribution:
    """Round trips against the matrix, without sign."""
    errors = Distribution()
    for result in results:
        for echo in result.echoes:
            if echo.round_trip_ns:
                errors.add(abs(echo.round_trip_ns - echo.expected_ns) * 1e-9)
    return errors


def _echoes(results: Sequence[control_pb2.HostFidelity], scale: float) -> dict[str, float]:
    errors = _echo_errors(results)
    if not (asked := sum(len(result.echoes) for result in results)):
        return {}
    return {
        "echoes": float(asked),
        "echoes_unanswered": float(asked - len(errors)),
        "round_trip_error_p50_ms": _ms(errors.quantile(0.5) / scale),
        "round_trip_error_max_ms": _ms(errors.maximum / scale),
    }


def _kills(coordinator: Coordinator) -> dict[str, float]:
    """Of sessions that end with their pods: how late that was asked for, and when the pods were gone.

    In wall time, since what Kubernetes takes does not stretch with the trial.
    """
    planned = {(kill.peer, kill.session): kill.at_s for kill in coordinator.kills()}
    if not planned:
        return {}
    asked, gone = Distribution(), Distribution()
    for key, killed in coordinator.killed.items():
        if killed.gone_s >= 0:
            asked.add((killed.requested_s - planned[key]) * coordinator.time_scale)
            gone.add((killed.gone_s - planned[key]) * coordinator.time_scale)
    return {
        "pods_deleted": float(len(gone)),
        "pod_deletion_asked_p99_ms": _ms(asked.quantile(0.99)),
        "pod_gone_p50_ms": _ms(gone.quantile(0.5)),
        "pod_gone_p99_ms": _ms(gone.quantile(0.99)),
        "pod_gone_max_ms": _ms(gone.maximum),
    }


def _not_killed(coordinator: Coordinator) -> list[str]:
    """Sessions that did not end with their pods as planned, and why."""
    faults = []
    for kill in coordinator.kills():
        killed = coordinator.killed.get((kill.peer, kill.session))
        if killed is None or killed.gone_s < 0:
            why = killed.error if killed is not None else "the churn controller told nothing"
            faults.append(f"peer {kill.peer} at {kill.at_s:.1f} s: {why}")
    return faults


def _restarts(coordinator: Coordinator, member: Member) -> str:
    peers = coordinator.peers_of(member)
    times = " and ".join(f"{at:.1f} s" for at in coordinator.restarts(member))
    return f"{member.name} with peer{'s' if len(peers) > 1 else ''} {listed(peers)} came back at {times}"


def _describe(coordinator: Coordinator, member: Member) -> str:
    at = coordinator.trial_time(member.heard_ns)
    return f"{member.name} with {member.peers} peers, last heard at {at:.1f} s: {member.lost}"


def _report(coordinator: Coordinator, member: Member) -> HostReport:
    result = member.result
    return HostReport(
        host=member.name,
        peers=member.peers,
        clock_offset_start_ns=member.clock_offset_start_ns,
        clock_offset_end_ns=result.clock_offset_ns if result else member.clock_offset_start_ns,
        state="lost" if member.lost else "restarted" if coordinator.restarts(member) else "finished",
        lost_at_s=coordinator.trial_time(member.heard_ns) if member.lost else None,
    )
