"""The plan's events as points of the event space, for layouts."""

from __future__ import annotations

from emulator.experiment.plan.tables import Plan
from emulator.protocols.pubsub.content.space import ABSENT, EventSpace


def event_values(plan: Plan, space: EventSpace) -> list[list[float]]:
    """Return each event as a point."""
    points = []
    for attributes in plan.publications["attributes"].to_pylist():
        values = {part["attribute"]: part["value"] for part in attributes or ()}
        points.append([values.get(name, ABSENT) for name in space.names])
    return points
