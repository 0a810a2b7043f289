"""The tables `hops` and `points`, which the tasks that read the telemetry write themselves.

The rows of both are as many as those of all other tables together. A task decodes them into columns, from
which it writes Parquet at once: given to Spark, each row would be taken apart and put together again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.trials import TrialRecord
from analysis.otlp.notes import has_rows
from analysis.otlp.source import PartRows, map_parts
from analysis.otlp.spans import POINTS, SPANS
from analysis.tables.clocks import TIMES, Clocks, with_times
from analysis.tables.reconciliation import Found
from analysis.tables.table_files import TableFiles, unfinished
from analysis.tables.telemetry import clocks_of
from emulator.telemetry import names

_HOPS = [
    *("trial", "trace", "span", "parent", "message", "kind", "channel", "host", "sender", "peer", "depth"),
    *("topic", "interested"),
    *("delivered", "hops", "bytes", "event", "lookup", "interest", "session", "graceful"),
    *("number", "sent_s", "handled_s", "delay_ms"),
]
_POINTS = [
    *("trial", "host", "incarnation", "name", "at_s", "value", "peer", "neighbour", "kind", "message"),
    *("traffic", "channel", "identifier", "space"),
]
_DECLARED = ("channel", "name", "unit", "text", "better")
_ALL = {each.name: each for schema in (SPANS, POINTS, TIMES) for each in schema}
_ALL["at_s"] = pa.field("at_s", pa.float64())
_SCHEMAS = {
    "hops": pa.schema([_ALL[name] for name in _HOPS]),
    "points": pa.schema([_ALL[name] for name in _POINTS]),
}
_TABLES = {"traces": "hops", "metrics": "points"}
_GROUP_ROWS = 100_000
"""The least rows of a group in a file, if there are as many."""
_TOLD = pa.schema([("told", pa.string())])


@dataclass(slots=True)
class Telemetry:
    """The facts that the telemetry of trials tells beside hops and points."""

    found: list[Found] = field(default_factory=list)
    losses: list[tuple[str, str, int, int, str]] = field(default_factory=list)
    """The stretches that could not be read: trial, file, offset, bytes, reason."""
    declared: list[tuple[str, ...]] = field(default_factory=list)
    """Descriptions of gauges: trial, channel, name, unit, text, better."""
    observations: int = 0
    completions: int = 0
    unmeasured: int = 0
    """The number of gauges and observations that are NaN or infinite."""
    lost: int = 0
    """The number of readings of how much the network lost."""

    def note(self, rows: pa.Table, part: PartRows) -> None:
        """Note rows that tell of losses, or of how much was read."""
        self.losses += [(part.trial, *loss.values()) for loss in rows["loss"].to_pylist() if loss]
        tallies = [tally for tally in rows["tally"].to_pylist() if tally]
        self.found += [
            Found(part.trial, each["file"], each["host"], each["start"], each["found"], part.signal)
            for each in tallies
        ]

    def add(self, told: str) -> None:
        """Add what a task has told as JSON."""
        more = json.loads(told)
        self.found += [Found(*each) for each in more["found"]]
        self.losses += [tuple(each) for each in more["losses"]]
        self.declared += [tuple(each) for each in more["declared"]]
        self.observations += more["observations"]
        self.completions += more["completions"]
        self.unmeasured += more["unmeasured"]
        self.lost += more["lost"]


def write_telemetry(
    spark: SparkSession,
    files: TableFiles,
    records: list[TrialRecord],
    metric: str = "",
    signals: Sequence[str] = tuple(_TABLES),
) -> tuple[dict[str, DataFrame], Telemetry]:
    """Write hops and points in one pass over the files of these trials, or of some of the signals.

    Returns the tables by name, and what else is there. Observations and completions take another pass, which
    is needed only where there are some. With `metric`, `points` has the points of this metric alone, and what
    others tell is not known.
    """
    for signal in signals:
        files.prepare(_TABLES[signal])
    clocks = clocks_of(spark, records)

    def write(parts: Iterator[PartRows]) -> Iterator[pa.RecordBatch]:
        told = Telemetry()
        context = TaskContext.get()
        with _Writer(files, context.partitionId() if context else 0) as writer:
            for part in parts:
                take = _points if part.signal == "metrics" else partial(_hops, clocks=clocks.get(part.trial))
                for batch in part.batches:
                    rows = pa.Table.from_batches([batch])
                    if has_rows(batch):
                        writer.write(_TABLES[part.signal], part, take(rows, told))
                    else:
                        told.note(rows, part)
        yield pa.RecordBatch.from_pydict({"told": [json.dumps(asdict(told))]}, schema=_TOLD)

    directories = [record.directory.telemetry.resolve() for record in records]
    telemetry = Telemetry()
    for row in map_parts(spark, signals, directories, write, _TOLD, metric=metric).collect():
        telemetry.add(row.told)
    written = {}
    for table in (_TABLES[signal] for signal in signals):
        files.remove_unfinished(table)
        written[table] = files.read(spark, table, from_arrow_schema(_SCHEMAS[table]))
    return written, telemetry


def _hops(spans: pa.Table, told: Telemetry, clocks: Clocks | None) -> pa.Table:
    """Return the rows of `hops`; the telemetry counts observations and completions."""
    is_hop = spans["observed"].is_null()
    observed = spans["value"].filter(spans["observed"].is_valid())
    told.observations += len(observed)
    told.unmeasured += _finite(observed).null_count
    told.completions += len(spans) - spans["completed"].null_count
    hops = with_times(spans.filter(is_hop), clocks)
    channel = pc.if_else(hops["sender"].is_valid(), hops["channel"].fill_null(""), None)
    return _with(
        hops,
        delivered=hops["delivered"].fill_null(False),
        depth=hops["depth"].fill_null(0),
        channel=channel,
    ).select(_HOPS)


def _points(points: pa.Table, told: Telemetry) -> pa.Table:
    """Return the rows of `points`; the telemetry gets what gauges declare, and how many have no number."""
    name, value = points["name"], _finite(points["value"])
    is_gauge = pc.or_(pc.starts_with(name, names.STATE), pc.starts_with(name, names.SAMPLE))
    told.unmeasured += value.filter(is_gauge).null_count
    told.lost += pc.sum(pc.equal(name, names.LOST_MESSAGES)).as_py() or 0
    declares = reduce(pc.or_, (points[column].is_valid() for column in ("unit", "text", "better")))
    about = points.filter(declares).select(["trial", *_DECLARED])
    about = about.group_by(about.column_names).aggregate([])
    told.declared += [tuple(row.values()) for row in about.to_pylist()]
    at_s = pc.divide(points["at_ns"].cast(pa.float64(), safe=False), 1e9)
    return _with(points, value=value).append_column("at_s", at_s).select(_POINTS)


def _finite(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values, with null for NaN and infinity."""
    return pc.if_else(pc.is_finite(values), values, None)


def _with(rows: pa.Table, **columns: pa.ChunkedArray) -> pa.Table:
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows


class _Writer:
    """The files of one task.

    A file has its name when it is whole, since a task may be killed and run again.
    """

    def __init__(self, files: TableFiles, task: int) -> None:
        self._files = files
        self._task = task
        self._open: dict[str, _File] = {}

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for file in self._open.values():
            file.close(whole=kind is None)

    def write(self, table: str, part: PartRows, rows: pa.Table) -> None:
        """Add rows to the file for this part of the table."""
        if not len(rows):
            return
        path = self._files.part(table, part.trial, part.number, self._task)
        file = self._open.get(table)
        if file is None or file.path != path:
            if file is not None:
                file.close(whole=True)
            schema = _SCHEMAS[table]
            if self._files.of_one_trial:
                schema = schema.remove(schema.get_field_index("trial"))
            file = self._open[table] = _File(path, schema)
        file.write(rows)


class _File:
    """A file of Parquet that is being written, in groups of many rows."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._passing = unfinished(path)
        texts = [each.name for each in schema if pa.types.is_string(each.type)]
        self._writer = pq.ParquetWriter(
            self._passing, schema, compression="zstd", use_dictionary=texts, store_schema=False
        )
        self._schema = schema
        self._rows: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        self._rows.append(rows.select(self._schema.names))
        if sum(map(len, self._rows)) >= _GROUP_ROWS:
            self._flush()

    def close(self, *, whole: bool) -> None:
        """Give the file its name if it is whole, and remove it otherwise."""
        if whole:
            self._flush()
        self._writer.close()
        if whole:
            self._passing.replace(self.path)
        else:
            self._passing.unlink()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.concat_tables(self._rows).combine_chunks())
            self._rows.clear()
