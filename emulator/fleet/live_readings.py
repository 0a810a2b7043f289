"""The state of a trial as Prometheus reads it."""

from __future__ import annotations

from collections import Counter

from emulator.fleet.coordinator import Coordinator, Member
from emulator.fleet.live_metrics import Reading
from emulator.runtime.clock import unix_ns


def readings(coordinator: Coordinator | None) -> list[Reading]:
    """Of the trial that is on, if any."""
    if coordinator is None:
        return []
    members = list(coordinator.members.values())
    told = [member.progress for member in members]
    return [
        Reading(
            trial=coordinator.trial,
            system=coordinator.spec.system.name,
            state="starting" if coordinator.start_ns is None else "running",
            time_s=min(coordinator.trial_time(unix_ns()), coordinator.spec.phases.end),
            end_s=coordinator.spec.phases.end,
            peers_up=sum(progress.peers_up for progress in told),
            joined=sum(progress.joined for progress in told),
            published=sum(progress.published for progress in told),
            delivered=sum(progress.delivered for progress in told),
            lookups=sum(progress.lookups for progress in told),
            sent=sum(progress.sent for progress in told),
            dropped=sum(progress.dropped for progress in told),
            lost_spans=sum(progress.lost_spans for progress in told),
            timer_lateness_max_s=max((progress.timer_lateness_max_s for progress in told), default=0.0),
            hosts=Counter(_state(member) for member in members),
        )
    ]


def _state(member: Member) -> str:
    if member.lost:
        return "lost"
    if member.result is not None:
        return "finished"
    if not member.ready:
        return "starting"
    return "restarted" if member.incarnation else "ready"
