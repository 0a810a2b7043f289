"""Counts of the outcomes that applications get at a host: how many, how late and after how many hops."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from emulator.compact.durations import Distribution
from emulator.contract.protocol import Installation, Outcome
from emulator.runtime.live_histograms import DURATIONS, HOPS, histogram_of
from emulator.runtime.realtime.clock import TrialClock
from emulator.telemetry.context import TraceContext
from trellis.v1 import control_pb2

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
        self.in_region: list[int] = []
        """The outcomes at peers of each region, by the region's number."""
        self.region_of: dict[int, int] = {}
        """The number of each peer's region, where regions are counted apart."""
        self._delay_traces: dict[int, tuple[bytes, float, float]] = {}
        """The last outcome of each bound since they were told: its trace, its value and the Unix time."""
        self._hop_traces: dict[int, tuple[bytes, float, float]] = {}

    def count_regions(self, count: int, region_of: Mapping[int, int]) -> None:
        """Count apart what happens in each of `count` regions; `region_of` has the region of each peer."""
        self.in_region = [0] * count
        self.region_of = dict(region_of)

    def up_in_region(self, peers: Iterable[int]) -> list[int]:
        """Return how many of these peers each region has."""
        up = [0] * len(self.in_region)
        for peer in peers if up else ():
            if (region := self.region_of.get(peer)) is not None:
                up[region] += 1
        return up

    def add(self, peer: int, outcome: Outcome, context: TraceContext | None, clock: TrialClock) -> None:
        """Count an outcome at a peer in the operation of this context. A subscription that is in force is
        none."""
        if isinstance(outcome, Installation):
            return
        if (region := self.region_of.get(peer)) is not None:
            self.in_region[region] += 1
        hops = min(max(outcome.hops, 0), _MOST_HOPS)
        self.number += 1
        bound = bisect_left(HOPS, hops)
        self.hops[bound] += 1
        self.hops_together += hops
        if context is None:
            return
        at = time.time()
        self._hop_traces[bound] = context.trace_id, hops, at
        if context.began_ns >= 0:
            delay = (clock.now_ns() - context.began_ns) * 1e-9
            self.delays.add(delay)
            self._delay_traces[bisect_left(DURATIONS, delay)] = context.trace_id, delay, at

    def told_delays(self) -> control_pb2.Histogram:
        """Return the delays by `DURATIONS`, with one of each bound that had any since the last call."""
        told = histogram_of(self.delays)
        told.exemplars.extend(_exemplars(self._delay_traces))
        return told

    def told_hops(self) -> control_pb2.Histogram:
        """Return the outcomes by `HOPS`, with one of each bound that has had one since the last call."""
        exemplars = _exemplars(self._hop_traces)
        return control_pb2.Histogram(counts=self.hops, sum=self.hops_together, exemplars=exemplars)


def _exemplars(traces: dict[int, tuple[bytes, float, float]]) -> list[control_pb2.Exemplar]:
    """Return these outcomes, which are forgotten."""
    told = [
        control_pb2.Exemplar(bound=bound, trace_id=trace_id, value=value, at_s=at)
        for bound, (trace_id, value, at) in sorted(traces.items())
    ]
    traces.clear()
    return told
