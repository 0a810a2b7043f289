"""The faults of a trial, as its hosts told of them."""

from __future__ import annotations

from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.crossings import Crossing
from emulator.fleet.coordinator.coordinator import Coordinator
from trellis.v1 import control_pb2


def fault_reports(coordinator: Coordinator) -> list[FaultReport]:
    """Return what each host that finished told of each fault, in the order of the faults."""
    faults = coordinator.spec.faults
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
        )
        for times, host in sorted(told, key=lambda each: each[0].fault)
    ]


def _crossing(times: control_pb2.FaultTimes) -> Crossing:
    told = times.crossing
    return Crossing(told.sender, told.receiver, told.sent_s, told.arrived_s)
