"""Spans and data points of OTLP files as rows of Spark.

`signal` is "traces" (columns of `analysis.otlp.spans.SPANS`) or "metrics" (`POINTS`), `directories` are
folders with `<host>-<signal>-<start>.otlp` files; a Collector's holds many hosts. A file is read in parts, in
parallel; the parts depend on the files alone. A message that was written twice is read once. What cannot be
read, such as a record that was cut off, is skipped and makes a row whose `loss` is set. After the rows of
each stretch of a file come rows whose `tally` is set: how many there were, by host and start.

The analysis calls `map_parts` and `read_files`. For notebooks the same rows come from the Spark data source
`otlp`, whose planning takes Spark four more processes of Python:

    spark.dataSource.register(OtlpSource)
    spark.read.format("otlp").option("signal", "traces").option("directories", json.dumps([...])).load()
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import zstandard
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.engine.one_partition import is_for_little
from analysis.otlp.notes import Tally, loss_batch, tally_batch
from analysis.otlp.spans import POINTS, SPANS, decode_points, decode_spans
from emulator.telemetry.otlp_files import Cut
from emulator.telemetry.repeated_messages import scan_once

_PART_BYTES = 2 << 20
_BATCH_BYTES = 4 << 20
_LONGEST_RECORD = 1 << 30
_TASKS_A_CORE = 4
_SCHEMAS = {"traces": SPANS, "metrics": POINTS}


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Records of one file in its order, and what was cut off in that file, if these are its last ones."""

    file: str
    records: list[tuple[int, int]]
    """The offset and the length of each frame in bytes."""
    cuts: list[Cut]


class Part(InputPartition):
    """The input of one task: stretches of one or more files of one trial."""

    def __init__(self, trial: str, stretches: list[_Stretch]) -> None:
        self.trial = trial
        self.stretches = stretches
        self.of_trial = ""
        """The trial whose records alone are read; empty if all are."""


@dataclass(frozen=True, slots=True)
class PartRows:
    """The rows of one part of the files of a trial."""

    trial: str
    signal: str
    number: int
    """The place of the part among those of its trial and signal."""
    batches: Iterator[pa.RecordBatch]


def map_parts(
    spark: SparkSession,
    signals: Sequence[str],
    directories: Sequence[Path],
    work: Callable[[Iterator[PartRows]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    attribute: str = "",
    metric: str = "",
) -> DataFrame:
    """Return the rows that `work` makes of the files of these folders, `<trial>/telemetry`, in their order.

    Each task calls `work` once, with parts that follow each other; it makes batches of `schema`. Records of
    another trial are losses. With `attribute`, spans without an attribute of this name are left out, and are
    not decoded; with `metric`, so are points of other metrics, which the tallies count all the same.
    """
    found = [
        (signal, number, part)
        for signal in signals
        for directory in directories
        for number, part in enumerate(_parts(directory, signal))
    ]
    for _, _, part in found:
        part.of_trial = part.trial
    # Each task gets all parts and unpacks its own.
    parts = [pickle.dumps(each) for each in found]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from work(rows(number) for batch in batches for number in batch["id"].to_pylist())

    def rows(place: int) -> PartRows:
        signal, number, part = pickle.loads(parts[place])
        return PartRows(part.trial, signal, number, _read_part(part, signal, attribute.encode(), metric))

    # Spark puts as many numbers of a range as it can into each partition, in order.
    numbers = spark.range(0, len(parts), 1, _tasks(spark, [part for _, _, part in found]))
    return numbers.mapInArrow(read, from_arrow_schema(schema))


def _tasks(spark: SparkSession, parts: Sequence[Part]) -> int:
    """Return how many tasks read the parts. A task takes longer to begin than to read a small trial, so there
    are more of them than cores only where there is much to read."""
    cores = spark.sparkContext.defaultParallelism
    if not is_for_little(spark):
        size = sum(length for part in parts for stretch in part.stretches for _, length in stretch.records)
        cores = max(_TASKS_A_CORE * cores, size // _PART_BYTES)
    return max(min(cores, len(parts)), 1)


def read_files(
    spark: SparkSession, signal: str, directories: Sequence[Path], attribute: str = ""
) -> DataFrame:
    """Return the rows of all files of these folders, as `map_parts` reads them."""

    def rows(parts: Iterator[PartRows]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from part.batches

    return map_parts(spark, [signal], directories, rows, _SCHEMAS[signal], attribute)


class OtlpSource(DataSource):
    """The Spark data source `otlp`, as the module describes it. Raises ValueError for an unknown signal."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._signal = options.get("signal", "traces")
        if self._signal not in _SCHEMAS:
            raise ValueError(f"signal {self._signal!r} is none of {', '.join(_SCHEMAS)}")
        self._directories = [Path(d) for d in json.loads(options["directories"])]

    @classmethod
    def name(cls) -> str:
        return "otlp"

    def schema(self) -> StructType:
        return from_arrow_schema(_SCHEMAS[self._signal])

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self._signal, self._directories)


class _Reader(DataSourceReader):
    def __init__(self, signal: str, directories: list[Path]) -> None:
        self._signal = signal
        self._directories = directories

    def partitions(self) -> Sequence[InputPartition]:
        return _all_parts(self._directories, self._signal)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition; Spark passes one, or None where there is none."""
        if isinstance(partition, Part):
            yield from _read_part(partition, self._signal)


def _read_part(part: Part, signal: str, attribute: bytes = b"", metric: str = "") -> Iterator[pa.RecordBatch]:
    for stretch in part.stretches:
        yield from _read(part, stretch, signal, attribute, metric)


def _all_parts(directories: Sequence[Path], signal: str) -> list[Part]:
    return [part for directory in directories for part in _parts(directory, signal)]


def _parts(directory: Path, signal: str) -> Iterator[Part]:
    """Yield parts of about equal size; small files share one."""
    trial = directory.parent.name
    stretches: list[_Stretch] = []
    size = 0
    for contents in scan_once(sorted(directory.glob(f"*-{signal}-*.otlp"))):
        file, records = str(contents.path), contents.records
        first = 0
        for index, (_, length) in enumerate(records):
            size += length
            if size >= _PART_BYTES:
                stretches.append(_Stretch(file, records[first : index + 1], []))
                yield Part(trial, stretches)
                first, stretches, size = index + 1, [], 0
        if first < len(records) or contents.cuts:
            stretches.append(_Stretch(file, records[first:], contents.cuts))
    if stretches:
        yield Part(trial, stretches)


def _read(
    part: Part, stretch: _Stretch, signal: str, attribute: bytes, metric: str
) -> Iterator[pa.RecordBatch]:
    trial, path = part.trial, Path(stretch.file)
    decompressor = zstandard.ZstdDecompressor()
    schema = _SCHEMAS[signal]

    def loss(offset: int, length: int, reason: object) -> pa.RecordBatch:
        return loss_batch(schema, trial, path.name, offset, length, str(reason))

    def decode(frames: list[tuple[int, int, bytes]]) -> Iterator[pa.RecordBatch]:
        data = b"".join(message for _, _, message in frames)
        try:
            if signal == "traces":
                yield decode_spans(data, part.of_trial, tally, attribute)
            else:
                yield decode_points(data, part.of_trial, tally, metric)
        except ValueError as error:
            if len(frames) == 1:
                yield loss(frames[0][0], frames[0][1], f"not a message of {signal}: {error}")
            else:
                for frame in frames:
                    yield from decode([frame])

    tally: Tally = Counter()
    frames: list[tuple[int, int, bytes]] = []
    size = 0
    with path.open("rb") as file:
        for offset, length in stretch.records:
            file.seek(offset)
            try:
                message = decompressor.decompress(file.read(length), max_output_size=_LONGEST_RECORD)
            except zstandard.ZstdError as error:
                yield loss(offset, length, f"damaged frame: {error}")
                continue
            frames.append((offset, length, message))
            size += len(message)
            if size >= _BATCH_BYTES:
                yield from decode(frames)
                frames, size = [], 0
    if frames:
        yield from decode(frames)
    for cut in stretch.cuts:
        yield loss(cut.offset, cut.lost_bytes, "cut off within a record")
    if tally:
        yield tally_batch(schema, trial, path.name, tally)
