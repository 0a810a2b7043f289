"""From what the coordinator knows of its hosts to what is shown while a trial runs."""

from __future__ import annotations

from collections import Counter

from trellis.v1 import control_pb2

from emulator.fleet.coordinator import Coordinator, Member
from emulator.fleet.live_metrics import Reading

_COUNTS = ("joined", "published", "delivered", "lookups", "sent", "dropped", "lost_spans")


class TrialReader:
    """Sums up one trial's hosts; what a host had told before it was started anew stays in the sums."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._latest: dict[str, tuple[int, control_pb2.HostProgress]] = {}
        self._before = Counter[str]()

    def read(self, state: str, at_ns: int) -> Reading:
        """The trial at this unix time, ns; `state` is what is said of the trial as a whole.

        To be called by one thread at a time. A host that was started anew has its counts of before as of the
        last call.
        """
        coordinator = self._coordinator
        members = list(coordinator.members.values())
        sums = Counter[str]()
        for member in members:
            sums.update(self._counts(member))
        sums.update(self._before)
        return Reading(
            trial=coordinator.trial,
            system=coordinator.spec.system.name,
            state=state,
            time_s=min(coordinator.trial_time(at_ns), coordinator.spec.phases.end),
            end_s=coordinator.spec.phases.end,
            peers_up=sum(member.progress.peers_up for member in members if not member.lost),
            timer_lateness_max_s=max(member.progress.timer_lateness_max_s for member in members),
            hosts=Counter(_state(member) for member in members),
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


def _state(member: Member) -> str:
    if member.lost:
        return "lost"
    if member.result is not None:
        return "finished"
    if not member.ready:
        return "starting"
    return "restarted" if member.restarts else "ready"
