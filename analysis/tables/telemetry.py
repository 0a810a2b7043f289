"""The spans of trials in trial time of the coordinator's clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.otlp.notes import has_rows
from analysis.otlp.source import PartRows, map_parts, read_files
from analysis.otlp.spans import SPANS
from analysis.tables.clocks import TIMES, Clocks, with_times

_SCHEMA = pa.schema([*(each for each in SPANS if each.name not in ("loss", "tally")), *TIMES])


def read_spans(spark: SparkSession, records: list[TrialRecord], attribute: str = "") -> DataFrame:
    """Return the spans of these trials, with the columns `sent_s`, `handled_s` and `delay_ms`.

    With `attribute`, those without an attribute of this name are left out. What could not be read is left
    out too.
    """
    clocks = clocks_of(spark, records)

    def spans(parts: Iterator[PartRows]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            for batch in part.batches:
                if has_rows(batch):
                    found = with_times(pa.Table.from_batches([batch]), clocks.get(part.trial))
                    yield from found.select(_SCHEMA.names).to_batches()

    directories = [record.directory.telemetry.resolve() for record in records]
    return map_parts(spark, ["traces"], directories, spans, _SCHEMA, attribute)


def clocks_of(spark: SparkSession, records: list[TrialRecord]) -> dict[str, Clocks]:
    """Return the clocks of trials in which one of them differs from the coordinator's, by trial."""
    drifts = {record.name: _drifts(record) for record in records if any(_drifts(record).values())}
    if not drifts:
        return {}
    homes: dict[str, dict[int, str]] = {trial: {} for trial in drifts}
    skewed = [record for record in records if record.name in drifts]
    joins = read_files(spark, "traces", [record.directory.telemetry.resolve() for record in skewed])
    first = joins.where("message = 'join'").groupBy("trial", "peer").agg(F.min("host").alias("host"))
    for row in first.collect():
        homes[row.trial][row.peer] = row.host
    return {
        record.name: Clocks(record.spec.phases.end, drifts[record.name], homes[record.name])
        for record in skewed
    }


def _drifts(record: TrialRecord) -> Mapping[str, float]:
    """Return by how much each host's clock gained on the coordinator's, in trial ns."""
    hosts: list[dict[str, Any]] = record.fidelity.get("hosts", [])
    return {host["host"]: _gained(host) / record.time_scale for host in hosts}


def _gained(host: Mapping[str, Any]) -> float:
    return float(host.get("clock_offset_end_ns", 0) - host.get("clock_offset_start_ns", 0))
