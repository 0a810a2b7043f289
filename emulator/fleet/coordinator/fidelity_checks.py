"""The verdict of the coordinator over a trial, `Fidelity`, from what hosts measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from emulator.compact.durations import Distribution
from emulator.experiment.run.fidelity import (
    Check,
    Fidelity,
    HostReport,
    allowed,
    crossings_check,
)
from emulator.files.input_facts import counted
from emulator.fleet.coordinator.coordinator import CONTROLLER, Coordinator, listed
from emulator.fleet.coordinator.fault_reports import fault_reports
from emulator.fleet.coordinator.host_words import printable
from emulator.fleet.coordinator.link_reports import rate_checks, reports_of_links
from emulator.fleet.coordinator.members import Member
from emulator.fleet.coordinator.processing_reports import processing_reports
from emulator.fleet.host.kernel_rates import KERNEL
from emulator.fleet.host.stop_signals import WORD
from emulator.runtime.breaches import contract_check, is_checked
from trellis.v1 import control_pb2

_KNOWN_TO_COORDINATOR = (
    "hosts lost",
    "hosts restarted",
    "hosts with an error",
    "hosts of another version",
    "trial ended early",
    "lost spans",
    "sessions that outlived their pods' deletion",
)


def judge(coordinator: Coordinator, versions: dict[str, str], early_end: str = "") -> Fidelity:
    """Judge a trial that is over.

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
    missed = sum(result.operations_missed for result in results)
    stall = max((result.loop_stall_s for result in results), default=None)
    scale = coordinator.time_scale

    stopped = [m.name for m in members if WORD in m.lost or (m.result and WORD in m.result.error)]
    slow = f"{listed(stopped)} {WORD}" if stopped else "the machine is too slow for this many peers"

    def in_time(name: str, wall_s: float | None, limit_s: float, detail: str) -> Check:
        if wall_s is None:
            return Check(name, None, _ms(limit_s), "ms", detail)
        if scale != 1:
            detail += f"; {_ms(wall_s):g} ms of wall time"
        return Check(name, _ms(wall_s / scale), _ms(limit_s), "ms", detail)

    checks = [
        allowed(
            "hosts lost",
            len(lost),
            "hosts_lost",
            limits.hosts_lost,
            len(members),
            "hosts",
            [_describe(coordinator, member) for member in lost],
        ),
        allowed(
            "hosts restarted",
            len(back),
            "hosts_restarted",
            limits.hosts_restarted,
            len(members),
            "hosts",
            [_restarts(coordinator, member) for member in back],
        ),
        Check("hosts with an error", len(failed), 0, "hosts", "; ".join(f"{m.name}: {e}" for m, e in failed)),
        Check("hosts of another version", len(strangers), 0, "hosts", ", ".join(m.name for m in strangers)),
        Check("trial ended early", float(bool(early_end)), 0, "times", early_end),
        in_time(
            "timer lateness, 99th percentile",
            _quantile(lateness, 0.99),
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
            _quantile(delays, 0.99),
            limits.delay_error_p99,
            f"{len(delays)} probes{_without_probes(results)}",
        ),
        in_time(
            "join and leave time error, 99th percentile",
            _quantile(sessions, 0.99),
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
            _quantile(_echo_errors(results), 0.99),
            limits.round_trip_error_p99,
            "UDP echoes between pods, before and after the trial",
        ),
        _lost_spans(coordinator),
        Check("sessions that outlived their pods' deletion", len(alive), 0, "sessions", listed(alive)),
        allowed(
            "operations missed",
            missed,
            "operations_missed",
            limits.operations_missed,
            coordinator.operations,
            "operations",
            ["their peers were not up"],
        ),
    ]
    faults = fault_reports(coordinator)
    if faults:
        late = max((each.error_s for each in faults if each.error_s is not None), default=None)
        wall = None if late is None else late * scale
        detail = f"begin and end of {listed([*dict.fromkeys(each.name for each in faults)])}"
        checks.append(in_time("fault time error, longest", wall, limits.fault_error, detail))
    if any(fault.partition for fault in coordinator.spec.faults):
        checks.append(crossings_check(faults))
    links = reports_of_links(results, coordinator)
    checks += rate_checks(links, faults, limits.rate_error)
    broken: Counter[str] = Counter()
    drops: Counter[str] = Counter()
    for result in results:
        broken.update(dict(result.breaches))
        drops.update(dict(result.protocol_drops))
    if is_checked(coordinator.spec) or broken:
        checks.append(contract_check(broken))
    measured = {
        "time_scale": scale,
        **_spread("timer_lateness", lateness, scale),
        **_spread("delay_error", delays, scale),
        **_spread("session_error", sessions, scale),
        "probes": float(len(delays)),
        "messages": float(sum(result.sent for result in results)),
        "messages_between_hosts": float(sum(result.sent_to_other_hosts for result in results)),
        "messages_bounced": float(sum(result.bounced for result in results)),
        "messages_given_up": float(sum(result.given_up for result in results)),
        "host_cpu_max_share": max((result.cpu_s for result in results), default=0.0) / _wall(coordinator),
        "hosts_memory_bytes": float(sum(result.memory_bytes for result in results)),
    }
    measured["messages_per_s"] = measured["messages"] / _wall(coordinator)
    measured |= _echoes(results, scale) | _kills(coordinator)
    enforced_by = _together(result.enforced_by for result in results) or "nothing"
    hosts = [_report(coordinator, member) for member in members]
    checks = _by_those_that_told(checks, coordinator) + _last_words(coordinator)
    checks = [replace(check, detail=printable(check.detail)) for check in checks]
    written = coordinator.written()
    return Fidelity(
        coordinator.runtime.kind,
        enforced_by,
        checks,
        hosts,
        measured,
        written,
        dict(drops),
        faults,
        links,
        processing_reports(coordinator),
        _together(result.netem_refused for result in results),
        _together(result.rates_enforced_by for result in results),
        _together(result.rates_refused for result in results),
    )


def _together(words: Iterable[str]) -> str:
    """Return the different words of hosts."""
    return printable(", ".join(sorted({each for each in words if each})))


def _without_probes(results: Sequence[control_pb2.HostFidelity]) -> str:
    """Return why hosts sent no probes, if some did not."""
    by_kernel = any(result.rates_enforced_by == KERNEL for result in results)
    return "; they would wait in links that the kernel limits" if by_kernel else ""


def _by_those_that_told(checks: list[Check], coordinator: Coordinator) -> list[Check]:
    """Say in each check that hosts measure how many of them told; each tells of its last start alone."""
    members = coordinator.members.values()
    told = sum(member.result is not None for member in members)
    by = f"{told} of {len(members)} hosts"
    if any(member.returns for member in members):
        by = f"the last starts of {by}"
    elif told == len(members):
        return checks
    return [
        check if check.name in _KNOWN_TO_COORDINATOR or check.measured is None else replace(check, told_by=by)
        for check in checks
    ]


def _lost_spans(coordinator: Coordinator) -> Check:
    """Count the lost spans of all starts of hosts that told of them."""
    members = coordinator.members.values()
    finished = {(m.name, m.incarnation): m.result.lost_spans for m in members if m.result is not None}
    others = {(told.host, told.start): told for told in coordinator.written()}
    others = {key: told for key, told in others.items() if key not in finished}
    starts = sum(len(member.starts) for member in members)
    known = len(finished) + sum(told.last_word for told in others.values() if told.host != CONTROLLER)
    return Check(
        "lost spans",
        sum(finished.values()) + sum(told.lost_spans for told in others.values()),
        coordinator.spec.fidelity.lost_spans,
        "spans",
        "telemetry could not be written",
        "" if known == starts else f"{known} of {starts} starts of hosts",
    )


def _last_words(coordinator: Coordinator) -> list[Check]:
    """Count pods that were deleted by plan and did not tell what they wrote, so spans may be missing."""
    if not coordinator.pods_end_sessions:
        return []
    silent = [
        f"{told.host}, start {told.start}"
        for told in coordinator.written()
        if not told.last_word
        and (member := coordinator.members.get(told.host))
        and told.start < member.incarnation
        and not coordinator.restarts(member)
    ]
    detail = f"{listed(silent)}: what they wrote last is not known" if silent else ""
    return [Check("deleted pods without a last word", len(silent), 0, "starts of hosts", detail)]


def _quantile(distribution: Distribution, share: float) -> float | None:
    return distribution.quantile(share) if len(distribution) else None


def _spread(name: str, errors: Distribution, scale: float) -> dict[str, float]:
    """Return the median and the maximum, or nothing if there are no values."""
    if not len(errors):
        return {}
    return {
        f"{name}_p50_ms": _ms(errors.quantile(0.5) / scale),
        f"{name}_max_ms": _ms(errors.maximum / scale),
    }


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
    """Return the absolute differences of achieved and requested one-way delay of the probes, in wall seconds.

    A host counts trial time by the clock offset of its registration; the change of the offset since then is
    taken as linear over the trial.
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
    """Return the absolute differences between measured round trips and those of the matrix."""
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
        **_spread("round_trip_error", errors, scale),
    }


def _kills(coordinator: Coordinator) -> dict[str, float]:
    """Return how late deletions of pods were asked for, and how late the pods were gone, in wall seconds.

    Wall time is used because the time that Kubernetes takes does not stretch with the trial.
    """
    planned = {(kill.peer, kill.session): kill.at_s for kill in coordinator.kills}
    if not planned:
        return {}
    asked, gone = Distribution(), Distribution()
    for key, killed in coordinator.killed.items():
        if killed.gone_s >= 0:
            asked.add((killed.requested_s - planned[key]) * coordinator.time_scale)
            gone.add((killed.gone_s - planned[key]) * coordinator.time_scale)
    if not len(gone):
        return {"pods_deleted": 0.0}
    return {
        "pods_deleted": float(len(gone)),
        "pod_deletion_asked_p99_ms": _ms(asked.quantile(0.99)),
        "pod_gone_p50_ms": _ms(gone.quantile(0.5)),
        "pod_gone_p99_ms": _ms(gone.quantile(0.99)),
        "pod_gone_max_ms": _ms(gone.maximum),
    }


def _not_killed(coordinator: Coordinator) -> list[str]:
    """Return the sessions that did not end with their pods as planned, each with the reason."""
    faults = []
    for kill in coordinator.kills:
        killed = coordinator.killed.get((kill.peer, kill.session))
        if killed is None or killed.gone_s < 0:
            why = killed.error if killed is not None else "the churn controller told nothing"
            faults.append(f"peer {kill.peer} at {kill.at_s:.1f} s: {why}")
    return faults


def _restarts(coordinator: Coordinator, member: Member) -> str:
    peers = coordinator.peers_of(member)
    times = " and ".join(f"{at:.1f} s" for at in coordinator.restarts(member))
    who = f"{member.name} with peer{'s' if len(peers) > 1 else ''} {listed(peers)}"
    return f"{who} came back at {times}{_said(member)}"


def _describe(coordinator: Coordinator, member: Member) -> str:
    at = coordinator.trial_time(member.heard_ns)
    who = f"{member.name} with {counted(member.peers, 'peer')}, last heard at {at:.1f} s"
    return f"{who}: {member.lost}{_said(member)}"


def _said(member: Member) -> str:
    """Return what the host's program said of its own end, and what the cluster says of it."""
    errors = [f"{error}, at {at:.1f} s" for error, at in member.errors if error not in member.lost]
    said = f" (it said: {listed(errors)})" if errors else ""
    return f"{said}; {member.ending}" if member.ending else said


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
