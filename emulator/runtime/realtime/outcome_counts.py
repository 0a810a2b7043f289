"""Counts of the outcomes that applications get at a host: how many, how late and after how many hops."""

from __future__ import annotations

from bisect import bisect_left

from emulator.compact.durations import Distribution
from emulator.contract.protocol import Installation, Outcome
from emulator.runtime.live_histograms import HOPS
from emulator.runtime.realtime.clock import TrialClock
from emulator.telemetry.context import TraceContext

_MOST_HOPS = 10_000
"""The most hops that are counted of an outcome, whose number a protocol makes up as it likes."""


class OutcomeCounts:
    """Counts for those who watch a trial while it runs; measures are made from spans."""

    def __init__(self) -> None:
        self.number = 0
        self.delays = Distribution()
        """The trial seconds from the begin of an operation to its outcome, where the begin is known."""
        self.hops = [0] * (len(HOPS) + 1)
        """The outcomes by hops, by the bounds `HOPS`."""
        self.hops_together = 0

    def add(self, outcome: Outcome, context: TraceContext | None, clock: TrialClock) -> None:
        """Count an outcome in the operation of this context. A subscription that is in force is none."""
        if isinstance(outcome, Installation):
            return
        hops = min(max(outcome.hops, 0), _MOST_HOPS)
        self.number += 1
        self.hops[bisect_left(HOPS, hops)] += 1
        self.hops_together += hops
        if context is not None and context.began_ns >= 0:
            self.delays.add((clock.now_ns() - context.began_ns) * 1e-9)
