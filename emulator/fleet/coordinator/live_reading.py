"""Sums over the hosts of a running trial, made from the coordinator's state for the live metrics."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from itertools import zip_longest

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.live_metrics import HostReading, Reading
from emulator.fleet.coordinator.members import COUNTS, Member

MOST_HOSTS = 200
"""The most hosts of a trial that have series of their own: those with the latest timers."""


def read_live(coordinator: Coordinator | None, at_ns: int) -> list[Reading]:
    """Return the trial's state at this unix time in ns, or nothing if no trial runs.

    What a host did between its last report and a restart is missing from the sums.
    """
    if coordinator is None:
        return []
    members = list(coordinator.members.values())
    phases = coordinator.spec.phases
    return [
        Reading(
            trial=coordinator.trial,
            system=coordinator.spec.system.name,
            state=_trial_state(coordinator),
            time_s=min(coordinator.trial_time(at_ns), phases.end),
            end_s=phases.end,
            peers_up=sum(member.progress.peers_up for member in members if not member.lost),
            timer_lateness_max_s=max(member.progress.timer_lateness_max_s for member in members),
            hosts=Counter(_state(coordinator, member) for member in members),
            cpu_s=coordinator.totals.cpu_s,
            histograms=coordinator.totals.histograms,
            sent_of_kind=dict(coordinator.totals.sent_of_kind),
            delivered_in_region=coordinator.regions.by_name(coordinator.totals.delivered_in_region),
            up_in_region=coordinator.regions.by_name(_up_in_region(members)),
            slowest=[_of_host(member) for member in _slowest(members)],
            **{name: sum(member.count(name) for member in members) for name in COUNTS},
        )
    ]


def _up_in_region(members: list[Member]) -> list[int]:
    """Return the peers that are up in each region, by the region's number."""
    told = [member.progress.up_in_region for member in members if not member.lost]
    return [sum(counts) for counts in zip_longest(*told, fillvalue=0)]


def _slowest(members: list[Member]) -> list[Member]:
    """Return the hosts that have told something, and of many those with the latest timers, by index."""
    told = [member for member in members if member.progress.host and not member.lost]
    if len(told) > MOST_HOSTS:
        told = nlargest(MOST_HOSTS, told, key=lambda member: member.progress.timer_lateness_max_s)
    return sorted(told, key=lambda member: member.index)


def _of_host(member: Member) -> HostReading:
    return HostReading(
        member.name,
        member.progress.peers_up,
        member.count("sent"),
        member.progress.cpu_s,
        member.progress.timer_lateness_max_s,
    )


def _trial_state(coordinator: Coordinator) -> str:
    if coordinator.start_ns is None:
        return "starting"
    return "ending" if coordinator.over or coordinator.stopping else "running"


def _state(coordinator: Coordinator, member: Member) -> str:
    if member.lost:
        return "lost"
    if member.result is not None:
        return "finished"
    if not member.ready:
        return "starting"
    return "restarted" if coordinator.restarts(member) else "ready"
