"""The judgement of a campaign: whether its trials are as expected, and no more.

An analysis makes all tables and measures, which takes Spark longer than hundreds of small trials take
themselves. Here it reads the telemetry once, makes the tables of the expected measures alone, and writes none
of them into the run. Where invariants alone are expected, Spark does not start.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

from analysis.contract.trials import TrialRecord
from analysis.engine.spark_session import spark_session
from analysis.engine.stages import MEASURING, READING, STARTING, SUMMARY, Stages, Tell
from analysis.expectations import measure_expected
from analysis.measures.asked_counts import set_zeros
from analysis.measures.catalogue import own_measures
from analysis.measures.measure_run import Measured, measure_all
from analysis.measures.series import add_series
from analysis.pipeline import read_whole, trace_bytes
from analysis.summary import summarize
from analysis.tables.build_tables import tables_on_demand
from analysis.tables.reconciliation import Found, reconcile
from emulator.experiment.file.expectation import Expectation
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.run.directory import RunDirectory

_MUCH_TELEMETRY = 50 << 20
"""The least bytes of traces for which compiling saves more than it costs: more than for an analysis, because
few queries are asked."""


def judge(run: RunDirectory, tell: Tell, spark: SparkSession | None = None) -> dict[str, Any]:
    """Judge all trials of a run by the experiment's expectations, and return the summary.

    It has the measures alone that came with those expected. `tell`, `spark` and the errors are those of
    `analyze`.
    """
    experiment, records = read_whole(run)
    ready = [record for record in records if record.has_telemetry]
    size = trace_bytes(ready)
    with Stages(tell, size, READING if spark else STARTING) as stages:
        found: list[Found] = []
        measured = Measured({record.name: {} for record in ready}, {})
        is_measured = bool(ready and experiment.expect)
        if is_measured and spark is not None:
            measured = _measure(experiment, ready, stages, spark, found)
        elif is_measured:
            stages.begin(STARTING)
            with spark_session(optimize=size > _MUCH_TELEMETRY) as own:
                measured = _measure(experiment, ready, stages, own, found)
        stages.begin(SUMMARY)
        compared = {record.name: reconcile(record, found) for record in ready} if is_measured else {}
        without_claims = experiment.model_copy(update={"claims": []})
        return summarize(run, without_claims, records, measured, {}, compared)


def _measure(
    experiment: ExperimentSpec,
    records: Sequence[TrialRecord],
    stages: Stages,
    spark: SparkSession,
    found: list[Found],
) -> Measured:
    """Return the measures of which the experiment expects something, of trials and their parts.

    Those that come along without a value are left out: their tables may lack what they need.
    """
    expected = [Expectation.parse(text) for text in experiment.expect]
    asked = {each.measure for each in expected}
    # Measures of packages may read any column.
    served = asked if asked <= own_measures().keys() else None
    of_trials = {each.measure for each in expected if each.part is None}
    with TemporaryDirectory(prefix="trellis-tables-") as folder:
        tables = tables_on_demand(spark, Path(folder), list(records), stages, found, served)
        add_series(tables)
        stages.begin(MEASURING)
        measured = measure_all(tables, of_trials)
        set_zeros(measured.values, records)
        of_parts = {each.measure for each in expected if each.part is not None}
        measured.of_parts.update(measure_expected(tables, experiment, records, tables.troubles, of_parts))
    for values in (measured.values, *measured.of_parts.values()):
        for trial, of_trial in values.items():
            values[trial] = {name: v for name, v in of_trial.items() if v is not None or name in asked}
    measured.troubles[:0] = tables.troubles
    return measured
