"""Sums over the hosts of a running trial, made from the coordinator's state for the live metrics."""

from __future__ import annotations

import threading
from collections import Counter

from emulator.fleet.coordinator.coordinator import Coordinator, Member
from emulator.fleet.coordinator.live_metrics import Reading
from trellis.v1 import control_pb2

_COUNTS = ("joined", "asked", "delivered", "sent", "dropped", "lost_spans")


class LiveReader:
    """Sums up the hosts of the running trial. The sums keep the counts of hosts that were started anew."""

    def __init__(self) -> None:
        self._scrape = threading.Lock()
        self._coordinator: Coordinator | None = None
        self._latest: dict[str, tuple[int, control_pb2.HostProgress]] = {}
        self._before = Counter[str]()

    def read(self, coordinator: Coordinator | None, at_ns: int) -> list[Reading]:
        """Return the trial's state at this unix time in ns, or nothing if no trial runs.

        What a host did between the call before and a restart is missing from the sums.
        """
        with self._scrape:
            if coordinator is not self._coordinator:
                self._coordinator = coordinator
                self._latest, self._before = {}, Counter()
            return [] if coordinator is None else [self._read(coordinator, at_ns)]

    def _read(self, coordinator: Coordinator, at_ns: int) -> Reading:
        members = list(coordinator.members.values())
        sums = Counter[str]()
        for member in members:
            sums.update(self._counts(member))
        sums.update(self._before)
        phases = coordinator.spec.phases
        return Reading(
            trial=coordinator.trial,
            system=coordinator.spec.system.name,
            state=_trial_state(coordinator),
            time_s=min(coordinator.trial_time(at_ns), phases.end),
            end_s=phases.end,
            peers_up=sum(member.progress.peers_up for member in members if not member.lost),
            timer_lateness_max_s=max(member.progress.timer_lateness_max_s for member in members),
            hosts=Counter(_state(coordinator, member) for member in members),
            **{name: sums[name] for name in _COUNTS},
        )

    def _counts(self, member: Member) -> dict[str, int]:
        progress = member.progress
        incarnation, latest = self._latest.get(member.name, (member.incarnation, progress))
        if incarnation != member.incarnation:
            self._before.update(_counts(latest))
        self._latest[member.name] = member.incarnation, progress
        return _counts(progress)


def _counts(progress: control_pb2.HostProgress) -> dict[str, int]:
    return {name: getattr(progress, name) for name in _COUNTS}


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
