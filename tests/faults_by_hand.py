"""Faults at peers that a test lists, in a plan by hand on the virtual clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_trial import Outcome, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import FAULTS, Plan
from emulator.telemetry import names


def fault(name: str = "stopped", at: str = "2 s", lasts: str | None = "3 s", **what: Any) -> dict[str, Any]:
    return {"name": name, "at": at, **({} if lasts is None else {"for": lasts}), **what}


def run_with(asked: TrialSpec, path: Path, made: Plan) -> Outcome:
    """Run a plan by hand, with the faults of the spec at the peers that they list."""
    rows = [
        {"fault": index, "name": each.name, "peer": peer}
        for index, each in enumerate(asked.faults)
        for peer in (each.hits.peers if each.hits else None) or ()
    ]
    faults = FAULTS.empty_table().from_pylist(rows, schema=FAULTS)
    return run(asked, Plan(made.peers, made.sessions, faults, **made.tables), path)


def up(*ends: float) -> list[tuple[int, float, float]]:
    return [(peer, 0.0, end) for peer, end in enumerate(ends)]


def observed(outcome: Outcome, name: str) -> list[tuple[int, float, float]]:
    """Return peer, time and value of each observation of this name."""
    return [
        (span.attributes[names.PEER], round(span.start, 6), span.attributes[names.VALUE])
        for span in outcome.spans
        if span.attributes.get(names.OBSERVED) == name
    ]


CHURN: dict[str, Any] = {
    "churn": {"model": {"kind": "poisson", "mean_session": "20 s", "mean_gap": "5 s"}, "graceful": 0.5}
}


def sessions(asked: TrialSpec) -> list[tuple[int, float, float, bool]]:
    """Return peer, start, end and whether it ends gracefully, of each session of the plan."""
    rows = draw_plan(asked).sessions.to_pylist()
    return [(row["peer"], row["start_s"], row["end_s"], row["graceful"]) for row in rows]
