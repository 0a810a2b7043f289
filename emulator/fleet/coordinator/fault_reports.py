"""The faults of a trial and its attack, as its hosts told of them."""

from __future__ import annotations

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.run.fidelity import FaultReport
from emulator.experiment.run.link_report import WAYS, BusyRate
from emulator.faults.crossings import Crossing
from emulator.faults.spec import AttackersSpec, FaultSpec
from emulator.fleet.coordinator.coordinator import Coordinator
from trellis.v1 import control_pb2


def fault_reports(coordinator: Coordinator) -> list[FaultReport]:
    """Return what each host that finished told of each fault, in their order, and of the attack."""
    faults = actions(coordinator.spec)
    told = [
        (times, member.name)
        for member in coordinator.members.values()
        if member.result is not None
        for times in member.result.faults
    ]
    return [
        FaultReport.of(
            faults[times.fault],
            host,
            times.begun_s if times.HasField("begun_s") else None,
            times.ended_s if times.HasField("ended_s") else None,
            times.peers,
            times.waited,
            times.messages,
            _crossing(times) if times.HasField("crossing") else None,
            _rates(faults[times.fault], times),
        )
        for times, host in sorted(told, key=lambda each: each[0].fault)
    ]


def actions(spec: TrialSpec) -> list[FaultSpec | AttackersSpec]:
    """Return what hosts tell of, by the index that they give: the faults, and the attack if there is one."""
    return [*spec.faults, *([] if spec.attackers is None else [spec.attackers])]


def _rates(fault: FaultSpec | AttackersSpec, times: control_pb2.FaultTimes) -> list[BusyRate]:
    """Return the rates of the links that the fault changes, as far as they were measured."""
    links = fault.links if isinstance(fault, FaultSpec) else None
    asked = None if links is None else links.bandwidth
    if asked is None:
        return []
    return [
        BusyRate(way, rate, round(told.busy_bits / told.busy_s, 1), round(told.busy_s, 6))
        for way, rate, told in zip(WAYS, (asked.up, asked.down), times.rates, strict=False)
        if rate and told.busy_s > 0
    ]


def _crossing(times: control_pb2.FaultTimes) -> Crossing:
    told = times.crossing
    return Crossing(told.sender, told.receiver, told.sent_s, told.arrived_s)
