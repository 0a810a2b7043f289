"""Memory of a trial on the virtual clock, where no garbage collector runs all the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.layouts.layout import lay_out
from emulator.protocols.pubsub.vitis.vitis import Vitis
from emulator.runtime.progress import Progress
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.testing.witnessed_trials import OWN_SYSTEMS, PARAMETERS, WORKLOADS

PEERS = 12
PHASES = {"join": "2 s", "settle": "10 s", "measure": "8 s", "drain": "4 s"}


@pytest.fixture
def garbage() -> Iterator[list[Any]]:
    """What the collector finds, which frees nothing."""
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()


def run(path: Path, system: str, report: Any, **fields: Any) -> None:
    workload = WORKLOADS[SYSTEMS[system].serves]
    given = {"system": {"name": system, "parameters": PARAMETERS.get(system, {})}, "workload": workload}
    spec = TrialSpec.model_validate(given | {"peers": PEERS, "phases": PHASES} | fields)
    plan = draw_plan(spec)
    directory = RunDirectory(path).trial("only")
    run_virtual(lay_out(spec, plan), plan, directory, report)


@pytest.mark.parametrize("system", OWN_SYSTEMS)
def test_what_is_over_is_freed_without_a_collector(system: str, tmp_path: Path, garbage: list[Any]) -> None:
    """Requests that were answered, timers that fell due and events that went by keep nobody alive."""
    found: list[int] = []

    def report(progress: Progress) -> None:
        if progress.trial_time == progress.trial_end:
            found.append(gc.collect())

    run(tmp_path, system, report)
    assert found == [0], {type(each).__name__ for each in garbage}


def test_what_peers_that_left_have_kept_is_freed_now_and_then(tmp_path: Path) -> None:
    """A trial of many short sessions needs little more memory than one of few long ones."""
    gc.collect()
    kept: list[int] = []

    def report(progress: Progress) -> None:
        if progress.trial_time == progress.trial_end:
            kept.append(sum(isinstance(each, Vitis) for each in gc.get_objects()))

    churn = {"model": {"kind": "poisson", "mean_session": "4 s", "mean_gap": "2 s"}}
    run(tmp_path, "vitis", report, churn=churn)
    assert kept[0] <= 2 * PEERS
