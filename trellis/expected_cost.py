"""The processor time and memory that trials on the virtual clock are expected to take.

The rates are those that `docs/performance.md` has of a quiet machine. Nothing is expected of a system without
such rates: its costs were not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from emulator.experiment.file.spec import TrialSpec
from emulator.files.quantities import parse_duration


@dataclass(frozen=True, slots=True)
class Rate:
    """The processor time and memory that one system was measured to take, compiled."""

    events: float
    """Events of the loop (messages that arrive, timers that fall due) of a peer in a round."""
    us: Sequence[tuple[int, float]]
    """The microseconds of processor time an event, by the number of peers from the fewest up."""
    base_bytes: float
    """The memory of a trial beside its peers; `peer_bytes` is that of a peer."""
    peer_bytes: float

    def us_with(self, peers: int) -> float | None:
        """Return the microseconds an event, between the measured ones on a logarithmic scale; None above."""
        if peers <= self.us[0][0]:
            return self.us[0][1]
        for (fewer, low), (more, high) in pairwise(self.us):
            if peers <= more:
                return low + (high - low) * math.log(peers / fewer) / math.log(more / fewer)
        return None


RATES = {"vitis": Rate(34, ((300, 6.0), (1_000, 11.0), (10_000, 21.0)), 0.165 * 2**30, 153 * 2**10)}


@dataclass(frozen=True, slots=True)
class Cost:
    """The processor time and memory that a trial is expected to take."""

    processor_s: float
    memory_bytes: float


def expected_cost(trial: TrialSpec) -> Cost | None:
    """Return what a trial is expected to take; None if nothing like it was measured.

    Peers are taken to be up for the whole trial, so it is less under churn. The analysis is not in it.
    """
    rate = RATES.get(trial.system.name)
    us = rate.us_with(trial.peers) if rate else None
    if rate is None or us is None or trial.runtime.kind != "virtual":
        return None
    rounds = trial.phases.end / parse_duration(trial.system.parameters["period"])
    return Cost(
        trial.peers * rounds * rate.events * us / 1e6, rate.base_bytes + trial.peers * rate.peer_bytes
    )
