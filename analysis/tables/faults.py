"""The faults of trials and their attacks, as their experiments ask for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few
from emulator.faults.spec import FaultSpec, Window

_FAULTS = pa.schema(
    [
        ("trial", pa.string()),
        ("fault", pa.string()),
        ("begins_s", pa.float64()),
        ("ends_s", pa.float64()),
        ("quiet_until_s", pa.float64()),
        ("first_s", pa.float64()),
    ]
)


def faults(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return one row for each fault that ends before its measure phase is over and while no other one holds.

    An attack that does not last as long as the measure phase is a fault here, by the name `attack`. The
    columns are trial, fault (its name), begins_s, ends_s, quiet_until_s, and first_s. Quiet is until the
    next one begins or the measure phase is over; first_s is when the first of all faults of the trial begins.
    A crash of peers that do not come back ends when it begins.
    """
    rows = []
    for record in records:
        every, measured_until = record.spec.episodes, record.spec.phases.measure_end
        first = min((fault.begins for fault in every.values()), default=0.0)
        for name, fault in every.items():
            end = fault.begins if _is_for_ever(fault) else fault.ends
            if any(other is not fault and other.begins <= end < other.ends for other in every.values()):
                continue
            later = [other.begins for other in every.values() if other.begins > end]
            until = min([*later, measured_until])
            if not math.isinf(end) and end < until:
                row = (record.name, name, fault.begins, end, until, first)
                rows.append(dict(zip(_FAULTS.names, row, strict=True)))
    if not rows:
        return few(spark.createDataFrame([], from_arrow_schema(_FAULTS)))
    return few(spark.createDataFrame(pa.Table.from_pylist(rows, _FAULTS)))


def _is_for_ever(fault: Window) -> bool:
    """Return whether it is a crash of peers that do not come back."""
    return isinstance(fault, FaultSpec) and fault.kind == "crash" and math.isinf(fault.ends)
