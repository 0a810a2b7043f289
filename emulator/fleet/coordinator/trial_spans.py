"""Spans of a real-time trial as its coordinator sees it pass: waiting for hosts, the phases, the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.runtime.realtime.clock import unix_ns
from emulator.tracing import spans


@contextlib.contextmanager
def trial_spans(coordinator: Coordinator) -> Iterator[Callable[[int], None]]:
    """Tell the parts of a trial below its span, each when it is over, and the one under way at the end.

    Yields what is to be called again and again with the unix time in ns. A coordinator that has taken up a
    trial tells the part that was under way then, from that part's beginning.
    """
    parts = _Parts(coordinator)
    try:
        yield parts.watch
    finally:
        parts.close(unix_ns())


class _Parts:
    """The parts of a trial that are not over. Times are unix ns."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._began = unix_ns()
        self._left: list[tuple[str, int, int]] | None = None
        """The parts with begin and end; None until the start is known."""

    def watch(self, now: int) -> None:
        start = self._coordinator.start_ns
        if self._left is None and start is not None:
            self._left = self._timetable(start, now)
        while self._left and self._left[0][2] <= now:
            self._tell(*self._left.pop(0))

    def close(self, now: int) -> None:
        self.watch(now)
        name, began, _ = self._left[0] if self._left else ("await hosts", self._began, now)
        if began < now:
            self._tell(name, began, now)

    def _timetable(self, start: int, now: int) -> list[tuple[str, int, int]]:
        """Return the parts that end after this coordinator began. The last one ends with the trial."""
        phases, scale = self._coordinator.spec.phases, self._coordinator.time_scale
        limits = [0.0, phases.join, phases.measure_start, phases.measure_end, phases.end]
        at = [start + round(limit * scale * 1e9) for limit in limits]
        parts = [("await hosts", self._began, min(now, start)), ("start", min(now, start), start)]
        names = ("join", "settle", "measure", "drain")
        parts += [(f"phase {name}", at[i], at[i + 1]) for i, name in enumerate(names)]
        parts.append(("collect", at[-1], max(now, at[-1]) + 10**18))
        return [part for part in parts if part[1] < part[2] and part[2] > self._began]

    def _tell(self, name: str, began: int, ended: int) -> None:
        spans.record(name, began, ended, parent=self._coordinator.trace)
