"""Tables as Parquet files, which have the same rows in the same order whenever they are made from the same
data."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from analysis.engine.literal_reader import literal_reader
from analysis.engine.one_partition import gathered, is_for_little

_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


class TableFiles:
    """The tables of a run, which are kept: `<folder>/<table>/trial=<name>/part-00000.parquet`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, frame: DataFrame, table: str, *keys: str) -> DataFrame:
        """Write a table sorted by `keys`, which make rows unique, and return it as it can be read again.

        An earlier table is replaced.
        """
        by_trial = frame.coalesce(1) if is_for_little(frame.sparkSession) else frame.repartition("trial")
        return self._write(by_trial.sortWithinPartitions("trial", *keys), table)

    def write_in_order(self, spark: SparkSession, **frames: DataFrame) -> dict[str, DataFrame]:
        """Write frames whose partitions hold one trial each: one file a partition, rows as they come."""
        spark.conf.set(_WRITERS, "1")  # without this Spark sorts all rows by trial
        try:
            with ThreadPoolExecutor(len(frames)) as pool:
                written = {name: pool.submit(self._write, frame, name) for name, frame in frames.items()}
                return {name: table.result() for name, table in written.items()}
        finally:
            spark.conf.unset(_WRITERS)

    def write_nothing(self, empty: DataFrame, table: str) -> DataFrame:
        """Write a table without rows: its folder alone."""
        self.remove(table)
        (self._folder / table).mkdir(parents=True)
        return empty

    def remove(self, table: str) -> None:
        """Remove a table if it is there."""
        shutil.rmtree(self._folder / table, ignore_errors=True)

    def _write(self, frame: DataFrame, table: str) -> DataFrame:
        self.remove(table)
        folder = self._folder / table
        frame.write.partitionBy("trial").parquet(str(folder))
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                _rename_parts(path)
            else:
                path.unlink()
        return self._read(frame, table)

    def _read(self, frame: DataFrame, table: str) -> DataFrame:
        reader = literal_reader(frame.sparkSession).schema(frame.schema)
        return gathered(reader.parquet(str(self._folder / table)))


class PassingFiles(TableFiles):
    """Tables that serve one session alone: rows in any order, in as few files as may be."""

    def write(self, frame: DataFrame, table: str, *keys: str) -> DataFrame:
        """Write a table, and return it as it can be read again."""
        return self._write(frame, table)

    def _write(self, frame: DataFrame, table: str) -> DataFrame:
        # A task and a file for each of many small trials would take longer than their rows.
        frame = frame.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
        frame.write.parquet(str(self._folder / table))
        return self._read(frame, table)


def _rename_parts(folder: Path) -> None:
    """Rename the files, because Spark's names are random, and remove its checksums, which repeat them."""
    for checksum in folder.glob(".*.crc"):
        checksum.unlink()
    for index, part in enumerate(sorted(folder.glob("*.parquet"))):
        part.rename(folder / f"part-{index:05}.parquet")
