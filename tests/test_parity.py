"""One plan on the virtual clock and over gRPC: the same deliveries, and nearly the same hops."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from small_trial import Outcome, expected, run

from emulator.experiment.draw import draw_plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.processes import run_processes
from emulator.telemetry import names

SPEC = {
    "system": {"name": "vitis"},
    "peers": 200,
    "workload": {
        "subscriptions": {"kind": "high", "topics": 500, "buckets": 20, "per_peer": 20},
        "publications": {"events": 200},
    },
    "phases": {"join": "3 s", "settle": "15 s", "measure": "8 s", "drain": "4 s"},
    # What machines under test suffer is not the point here: the outcome must be the same all the same.
    "fidelity": {"timer_lateness_p99": "1 s", "delay_error_p99": "1 s", "session_error_p99": "1 s"},
}


def mean_hops(outcome: Outcome) -> float:
    return fmean(
        span.attributes[names.HOPS] for span in outcome.spans if span.attributes.get(names.DELIVERED)
    )


@pytest.mark.timeout(180)
def test_both_runtimes_make_the_same_deliveries_in_nearly_the_same_hops(tmp_path: Path) -> None:
    spec = TrialSpec.model_validate(SPEC)
    plan = draw_plan(spec)
    virtual = run(spec, plan, tmp_path / "virtual")
    real_time = TrialSpec.model_validate(SPEC | {"runtime": {"kind": "processes", "hosts": 2}})
    directory = TrialDirectory(tmp_path / "processes" / "trials" / "vitis-1")
    directory.path.mkdir(parents=True)
    over_grpc = Outcome(directory, run_processes(real_time, plan, directory, lambda progress: None))

    assert virtual.deliveries().keys() == expected(plan)
    assert over_grpc.deliveries().keys() == expected(plan)
    assert mean_hops(over_grpc) == pytest.approx(mean_hops(virtual), rel=0.1)
