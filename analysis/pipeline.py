"""The pipeline from the telemetry of a run to its tables and `summary.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from analysis.contract.trials import TrialRecord, read_experiment, read_trials
from analysis.contract.trouble import Trouble
from analysis.engine.spark_session import spark_session
from analysis.engine.stages import MEASURING, READING, SERIES, STARTING, SUMMARY, Stages, Tell
from analysis.expectations import measure_expected
from analysis.measures.asked_counts import set_zeros
from analysis.measures.measure_run import Measured, measure_all
from analysis.measures.phases import write_phases
from analysis.measures.series import build_series
from analysis.summary import summarize
from analysis.tables.absences import Absence, listed
from analysis.tables.build_tables import build_tables
from analysis.tables.impossible import judged
from analysis.tables.observations import listed_unmeasured
from analysis.tables.reconciliation import Found, reconcile
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.plan.provenance import check_tables
from emulator.experiment.plan.tables import check_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Check
from emulator.experiment.run.runs import check_plans

_MUCH_TELEMETRY = 10 << 20
"""The least bytes of traces, some 300,000 spans, for which compiling saves more than it costs."""


def has_much_telemetry(run: RunDirectory) -> bool:
    """Return whether the run has so much telemetry by now that compiling pays. Raises ExperimentError as
    `analyze` does."""
    return has_much(trace_bytes(read_trials(run, read_experiment(run))))


def has_much(size: int) -> bool:
    """Return whether compiling pays for traces of this size in bytes."""
    return size > _MUCH_TELEMETRY


def analyze(run: RunDirectory, tell: Tell, spark: SparkSession | None = None) -> dict[str, Any]:
    """Analyse all trials that have telemetry, however they ended, and return the summary.

    `tell` is told what is being done, and how far it is. The results of an earlier analysis are replaced.
    Without `spark`, a session is started and stopped. Raises ExperimentError if `experiment.yaml` is damaged,
    NoRun if it is not what the trials were planned from, OtherPlan if a table of a plan is not, DamagedFile
    for other files of the run.
    """
    experiment, records = read_whole(run)
    ready = [record for record in records if record.has_telemetry]
    size = trace_bytes(ready)
    with Stages(tell, size, READING if spark else STARTING) as stages:
        measured = Measured({}, {})
        wrong: dict[str, list[Check]] = {}
        away: dict[str, list[Absence]] = {}
        found: list[Found] = []
        if ready and spark is not None:
            measured, away, wrong = _measure(run, ready, experiment, stages, spark, found)
        elif ready:
            stages.begin(STARTING)
            with spark_session(optimize=has_much(size)) as own:
                measured, away, wrong = _measure(run, ready, experiment, stages, own, found)
        stages.begin(SUMMARY)
        compared = {record.name: [*reconcile(record, found), *wrong.get(record.name, ())] for record in ready}
        return summarize(run, experiment, records, measured, away, compared, is_whole=True)


def read_whole(run: RunDirectory) -> tuple[ExperimentSpec, list[TrialRecord]]:
    """Return the experiment of a run and its trials, whose plans are as they were drawn. Raises as `analyze`
    does."""
    experiment = read_experiment(run)
    check_plans(run, experiment)
    records = read_trials(run, experiment)
    for record in records:
        if record.has_telemetry:
            check_plan(record.directory.plan, record.spec.workload.kind)
            check_tables(record.directory.plan, record.spec.workload.kind)
    return experiment, records


def _measure(
    run: RunDirectory,
    records: Sequence[TrialRecord],
    experiment: ExperimentSpec,
    stages: Stages,
    spark: SparkSession,
    found: list[Found],
) -> tuple[Measured, dict[str, list[Absence]], dict[str, list[Check]]]:
    troubles: list[Trouble] = []
    tables = build_tables(spark, run, list(records), stages, found, troubles)
    stages.begin(SERIES)
    tables = build_series(run, tables, records, troubles)
    stages.begin(MEASURING)
    measured = measure_all(tables)
    set_zeros(measured.values, records)
    measured.of_parts.update(measure_expected(tables, experiment, records, troubles))
    write_phases(run, tables, records, measured.about, troubles)
    measured.troubles[:0] = troubles
    measured.not_numbers.update(listed_unmeasured(tables))
    return measured, listed(tables), judged(spark, tables, records)


def trace_bytes(records: Sequence[TrialRecord]) -> int:
    """Return the size of the files of spans of these trials."""
    return sum(record.trace_bytes for record in records)
