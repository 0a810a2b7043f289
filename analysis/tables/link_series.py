"""The load of peers' links and the waits of messages there, in time, by the classes of `network.bandwidth`.

The table `link_series` has one row for each class of links, way and interval of the time series, of trials
with bandwidth whose links carried anything: class ("" where all peers have the same links), way ("up" or
"down"), start_s, end_s, messages? bigint (null where the kernel limits the links), bytes bigint, load?
(what the links took in over what they can carry while their peers are up by the plan), wait_ms?,
wait_p99_ms? (mean and 99th percentile; null without messages), drops bigint (packets where the kernel limits
the links). It comes from what hosts told in `fidelity.json`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few

_COLUMNS = {
    "messages": "messages",
    "bytes": "bytes",
    "load": "load",
    "wait_ms": "wait_mean_ms",
    "wait_p99_ms": "wait_p99_ms",
    "drops": "drops",
}
"""The columns of what hosts told of an interval, and what they are in the fidelity of a trial."""
_SERIES = pa.schema(
    [
        ("trial", pa.string()),
        ("class", pa.string()),
        ("way", pa.string()),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("messages", pa.int64()),
        ("bytes", pa.int64()),
        ("load", pa.float64()),
        ("wait_ms", pa.float64()),
        ("wait_p99_ms", pa.float64()),
        ("drops", pa.int64()),
    ]
)


def link_series(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the rows of the table `link_series`."""
    rows: list[dict[str, object]] = []
    for record in records:
        bandwidth = record.spec.network.bandwidth
        if bandwidth is None:
            continue
        names = [each.name for each in bandwidth.classes] or [""]
        for told in record.fidelity.get("links", ()):
            link = {"trial": record.name, "class": names[told["link_class"]], "way": told["way"]}
            for interval in told.get("intervals", ()):
                times = {"start_s": interval["start_s"], "end_s": interval["end_s"]}
                rows.append(link | times | {name: interval[of] for name, of in _COLUMNS.items()})
    return few(spark.createDataFrame(pa.Table.from_pylist(rows, _SERIES)))
