"""Histograms that hosts tell the coordinator while a trial runs, counted by bounds that both know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.compact.durations import Distribution
from trellis.v1 import control_pb2

DURATIONS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of durations in seconds."""
HOPS: Final = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
"""The upper bounds of numbers of hops."""
BOUNDS: Final[Mapping[str, Sequence[float]]] = {
    "timer_lateness": DURATIONS,
    "delay_error": DURATIONS,
    "delivery_delay": DURATIONS,
    "hops": HOPS,
}
"""The bounds of each histogram in a host's progress, by its field."""


def histogram_of(durations: Distribution) -> control_pb2.Histogram:
    """Return the durations counted by `DURATIONS`, with their sum in seconds."""
    return control_pb2.Histogram(counts=durations.within(DURATIONS), sum=durations.total())
