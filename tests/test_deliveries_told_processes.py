"""Telemetry of local processes tells of each thing that an application was handed, and of nothing else."""

from __future__ import annotations

import pytest
from fleet_toys import PATH
from pyspark.sql import SparkSession
from repairing_toy import REPAIRING
from told_and_handed import OWN_SYSTEMS, Trial, check_tables, run_trial, spec_of

from emulator.experiment.rundir import RunDirectory
from emulator.fleet.processes import run_processes


def test_spans_and_tables_of_two_hosts_tell_what_was_handed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All systems in one test: building the tables takes as long for many trials as for one."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    folder = tmp_path_factory.mktemp("told")
    run = RunDirectory(folder / "run")
    trials: list[Trial] = []
    for system in [*OWN_SYSTEMS, REPAIRING.name]:
        runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.1}
        spec = spec_of(system, folder / system, peers=24, measure="18 s", runtime=runtime)
        trial = run_trial(spec, run, lambda *of: run_processes(*of, lambda progress: None))
        assert len(trial.handed) > 40, system
        trial.check_spans()
        trials.append(trial)
    check_tables(spark, run, trials)
