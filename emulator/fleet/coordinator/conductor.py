"""The conductor takes a trial from the first host to the last report, wherever the hosts live."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from emulator.fleet.coordinator.authorization import UNGUARDED, Trust
from emulator.fleet.coordinator.coordinator import Coordinator, listed
from emulator.fleet.coordinator.hold_ups import hold_up
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.fleet.coordinator.trial_spans import trial_spans
from emulator.runtime.progress import Progress, Report
from emulator.runtime.realtime.clock import unix_ns

_START_LIMIT = 120.0
"""The wall seconds within which all hosts must be ready."""
_END_LIMIT = 60.0
"""The wall seconds that hosts have after the trial's end to measure their clocks, close files and report."""
_KILLS_LIMIT = 10.0
"""The wall seconds that the churn controller has after the trial's end to tell of its last deletions."""
_SILENCE_LIMIT = 20.0
"""A host that says nothing for this many wall seconds counts as lost."""
_NAMED = 10
"""The most hosts that a reason names."""
_WATCH_PERIOD = 0.1
_REPORT_PERIOD = 0.5
_GRACE = 1.0
"""The wall seconds that answers on their way have when the coordinator closes."""


class Fleet(ABC):
    """The hosts of a trial, as local processes or pods: it starts them and notices when they end."""

    @abstractmethod
    def start(self, coordinator: str, hosts: list[str]) -> None:
        """Start the hosts of these names; they find the coordinator at this address."""

    @abstractmethod
    def deaths(self) -> dict[str, str]:
        """Return the hosts that have ended, each with how it ended."""


async def conduct(
    coordinator: Coordinator, listen: str, fleet: Fleet, report: Report, trust: Trust = UNGUARDED
) -> str:
    """Run the trial to its end. Returns the reason if it ended early, or "".

    Raises OSError if the address `listen` cannot be bound, and what `fleet` and `report` raise.
    """
    service = CoordinatorService(trust)
    server, address = await service.serve(listen)
    try:
        await service.begin(coordinator)
        fleet.start(address, list(coordinator.members))
        return await follow(coordinator, report, fleet.deaths)
    finally:
        await service.close()
        await server.stop(_GRACE)


async def follow(
    coordinator: Coordinator,
    report: Report,
    deaths: Callable[[], dict[str, str]] = dict,
    start_limit: float = _START_LIMIT,
) -> str:
    """Watch a trial that is served until it is over; `deaths` returns what `Fleet.deaths` does.

    Returns the reason if it ended early, or "".
    """
    with trial_spans(coordinator) as watch:
        return await _follow(coordinator, report, deaths, start_limit, watch)


async def _follow(
    coordinator: Coordinator,
    report: Report,
    deaths: Callable[[], dict[str, str]],
    start_limit: float,
    watch: Callable[[int], None],
) -> str:
    began = reported = time.monotonic()
    why = ""
    while True:
        now = unix_ns()
        watch(now)
        for name, cause in deaths().items():
            coordinator.lose(name, cause)
        if time.monotonic() - reported >= _REPORT_PERIOD:
            reported = time.monotonic()
            report(_progress(coordinator, now))
        if coordinator.start_ns is None:
            if failure := _failure_before_start(coordinator, time.monotonic() - began, start_limit):
                return failure
        else:
            lose_silent(coordinator, now)
            useless = [
                f"{m.name} could not do its work: {m.result.error}"
                for m in coordinator.members.values()
                if m.result and m.result.error
            ]
            at = coordinator.trial_time(now)
            if useless and not coordinator.stopping and at < coordinator.spec.phases.end:
                coordinator.stopping = True
                why = f"at {at:.1f} of {coordinator.spec.phases.end:.1f} s, because {listed(useless)}"
            if coordinator.over and (early := _ending(coordinator, at)) is not None:
                report(_progress(coordinator, now))
                return why or early
        await asyncio.sleep(_WATCH_PERIOD)


def _progress(coordinator: Coordinator, now: int) -> Progress:
    return replace(coordinator.progress(now), held_up=hold_up(coordinator, now))


def _ending(coordinator: Coordinator, at: float) -> str | None:
    """Return why a trial ends whose hosts do no more work: "" at its end, None if it goes on.

    The coordinator's clock decides when the trial is at its end, whatever hosts say.
    """
    late = (at - coordinator.spec.phases.end) * coordinator.time_scale
    if coordinator.stopping:
        return f"it was stopped at {at:.1f} of {coordinator.spec.phases.end:.1f} s"
    if late < 0:
        left = any(member.result is not None for member in coordinator.members.values())
        return None if left else f"no host was left at {at:.1f} of {coordinator.spec.phases.end:.1f} s"
    return "" if late > _KILLS_LIMIT or not coordinator.awaits_kills else None


def _failure_before_start(coordinator: Coordinator, waited: float, limit: float) -> str:
    lost = [f"{m.name}: {m.lost}" for m in coordinator.members.values() if m.lost]
    if lost:
        return f"it could not start, because {'; '.join(lost)}"
    failed = [f"{m.name}: {m.result.error}" for m in coordinator.members.values() if m.result]
    if failed:
        return f"it could not start, because {'; '.join(failed[:_NAMED])}"
    if waited > limit:
        missing = [m.name for m in coordinator.members.values() if not m.ready]
        return f"it could not start: {listed(missing)} not ready after {limit:g} s"
    return ""


def lose_silent(coordinator: Coordinator, now: int) -> None:
    """Count hosts as lost that have said nothing for too long."""
    after_end = (coordinator.trial_time(now) - coordinator.spec.phases.end) * coordinator.time_scale
    start = coordinator.start_ns or 0  # a host that waits for the start has nothing to say
    for member in coordinator.members.values():
        if member.result is not None or member.lost:
            continue
        if after_end > _END_LIMIT:
            coordinator.lose(member.name, f"no result {_END_LIMIT:g} s after the trial's end")
        elif after_end < 0 and now - max(member.heard_ns, start) > _SILENCE_LIMIT * 1e9:
            coordinator.lose(member.name, f"silent for {_SILENCE_LIMIT:g} s")
