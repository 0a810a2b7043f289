"""The trials of a run directory, as the analysis sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec, RealTime, TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory, TrialDirectory

_TRIALS = pa.schema(
    [
        ("trial", pa.string()),
        ("serves", pa.string()),
        ("system", pa.string()),
        ("join_end_s", pa.float64()),
        ("measure_start_s", pa.float64()),
        ("measure_end_s", pa.float64()),
        ("trial_end_s", pa.float64()),
        ("interval_s", pa.float64()),
        ("calm_until_s", pa.float64()),
        ("borders_s", pa.list_(pa.float64())),
        ("has_faults", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial: its part of the experiment, and how it ended."""

    name: str
    variant: str
    values: dict[str, Any]
    """The varied keys, dotted, with their values."""
    spec: TrialSpec
    directory: TrialDirectory
    status: dict[str, Any]
    fidelity: dict[str, Any]

    @property
    def state(self) -> str:
        return str(self.status.get("state", "planned"))

    @property
    def valid(self) -> bool:
        return self.state == "valid"

    @property
    def has_telemetry(self) -> bool:
        return (self.directory.plan / "publications.parquet").exists() and any(self._trace_files())

    @property
    def trace_bytes(self) -> int:
        """The size of the trial's files of spans in bytes."""
        return sum(path.stat().st_size for path in self._trace_files())

    def _trace_files(self) -> Iterator[Path]:
        return self.directory.telemetry.glob("*-traces-*.otlp")

    @property
    def serves(self) -> str:
        """The kind of the trial's workload: what its peers were asked for."""
        return self.spec.workload.asks_for

    @property
    def time_scale(self) -> float:
        """The wall seconds for one trial second."""
        return self.spec.runtime.time_scale if isinstance(self.spec.runtime, RealTime) else 1.0

    @property
    def interval_s(self) -> float:
        """The width (s) of an interval of its time series."""
        return self.spec.interval


def read_experiment(run: RunDirectory) -> ExperimentSpec:
    """Return what the run was asked to do. Raises ExperimentError if its file was damaged."""
    return load(run.experiment, check_files=False, check_systems=False)


def read_trials(run: RunDirectory, experiment: ExperimentSpec) -> list[TrialRecord]:
    """Return all trials of the experiment, including those that never ran, in the order of the experiment."""
    records = []
    for trial in trials(experiment):
        directory = run.trial(trial.name)
        records.append(
            TrialRecord(
                name=trial.name,
                variant=trial.variant.name,
                values=trial.variant.values,
                spec=trial.spec,
                directory=directory,
                status=directory.read_status(),
                fidelity=directory.read_fidelity(),
            )
        )
    return records


def trial_frame(spark: SparkSession, records: list[TrialRecord]) -> DataFrame:
    """Return one row a trial.

    The columns are trial, serves, system, join_end_s, measure_start_s, measure_end_s, trial_end_s,
    interval_s, calm_until_s (a flash crowd, a crash or a fault, or the end of the measure phase), borders_s
    (the times at which the measure phase or a fault begins, or a fault ends), has_faults. An attack that
    does not last as long as the measure phase is a fault here.
    """
    rows = []
    for record in records:
        phases, episodes = record.spec.phases, record.spec.episodes.values()
        events = (record.spec.churn.flash_crowd, record.spec.churn.crash)
        begin = [*(event.at for event in events if event), *(each.begins for each in episodes)]
        calm = min(begin, default=phases.measure_end)
        times = (phases.join, phases.measure_start, phases.measure_end, phases.end, record.interval_s)
        of_faults = {at for each in episodes for at in (each.begins, each.ends) if isfinite(at)}
        borders = sorted({phases.measure_start, *of_faults})
        system, has_faults = record.spec.system.name, bool(episodes)
        rows.append((record.name, record.serves, system, *times, calm, borders, has_faults))
    # Rows of Arrow are at hand when Spark plans a query; it would read others with a job.
    return spark.createDataFrame(
        pa.Table.from_pylist([dict(zip(_TRIALS.names, row, strict=True)) for row in rows], _TRIALS)
    )


def host_frame(spark: SparkSession, records: list[TrialRecord]) -> DataFrame:
    """Return one row a host: trial, host, offset_start_ns, offset_end_ns, trial_end_s, lost_at_s?.

    The offsets are its clock minus the coordinator's, in trial time.
    """
    rows = [
        (
            r.name,
            host["host"],
            host.get("clock_offset_start_ns", 0) / r.time_scale,
            host.get("clock_offset_end_ns", 0) / r.time_scale,
            r.spec.phases.end,
            host.get("lost_at_s") if host.get("state") == "lost" else None,
        )
        for r in records
        for host in r.fidelity.get("hosts", [])
    ]
    columns = (
        "trial string, host string, offset_start_ns double, offset_end_ns double, trial_end_s double, "
        "lost_at_s double"
    )
    return spark.createDataFrame(rows, columns)
