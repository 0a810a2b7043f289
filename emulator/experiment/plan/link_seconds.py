"""The times for which links can carry anything in the measure phase: while peers are up, by the plan."""

from __future__ import annotations

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan


def link_seconds(spec: TrialSpec, plan: Plan) -> list[list[float]]:
    """Return the seconds for which the peers of each class of links are up, together, in each interval of the
    time series; none without `network.bandwidth`."""
    if spec.network.bandwidth is None:
        return []
    intervals = spec.intervals()
    classes = plan.peers["link_class"].to_pylist()
    seconds = [[0.0] * len(intervals) for _ in range(max(classes, default=0) + 1)]
    columns = (plan.sessions[name].to_pylist() for name in ("peer", "start_s", "end_s"))
    for peer, start, end in zip(*columns, strict=True):
        for index, (begins, ends) in enumerate(intervals):
            seconds[classes[peer]][index] += max(min(end, ends) - max(start, begins), 0.0)
    return seconds
