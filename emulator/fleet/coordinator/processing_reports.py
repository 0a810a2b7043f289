"""The time that messages kept peers busy, as the hosts of a trial told it."""

from __future__ import annotations

from emulator.experiment.run.processing_report import ProcessingReport
from emulator.fleet.coordinator.coordinator import Coordinator


def processing_reports(coordinator: Coordinator) -> list[ProcessingReport]:
    """Return what each host that finished told of each class of peers that handled messages there."""
    processing = coordinator.spec.processing
    if processing is None:
        return []
    names = [each.name for each in processing.classes] or ["all"]
    return [
        ProcessingReport(
            member.name,
            name,
            time.messages,
            round(time.messages * takes_ns * 1e-9, 6),
            round(time.busy_s, 6),
        )
        for member in coordinator.members.values()
        if member.result is not None
        for name, time, takes_ns in zip(names, member.result.processing, processing.times_ns(), strict=False)
        if time.messages
    ]
