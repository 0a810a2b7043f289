"""Deliveries under churn, jitter and loss: what applications of each system were handed, and what was told.

A witness between each system and its world writes down what is handed over. The table compares it, one by
one, with the spans of the trial.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from emulator.contract.registry import SYSTEMS
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.delivery_judge import REPEATED
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.testing.witness import Handed
from emulator.testing.witnessed_trials import (
    CONTENT,
    OWN_SYSTEMS,
    TOPICS,
    WORKLOADS,
    WitnessedTrial,
    run_witnessed,
    spec_of,
    told,
    without_time,
)

PEERS = 120
_LARGER: dict[str, dict[str, Any]] = WORKLOADS | {
    "topics": TOPICS | {"publications": {"events": 100}},
    "content": CONTENT | {"publications": {"events": 500}},
    "lookups": {"lookups": {"rate": 100.0}},
}
"""The workloads of the tests, of which the first kinds have more to hand over here."""
_SAME = 1e-6
"""The seconds by which the time in a span may differ, for it is rounded."""


def main(systems: list[str]) -> None:
    """Run one trial of each system and print a row for each as it ends, with all repeats that were named."""
    print("| system | handed | told | different | twice | of them to peers that came back |")
    print("|---|---|---|---|---|---|")
    totals = [0] * 5
    began = time.process_time()
    for system in systems:
        with tempfile.TemporaryDirectory() as folder:
            trial = _run(system, Path(folder))
            row, others = _compare(trial), _others(trial)
        totals = [total + value for total, value in zip(totals, row, strict=True)]
        seconds = time.process_time() - began
        print(f"| `{system}` | {' | '.join(f'{value:,}' for value in row)} |", flush=True)
        print(f"  after {seconds:.0f} s of one core; {others}", flush=True)
    print(f"| together | {' | '.join(f'{value:,}' for value in totals)} |")


def _run(system: str, folder: Path) -> WitnessedTrial:
    spec = spec_of(
        system,
        folder / "ledger",
        PEERS,
        network={"jitter": "10 ms", "loss": 0.01, "unreachable_after": "2 s"},
        workload=_LARGER[SYSTEMS[system].serves],
    )
    run = RunDirectory(folder / "run")
    return run_witnessed(spec, run, lambda *of: run_virtual(*of, lambda progress: None))


def _compare(trial: WitnessedTrial) -> list[int]:
    """Return how much was handed over, was told, differs, came twice, and came twice to peers that came
    back."""
    handed, found = sorted(trial.handed), sorted(told(trial.directory))
    ours, theirs = without_time(handed), without_time(found)
    different = ((ours - theirs) + (theirs - ours)).total()
    if not different:
        different = sum(abs(one.at - other.at) > _SAME for one, other in zip(handed, found, strict=True))
    twice, came_back = _repeats(trial)
    return [len(handed), len(found), different, twice, came_back]


def _repeats(trial: WitnessedTrial) -> tuple[int, int]:
    """Return how many deliveries were made before, an event to the same peer or a lookup anywhere, and how
    many of them to a peer in a later life than the one before."""
    starts: dict[int, list[float]] = {}
    for row in trial.plan.sessions.to_pylist():
        starts.setdefault(row["peer"], []).append(row["start_s"])
    before: dict[tuple[str, int, int], Handed] = {}
    counts: Counter[bool] = Counter()
    for each in sorted(trial.handed, key=lambda handed: handed.at):
        where = each.what, each.number, each.peer if each.what == "event" else -1
        if (last := before.get(where)) is not None:
            back = last.peer == each.peer and any(last.at < start <= each.at for start in starts[each.peer])
            counts[back] += 1
        before[where] = each
    return counts.total(), counts[True]


def _others(trial: WitnessedTrial) -> str:
    """Return what the run itself says of repeats, and every other check that failed."""
    return "; ".join(
        f"{check.name}: {check.said}, {check.detail}"
        for check in trial.fidelity.checks
        if check.name == REPEATED or not check.ok
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", help="all of Trellis' own if none is named")
    arguments = parser.parse_args()
    main(arguments.systems or OWN_SYSTEMS)
