"""The time for which links can carry anything in the measure phase: while their peers are up, by the plan."""

from __future__ import annotations

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan


def link_seconds(spec: TrialSpec, plan: Plan) -> list[float]:
    """Return the seconds of the measure phase for which the peers of each class of links are up, together;
    none without `network.bandwidth`."""
    if spec.network.bandwidth is None:
        return []
    measured = spec.phases.measured
    classes = plan.peers["link_class"].to_pylist()
    seconds = [0.0] * (max(classes, default=0) + 1)
    columns = (plan.sessions[name].to_pylist() for name in ("peer", "start_s", "end_s"))
    for peer, start, end in zip(*columns, strict=True):
        seconds[classes[peer]] += max(min(end, measured[1]) - max(start, measured[0]), 0.0)
    return seconds
