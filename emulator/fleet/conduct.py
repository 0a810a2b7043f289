"""Conducts a trial: from the first host to the last report, wherever the hosts live."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol as Interface

from emulator.fleet.control import CoordinatorService
from emulator.fleet.coordinator import Coordinator
from emulator.runtime.clock import unix_ns
from emulator.runtime.progress import Report

_START_LIMIT = 120.0
"""Wall seconds until all hosts are ready."""
_END_LIMIT = 60.0
"""Wall seconds after the trial's end for hosts to measure their clocks, close files and report."""
_SILENCE_LIMIT = 20.0
"""Wall seconds without a word from a host, after which it counts as lost."""
_WATCH_PERIOD = 0.1
_REPORT_PERIOD = 0.5
_GRACE = 1.0
"""Wall seconds for answers that are on their way when the coordinator closes."""


class Fleet(Interface):
    """Where hosts live."""

    def start(self, coordinator: str, hosts: list[str]) -> None:
        """Start the hosts of these names; they find the coordinator at this address."""
        ...

    def deaths(self) -> dict[str, str]:
        """Hosts that have ended, and how."""
        ...


async def conduct(coordinator: Coordinator, listen: str, fleet: Fleet, report: Report) -> str:
    """Run the trial to its end. Gives the reason if it ended early, or "".

    Raises RuntimeError if the address `listen` cannot be bound, and what `fleet` and `report` raise.
    """
    server, address = await CoordinatorService(coordinator).serve(listen)
    try:
        fleet.start(address, list(coordinator.members))
        return await _follow(coordinator, fleet, report)
    finally:
        await server.stop(_GRACE)


async def _follow(coordinator: Coordinator, fleet: Fleet, report: Report) -> str:
    began = reported = time.monotonic()
    why = ""
    while True:
        now = unix_ns()
        for name, cause in fleet.deaths().items():
            coordinator.lose(name, cause)
        if time.monotonic() - reported >= _REPORT_PERIOD:
            reported = time.monotonic()
            report(coordinator.progress(now))
        if coordinator.start_ns is None:
            if failure := _failure_before_start(coordinator, time.monotonic() - began):
                return failure
        else:
            _lose_silent(coordinator, now)
            useless = [m.name for m in coordinator.members.values() if m.result and m.result.error]
            at = coordinator.trial_time(now)
            if useless and not coordinator.stopping and at < coordinator.spec.phases.end:
                coordinator.stopping = True
                why = f"{', '.join(useless)} could not do its work at {at:.1f} s"
            if coordinator.over:
                report(coordinator.progress(now))
                return why
        await asyncio.sleep(_WATCH_PERIOD)


def _failure_before_start(coordinator: Coordinator, waited: float) -> str:
    lost = [f"{m.name}: {m.lost}" for m in coordinator.members.values() if m.lost]
    if lost:
        return f"it could not start, because {'; '.join(lost)}"
    if waited > _START_LIMIT:
        missing = [m.name for m in coordinator.members.values() if not m.ready]
        return f"it could not start: {', '.join(missing)} not ready after {_START_LIMIT:g} s"
    return ""


def _lose_silent(coordinator: Coordinator, now: int) -> None:
    after_end = (coordinator.trial_time(now) - coordinator.spec.phases.end) * coordinator.time_scale
    for member in coordinator.members.values():
        if member.result is not None or member.lost:
            continue
        if after_end > _END_LIMIT:
            coordinator.lose(member.name, f"no result {_END_LIMIT:g} s after the trial's end")
        elif after_end < 0 and now - member.heard_ns > _SILENCE_LIMIT * 1e9:
            coordinator.lose(member.name, f"silent for {_SILENCE_LIMIT:g} s")
