"""The processor time and memory that trials on the virtual clock are expected to take.

Vitis' rates are those that `docs/performance.md` has of a quiet machine. Those of other systems are measured
with few peers (`trellis.measured_rates`). One of the repository without rates is expected to take the mean of
those that were measured with its workload. Nothing is expected of systems of packages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from emulator.contract.registry import OWN_SYSTEMS, SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.load import Load
from emulator.files.quantities import parse_duration
from trellis.measured_rates import RATES
from trellis.system_rate import SystemRate


@dataclass(frozen=True, slots=True)
class Rate:
    """The processor time and memory that one system was measured to take, compiled."""

    events: float
    """Events of the loop (messages that arrive, timers that fall due) of a peer in a round."""
    load_events: float
    """The further events for each unit of the load of the plan (`emulator.experiment.plan.load`)."""
    us: Sequence[tuple[int, float]]
    """The microseconds of processor time an event, by the number of peers from the fewest up."""
    base_bytes: float
    """The memory of a trial beside its peers; `peer_bytes` is that of a peer."""
    peer_bytes: float


VITIS: Final = Rate(33.5, 9.8, ((300, 3.5), (1_000, 3.5), (10_000, 5.7)), 0.152 * 2**30, 95.5 * 2**10)
AMONG_MANY: Final = ((300, 1.0), (1_000, 1.8), (10_000, 3.5))
"""How much longer an event of other systems takes, by the number of peers from the fewest up. One of Vitis
took as much longer while its state was objects, as that of most others is."""
MOST: Final = AMONG_MANY[-1][0]
"""The number of peers above which nothing was measured."""

UP: Final = 0.95
"""The share of a trial's time that peers were up in the trials that the rates are of, which had no churn."""
_OF_LINKS: Final = {"fifo": 1.9, "fair": 3.6}
"""The factor by which links of a discipline add events (`docs/performance.md`)."""

_WITHIN: Final = 3.2
"""The factor within which the seconds were what a trial of a measured system took by itself
(`docs/performance.md`); its events were told within a factor of 1.5."""
_OTHERS_WITHIN: Final = 7.0
"""The factor within which the mean of others was what trials took, without the time before the first event:
one of 80 peers of each of the 41 systems that were not measured then took 0.38 to 6.8 times as long."""
_SIZE: Final = 160
"""The number of peers of which `SystemRate` has the events where they grow with the number."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The processor time and memory that a trial is expected to take."""

    processor_s: float
    memory_bytes: float
    within: float | None = None
    """The factor within which the processor time was what trials took; None if that was not looked at."""
    as_others: bool = False
    """This is true if the system was not measured, and the cost is the mean of others."""


class NotKnown(Exception):
    """The cost of a trial is not known; the text is the reason."""


def expected_cost(trial: TrialSpec, load: Load | None = None) -> Cost:
    """Return what a trial, whose plan has this load, is expected to take.

    Neither the analysis is in it nor what `not_counted` tells. Raises NotKnown if nothing like the trial was
    measured, or its load is not known.
    """
    name = trial.system.name
    if trial.runtime.kind != "virtual":
        raise NotKnown(
            f"runtime.kind is {trial.runtime.kind}, and costs were measured on the virtual clock alone"
        )
    if trial.peers > MOST:
        raise NotKnown(f"{trial.peers:,} peers are more than the {MOST:,} that were measured")
    rate = RATES.get(name)
    if rate is None and name not in OWN_SYSTEMS:
        raise NotKnown(f"the costs of {name} were not measured, since it is of a package")
    if load is None:
        raise NotKnown("its plan was not drawn")
    if name == "vitis":
        seconds = _of_vitis(trial, load) * by_peers(VITIS.us, trial.peers) / 1e6
        return Cost(seconds, VITIS.base_bytes + trial.peers * VITIS.peer_bytes, _WITHIN)
    among_many = by_peers(AMONG_MANY, trial.peers)
    return _as_others(trial, load, among_many) if rate is None else _cost(trial, rate, load, among_many)


def _cost(trial: TrialSpec, rate: SystemRate, load: Load, among_many: float) -> Cost:
    """Return the cost at a rate; an event takes `among_many` times as long as among few peers."""
    seconds = expected_events(trial, rate, load) * rate.us / 1e6 * among_many
    return Cost(rate.base_s + seconds, rate.base_bytes + trial.peers * rate.peer_bytes, _WITHIN)


def _as_others(trial: TrialSpec, load: Load, among_many: float) -> Cost:
    """Return the geometric mean of what systems with the trial's workload are expected to take, of all of
    them if fewer than two with it were measured."""
    serves = SYSTEMS[trial.system.name].serves
    alike = [rate for name, rate in RATES.items() if SYSTEMS[name].serves == serves]
    others = alike if len(alike) > 1 else list(RATES.values())
    costs = [_cost(trial, rate, load, among_many) for rate in others]
    seconds = [cost.processor_s for cost in costs]
    mean = math.exp(sum(map(math.log, seconds)) / len(seconds))
    memory = max(cost.memory_bytes for cost in costs)
    return Cost(mean, memory, _OTHERS_WITHIN, as_others=True)


def by_peers(measured: Sequence[tuple[int, float]], peers: int) -> float:
    """Return what was measured by the number of peers, between the numbers on a logarithmic scale.

    Below the fewest and above the most, it is what was measured of these.
    """
    if peers <= measured[0][0]:
        return measured[0][1]
    for (fewer, low), (more, high) in pairwise(measured):
        if peers <= more:
            return low + (high - low) * math.log(peers / fewer) / math.log(more / fewer)
    return measured[-1][1]


def not_counted(trial: TrialSpec) -> list[str]:
    """Return the keys of a trial that change what it takes by an unknown amount, which is not expected."""
    return [key for key in ("processing", "faults", "attackers") if getattr(trial, key)]


def growth(peers: float, grows: bool) -> float:
    """Return the factor by which events of a peer are more than among 160 peers."""
    return math.log(peers) / math.log(_SIZE) if grows and peers > 1 else 1.0


def expected_events(trial: TrialSpec, rate: SystemRate, load: Load) -> float:
    """Return how many events of the loop a trial is expected to have."""
    a_second = trial.peers * rate.peer_events + load.subscriptions * rate.subscription_events
    events = a_second * trial.phases.end * _pace(trial, rate) + load.deliveries * rate.load_events
    return events * growth(trial.peers, rate.grows) * _share_up(trial, load) * _links(trial)


def _of_vitis(trial: TrialSpec, load: Load) -> float:
    """Return how many events of the loop a trial of Vitis is expected to have."""
    rounds = trial.phases.end / parse_duration(trial.system.parameters["period"])
    events = trial.peers * rounds * VITIS.events + load.deliveries * VITIS.load_events
    return events * _share_up(trial, load) * _links(trial)


def _share_up(trial: TrialSpec, load: Load) -> float:
    """Return the share of the trial's time that peers are up, beside that of the measured trials."""
    return load.peer_s / (trial.peers * trial.phases.end) / UP


def _links(trial: TrialSpec) -> float:
    """Return the factor by which links add events."""
    bandwidth = trial.network.bandwidth
    return _OF_LINKS[bandwidth.discipline] if bandwidth else 1.0


def _pace(trial: TrialSpec, rate: SystemRate) -> float:
    """Return how much oftener than by default peers of the trial act by themselves."""
    defaults = SYSTEMS[trial.system.name].parameters().model_dump()
    return 1.0 + sum(
        share * (_oftener(parse_duration(default), _at(trial.system.parameters, key, default)) - 1)
        for key, share in rate.rounds
        if (default := _at(defaults, key, ""))
    )


def _oftener(default_s: float, period: str) -> float:
    """Return how much oftener something happens by this period than by the default; 0 s turns it off."""
    period_s = parse_duration(period)
    return default_s / period_s if period_s else 0.0


def _at(parameters: Mapping[str, Any], key: str, otherwise: str) -> str:
    """Return the duration at a dotted key, or another where the key is not there."""
    first, dot, rest = key.partition(".")
    found = parameters.get(first)
    if dot:
        return _at(found, rest, otherwise) if isinstance(found, Mapping) else otherwise
    return found if isinstance(found, str) else otherwise
