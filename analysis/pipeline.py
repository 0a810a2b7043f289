"""From the telemetry of a run to its tables and `summary.json`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from analysis.measures.measures import Values, measure
from analysis.measures.series import build_series
from analysis.session import spark_session
from analysis.summary import summarize
from analysis.tables.build import build_tables
from analysis.tables.trials import TrialRecord, read_experiment, read_trials
from emulator.experiment.rundir import RunDirectory

_MUCH_TELEMETRY = 10 << 20
"""Bytes of traces, some 300,000 spans: with fewer, compiling costs more than it saves."""


def analyze(
    run: RunDirectory, progress: Callable[[str], None], spark: SparkSession | None = None
) -> dict[str, Any]:
    """Analyse all trials that have telemetry, however they ended; returns the summary.

    `progress` is told what is being done. What was there of an earlier analysis is replaced. Without
    `spark`, a session is started and stopped. Raises ExperimentError if `experiment.yaml` is damaged.
    """
    experiment = read_experiment(run)
    records = read_trials(run, experiment)
    ready = [record for record in records if record.has_telemetry]
    measured: dict[str, Values] = {}
    if ready and spark is not None:
        measured = _measure(run, ready, progress, spark)
    elif ready:
        progress("starting Spark")
        much = sum(record.trace_bytes for record in ready) > _MUCH_TELEMETRY
        with spark_session(optimize=much) as own:
            measured = _measure(run, ready, progress, own)
    progress("writing the summary")
    return summarize(run, experiment, records, measured)


def _measure(
    run: RunDirectory, records: Sequence[TrialRecord], progress: Callable[[str], None], spark: SparkSession
) -> dict[str, Values]:
    progress(f"reading the telemetry of {len(records)} trials into tables")
    tables = build_tables(spark, run, list(records))
    progress("counting over time and topics")
    tables |= build_series(run, tables)
    progress("measuring")
    return measure(tables)
