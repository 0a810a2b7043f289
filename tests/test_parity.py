"""One plan on the virtual clock and over gRPC: the same deliveries, and nearly the same hops."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from small_trial import Outcome, expected, run

from emulator.experiment.draw import draw_plan
from emulator.experiment.plan import Plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.processes import run_processes
from emulator.telemetry import names

SYSTEMS: dict[str, dict[str, Any]] = {
    "vitis": {},
    "quasar-random-graph": {"period": "2 s", "freshness": "6 s"},
}
SPEC = {
    "peers": 60,
    "workload": {
        "subscriptions": {"kind": "high", "topics": 200, "buckets": 20, "per_peer": 20},
        "publications": {"events": 100},
    },
    "phases": {"join": "3 s", "settle": "15 s", "measure": "8 s", "drain": "4 s"},
    # A busy machine may be late by half a round, which changes no delivery.
    "fidelity": {
        "timer_lateness_p99": "0.5 s",
        "delay_error_p99": "0.5 s",
        "session_error_p99": "1 s",
        "loop_stall": "5 s",
    },
}
TIME_SCALES = (0.3, 1.2)
"""Wall seconds to a trial second. A trial that a busy machine made invalid is run again, slower."""


def mean_hops(outcome: Outcome) -> float:
    return fmean(
        span.attributes[names.HOPS] for span in outcome.spans if span.attributes.get(names.DELIVERED)
    )


def in_real_time(given: dict[str, Any], plan: Plan, path: Path) -> Outcome:
    """The outcome of the first valid trial between two processes, or of the last one."""
    for scale in TIME_SCALES:
        runtime = {"kind": "processes", "hosts": 2, "time_scale": scale}
        directory = TrialDirectory(path / f"processes-{scale}" / "trials" / "vitis-1")
        directory.path.mkdir(parents=True)
        spec = TrialSpec.model_validate(given | {"runtime": runtime})
        outcome = Outcome(directory, run_processes(spec, plan, directory, lambda progress: None))
        if outcome.fidelity.valid:
            break
    return outcome


@pytest.mark.timeout(300)
@pytest.mark.parametrize("system", SYSTEMS)
def test_both_runtimes_make_the_same_deliveries_in_nearly_the_same_hops(system: str, tmp_path: Path) -> None:
    given = SPEC | {"system": {"name": system, "parameters": SYSTEMS[system]}}
    spec = TrialSpec.model_validate(given)
    plan = draw_plan(spec)
    virtual = run(spec, plan, tmp_path / "virtual")
    over_grpc = in_real_time(given, plan, tmp_path)

    assert virtual.deliveries().keys() == expected(plan)
    assert over_grpc.deliveries().keys() == expected(plan)
    assert mean_hops(over_grpc) == pytest.approx(mean_hops(virtual), rel=0.1)
