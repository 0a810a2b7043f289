"""Completions: what protocols handed up of the operations of packages' kinds of workload."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.tables.observations import finite
from analysis.tables.telemetry import read_spans
from emulator.telemetry import names

COMPLETIONS = (
    "trial string, operation string, number bigint, peer int, at_s double, hops int, value double, "
    "trace binary, span bigint"
)


def completions(spark: SparkSession, records: list[TrialRecord]) -> DataFrame:
    """Return the rows of the table `completions`, read from the spans of these trials."""
    spans = read_spans(spark, records, names.OPERATION).where("completed is not null")
    return spans.select(
        *("trial", F.col("completed").alias("operation"), "number", "peer"),
        *(F.col("handled_s").alias("at_s"), "hops", finite("value").alias("value"), "trace", "span"),
    )
