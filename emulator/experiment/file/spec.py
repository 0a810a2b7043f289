"""The validated content of an experiment file: a trial runs one variant of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from emulator.churn.spec import ChurnSpec
from emulator.experiment.file.expectation import Expected
from emulator.experiment.file.fidelity_limits import FidelityLimits
from emulator.experiment.file.invariants_spec import InvariantsSpec
from emulator.faults.spec import ATTACK, AttackersSpec, FaultSpec, Window
from emulator.files.quantities import Duration
from emulator.network.processing_spec import Processing
from emulator.network.spec import NetworkSpec
from emulator.workload.spec import WorkloadSpec


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_NICE_SECONDS = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
_INTERVALS = 30


class SystemSpec(_Model):
    """The system under test; its parameters are checked against the registry."""

    name: str = Field(description="name of the system, one of `trellis systems`")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="parameters of the system, with its defaults for the others"
    )


class Phases(_Model):
    """The time line of a trial. Publications fall in the measure phase; the drain lets them end."""

    join: Duration = Field(10.0, ge=0, description="time in which peers join")
    settle: Duration = Field(
        30.0, ge=0, description="time until the measure phase, in which the overlay settles"
    )
    measure: Duration = Field(
        30.0, ge=0.001, description="time in which events are published, keys looked up, and all is measured"
    )
    drain: Duration = Field(10.0, ge=0, description="time for events and lookups that are still under way")

    @property
    def measure_start(self) -> float:
        return self.join + self.settle

    @property
    def measure_end(self) -> float:
        return self.measure_start + self.measure

    @property
    def measured(self) -> tuple[float, float]:
        """The trial times at which the measure phase begins and ends."""
        return self.measure_start, self.measure_end

    @property
    def end(self) -> float:
        return self.measure_end + self.drain

    def at(self, time: float) -> str:
        """Return the name of the phase at a trial time."""
        ends = {"join": self.join, "settle": self.measure_start, "measure": self.measure_end}
        return next((phase for phase, end in ends.items() if time < end), "drain")


class _Runtime(_Model):
    check: bool = Field(
        False, description="count what breaks the contract of a protocol; a trial with any is invalid"
    )


class Virtual(_Runtime):
    """The runtime in which all peers live in one process on a virtual clock."""

    kind: Literal["virtual"] = "virtual"


class RealTime(_Runtime):
    """The keys that real-time runtimes share, whose peers are in several hosts and communicate by gRPC."""

    time_scale: float = Field(1.0, ge=0.01, le=1000, description="wall seconds for one trial second")


class Processes(RealTime):
    """The real-time runtime in which a host is a local process."""

    kind: Literal["processes"]
    hosts: int = Field(2, ge=1, le=64, description="local processes, among which the peers are divided")


class Kubernetes(RealTime):
    """The real-time runtime in which a host is a pod."""

    kind: Literal["kubernetes"]
    hosts: int = Field(2, ge=1, le=20_000, description="pods")
    churn: Literal["peers", "pods"] = Field(
        "peers", description="sessions end by stopping peers in their pods, or by deleting their pods"
    )


Runtime = Annotated[Virtual | Processes | Kubernetes, Field(discriminator="kind")]


class TelemetrySpec(_Model):
    """The metrics that hosts write beside the traces of operations, which are always written."""

    metrics_interval: Duration = Field(5.0, ge=0.1, description="how often hosts write their metrics")


class TrialSpec(_Model):
    """One variant of an experiment with every default filled in; with a seed it makes a trial."""

    system: SystemSpec
    peers: int = Field(ge=2, le=200_000, description="peers of the overlay")
    network: NetworkSpec = Field(default_factory=NetworkSpec)
    workload: WorkloadSpec
    churn: ChurnSpec = Field(default_factory=ChurnSpec)
    faults: list[FaultSpec] = Field(
        default_factory=list, max_length=100, description="what goes wrong, and when"
    )
    attackers: AttackersSpec | None = Field(None, description="peers that behave badly")
    processing: Processing | None = Field(None, description="the time that peers take to handle messages")
    invariants: InvariantsSpec | None = Field(
        None, description="conditions on the states of peers that are to hold, on the virtual clock"
    )
    phases: Phases = Field(default_factory=Phases)
    runtime: Runtime = Field(default_factory=Virtual)
    fidelity: FidelityLimits = Field(default_factory=FidelityLimits)
    telemetry: TelemetrySpec = Field(default_factory=TelemetrySpec)
    seed: int = Field(
        1, ge=0, lt=2**63, description="the first seed; all that is drawn follows from the seed of a trial"
    )

    @property
    def windows(self) -> dict[str, Window]:
        """The faults by name, and the attackers as `attack`, which no fault is called then."""
        attack: dict[str, Window] = {} if self.attackers is None else {ATTACK: self.attackers}
        return attack | {fault.name: fault for fault in self.faults}

    @property
    def episodes(self) -> dict[str, Window]:
        """The windows of which there is a time before or after in the measure phase: all faults, and the
        attack unless it lasts as long as that phase or longer."""
        start, end = self.phases.measured
        return {
            name: window
            for name, window in self.windows.items()
            if window is not self.attackers or window.begins > start or window.ends < end
        }

    @property
    def interval(self) -> float:
        """The width (s) of an interval of the time series: about 30 of them, none shorter than the
        metrics'."""
        least = max(self.phases.measure / _INTERVALS, self.telemetry.metrics_interval)
        return next((float(s) for s in _NICE_SECONDS if s >= least), float(_NICE_SECONDS[-1]))

    def intervals(self) -> list[tuple[float, float]]:
        """Return the begin and the end (s) of each interval of the time series of the measure phase."""
        start, end = self.phases.measured
        number = max(math.ceil((end - start) / self.interval - 1e-9), 1)
        begins = [start + index * self.interval for index in range(number)]
        return list(zip(begins, [*begins[1:], end], strict=True))

    @model_serializer(mode="wrap")
    def _without_later_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what earlier versions did not have, so that their experiments stay the same."""
        given: dict[str, Any] = serialize(self)
        later = ("processing", "invariants")
        return {key: value for key, value in given.items() if key not in later or value is not None}


class ExperimentSpec(TrialSpec):
    """A whole experiment file."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="name of the experiment and of its run directories"
    )
    title: str = Field("", max_length=1000, description="title of the report")
    claims: list[str] = Field(
        default_factory=list, max_length=100, description="ids of the paper's claims, such as V1"
    )
    expect: list[Expected] = Field(
        default_factory=list,
        max_length=100,
        description='conditions on measures of each trial, such as "hit_ratio >= 99 %"',
    )
    draw: dict[str, Any] = Field(
        default_factory=dict, description="dotted key -> its range, from which a campaign draws each trial"
    )
    repeat: int = Field(1, ge=1, le=1000, description="number of seeds: seed, seed + 1, ...")
    vary: dict[str, list[Any]] = Field(
        default_factory=dict,
        description="dotted key -> values, or keys with commas between them -> a list for each; "
        "every combination is a variant",
    )
    rates_read: list[dict[str, Any]] = Field(
        default_factory=list,
        description="the classes of links that each varied `table` or `nodes` of `network.bandwidth` has; "
        "Trellis writes them into a run directory",
        exclude_if=lambda given: not given,
    )
