"""Tells what holds a trial up: hosts that are not ready, silent or slow, and words that are still to come."""

from __future__ import annotations

from emulator.fleet.coordinator.coordinator import Coordinator, listed

_QUIET_S = 10.0
"""A host that has said nothing for this many wall seconds is told; hosts report at least every 5 s."""


def hold_up(coordinator: Coordinator, at_ns: int) -> str:
    """Return what holds the trial up at this unix time, in a sentence, or "" if nothing does."""
    if coordinator.start_ns is None:
        return _not_ready(coordinator)
    late = (coordinator.trial_time(at_ns) - coordinator.spec.phases.end) * coordinator.time_scale
    if late >= 0:
        return _untold(coordinator)
    return "; ".join(filter(None, (_silent(coordinator, at_ns), _slowest(coordinator))))


def _not_ready(coordinator: Coordinator) -> str:
    members = coordinator.members.values()
    absent = [member.name for member in members if not member.address]
    coming = [member.name for member in members if member.address and not member.ready]
    parts = [f"{listed(absent)} not here yet"] * bool(absent) + [f"{listed(coming)} not ready"] * bool(coming)
    return f"{len(members) - len(absent) - len(coming)} of {len(members)} hosts are ready; " + ", ".join(
        parts
    )


def _silent(coordinator: Coordinator, at_ns: int) -> str:
    """Name the hosts that say nothing, with the longest silence in wall seconds."""
    start = coordinator.start_ns or 0  # a host that waits for the start has nothing to say
    silences = {
        member.name: (at_ns - max(member.heard_ns, start)) * 1e-9
        for member in coordinator.members.values()
        if member.result is None and not member.lost
    }
    quiet = [name for name, seconds in silences.items() if seconds > _QUIET_S]
    longest = max(silences.values(), default=0.0)
    return f"no word from {listed(quiet)} for up to {longest:.0f} s" if quiet else ""


def _slowest(coordinator: Coordinator) -> str:
    """Name the host whose timers were latest, if the latest are later than 99 % of them may be."""
    live = [member for member in coordinator.members.values() if not member.lost]
    slowest = max(live, key=lambda member: member.progress.timer_lateness_max_s, default=None)
    if slowest is None:
        return ""
    late_s = slowest.progress.timer_lateness_max_s / coordinator.time_scale
    if late_s <= coordinator.spec.fidelity.timer_lateness_p99:
        return ""
    return f"{slowest.name} is the slowest host, with timers up to {late_s * 1000:.0f} ms late"


def _untold(coordinator: Coordinator) -> str:
    members = coordinator.members.values()
    if missing := [member.name for member in members if member.result is None and not member.lost]:
        return f"the trial's time is over; {listed(missing)} still to tell what they measured"
    return "the churn controller has still to tell of its last deletions" if coordinator.awaits_kills else ""
