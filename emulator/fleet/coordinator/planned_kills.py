"""The sessions of a plan that end with their pods."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.experiment.plan.tables import KEPT, Plan
from trellis.v1 import control_pb2


def planned_kills(plan: Plan, host_of: Sequence[int], end_s: float) -> tuple[control_pb2.Kill, ...]:
    """Return the sessions that end before `end_s` (trial time), by time; `host_of` has the host's number of
    each peer. The host of a peer that crashes and keeps its state is not ended."""
    kept = {
        (row["peer"], row["session"] - 1)
        for row in plan.sessions.to_pylist()
        if row.get(KEPT.name) is not None
    }
    return tuple(
        control_pb2.Kill(
            peer=row["peer"],
            session=row["session"],
            host=f"host-{host_of[row['peer']]}",
            at_s=row["end_s"],
            graceful=row["graceful"],
        )
        for row in plan.sessions.sort_by("end_s").to_pylist()
        if row["end_s"] < end_s and (row["peer"], row["session"]) not in kept
    )
