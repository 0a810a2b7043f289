"""The processor time and memory that trials on the virtual clock are expected to take.

Vitis' rates are those that `docs/performance.md` has of a quiet machine, those of other systems are measured
with few peers (`trellis.measured_rates`). Nothing is expected of a system without rates, such as a package's:
its costs were not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.files.quantities import parse_duration
from trellis.measured_rates import RATES
from trellis.system_rate import SystemRate


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


VITIS: Final = Rate(34, ((300, 6.0), (1_000, 11.0), (10_000, 21.0)), 0.165 * 2**30, 153 * 2**10)
"""The rate of Vitis. An event of any system takes longer among more peers by as much as one of Vitis does."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The processor time and memory that a trial is expected to take."""

    processor_s: float
    memory_bytes: float


def expected_cost(trial: TrialSpec, load: int | None = None) -> Cost | None:
    """Return what a trial with a load (`emulator.experiment.plan.load`) is expected to take; None if nothing
    like it was measured, or its load is not known.

    Peers are taken to be up for the whole trial, so it is less under churn. The analysis is not in it.
    """
    us = VITIS.us_with(trial.peers)
    if us is None or trial.runtime.kind != "virtual":
        return None
    if trial.system.name == "vitis":
        rounds = trial.phases.end / parse_duration(trial.system.parameters["period"])
        return Cost(
            trial.peers * rounds * VITIS.events * us / 1e6, VITIS.base_bytes + trial.peers * VITIS.peer_bytes
        )
    rate = RATES.get(trial.system.name)
    if rate is None or load is None:
        return None
    seconds = expected_events(trial, rate, load) * rate.us / 1e6 * us / VITIS.us[0][1]
    return Cost(rate.base_s + seconds, rate.base_bytes + trial.peers * rate.peer_bytes)


def expected_events(trial: TrialSpec, rate: SystemRate, load: int) -> float:
    """Return how many events of the loop a trial is expected to have."""
    return trial.peers * trial.phases.end * rate.peer_events * _pace(trial) + load * rate.load_events


def _pace(trial: TrialSpec) -> float:
    """Return how much oftener than by default peers of the trial act by themselves."""
    default = SYSTEMS[trial.system.name].parameters().model_dump().get("period")
    if not isinstance(default, str):
        return 1.0
    return parse_duration(default) / parse_duration(trial.system.parameters.get("period", default))
