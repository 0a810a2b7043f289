"""What a running trial tells of itself: events and their deliveries, or lookups and where they arrived."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import workload_toys  # noqa: F401 - registers the systems
from small_trial import trial_spec

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.runtime.progress import Progress
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.command.terminal import told

SNAPSHOT = Progress("measure", 20.0, 60.0, 1000, 12, 3456, 99_999, words=("published", "delivered"))
RANGES = {
    "subscriptions": {
        "kind": "ranges",
        "within": "5 s",
        "attributes": [{"name": "a", "low": 0.0, "high": 1.0, "sub_range": 0.1}],
    },
    "publications": {"events": 5},
}


def test_events_are_told_as_published_and_delivered() -> None:
    text = "measure, 20 of 60 s, 1,000 peers up, 12 published, 3,456 delivered"
    assert told(SNAPSHOT, None) == text
    assert told(SNAPSHOT, 5.0) == f"{text}, 5 s left"


def test_lookups_are_told_as_such() -> None:
    text = told(replace(SNAPSHOT, asked=4000, words=("lookups", "arrived")), None)
    assert text == "measure, 20 of 60 s, 1,000 peers up, 4,000 lookups, 3,456 arrived"


@pytest.mark.parametrize(
    ("system", "workload"), [("modulo", {"lookups": {"rate": 2.0}}), ("content-flood", RANGES)]
)
def test_a_trial_counts_what_it_asks_for_and_no_installations(
    tmp_path: Path, system: str, workload: dict[str, Any]
) -> None:
    phases = {"join": "0 s", "settle": "6 s", "measure": "10 s", "drain": "2 s"}
    spec = trial_spec(system, 3, 1.0, workload=workload, phases=phases)
    plan = draw_plan(spec)
    directory = TrialDirectory(tmp_path / "run" / "trials" / "t-1")
    directory.path.mkdir(parents=True)
    told: list[Progress] = []
    run_virtual(spec, plan, directory, told.append)
    before = [snapshot.delivered for snapshot in told if snapshot.trial_time <= 6.0]
    assert set(before) == {0}  # though all interests are installed by then
    if system == "modulo":
        assert told[-1].asked == told[-1].delivered == plan.lookups.num_rows > 0
    else:
        assert told[-1].asked == 5
