"""Telemetry of local processes tells of each thing that an application was handed, and of nothing else."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from fleet_toys import PATH
from pyspark.sql import SparkSession
from repairing_toy import REPAIRING
from told_and_handed import check_spans, check_tables

from emulator.contract import registry
from emulator.experiment.run.directory import RunDirectory
from emulator.fleet.processes import run_processes
from emulator.testing.witnessed_trials import OWN_SYSTEMS, WitnessedTrial, run_witnessed, spec_of

_AT_ONCE = 2
"""Trials that run beside each other: each waits most of its time."""
_ENOUGH = 40
"""The deliveries that a trial makes, but for those whose messages a busy machine delays for seconds."""
_OF_PARTS = {
    *("scribe-pastry", "scribe-small-world", "scribe-chord", "scribe-kademlia"),
    *("magnet-pastry", "magnet-small-world", "magnet-chord", "magnet-kademlia"),
    *("quasar-pastry", "quasar-oscar", "quasar-small-world", "quasar-chord", "quasar-kademlia"),
    *("values-pastry", "values-oscar", "values-small-world"),
}
"""Systems whose overlay and dissemination are those of others; `test_deliveries_told` has all of them."""
SYSTEMS = [
    name for name in OWN_SYSTEMS if name not in _OF_PARTS and registry.SYSTEMS[name].serves != "membership"
]


@pytest.mark.timeout(900)
def test_spans_and_tables_of_two_hosts_tell_what_was_handed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All these systems in one test: building the tables takes as long for many trials as for one."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    folder = tmp_path_factory.mktemp("told")
    with ProcessPoolExecutor(_AT_ONCE, get_context("spawn")) as pool:
        trials = list(pool.map(run_one, [*SYSTEMS, REPAIRING.name], repeat(folder)))
    assert sum(len(trial.handed) for trial in trials) > _ENOUGH * len(trials)
    check_tables(spark, RunDirectory(folder / "run"), trials)


def run_one(system: str, folder: Path) -> WitnessedTrial:
    runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.25}
    spec = spec_of(system, folder / system, peers=24, measure="18 s", runtime=runtime)
    run = RunDirectory(folder / "run")
    trial = run_witnessed(spec, run, lambda *of: run_processes(*of, lambda progress: None))
    reasons = trial.fidelity.reasons
    late = any("one-way delay error" in reason for reason in reasons)
    assert len(trial.handed) > _ENOUGH or late, (system, reasons)
    check_spans(trial)
    return trial
