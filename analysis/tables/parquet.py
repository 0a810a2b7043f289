"""Tables as Parquet files with the same rows in the same order whenever they are made from the same."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from emulator.experiment.rundir import RunDirectory

_TABLES_AT_ONCE = 3
_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def write_table(frame: DataFrame, run: RunDirectory, table: str, *keys: str) -> DataFrame:
    """Write `tables/<table>/trial=<name>/part-00000.parquet`, sorted by `keys`, which make rows unique.

    Returns the table as it can be read again. Whatever was there before is replaced.
    """
    return _write(frame.repartition("trial").sortWithinPartitions("trial", *keys), run, table)


def write_tables(run: RunDirectory, *wanted: tuple[str, DataFrame, tuple[str, ...]]) -> dict[str, DataFrame]:
    """Write tables (name, frame, keys) that do not need each other, a few at once; return them by name.

    The last step of each keeps one core busy.
    """
    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        written = {name: pool.submit(write_table, frame, run, name, *keys) for name, frame, keys in wanted}
        return {name: table.result() for name, table in written.items()}


def write_in_order(run: RunDirectory, spark: SparkSession, **frames: DataFrame) -> dict[str, DataFrame]:
    """Write frames whose partitions hold one trial each: one file a partition, rows as they come."""
    spark.conf.set(_WRITERS, "1")  # else Spark sorts all rows by trial
    try:
        with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
            written = {name: pool.submit(_write, frame, run, name) for name, frame in frames.items()}
            return {name: table.result() for name, table in written.items()}
    finally:
        spark.conf.unset(_WRITERS)


def write_nothing(empty: DataFrame, run: RunDirectory, table: str) -> DataFrame:
    """Write a table without rows: its folder alone."""
    folder = run.tables / table
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return empty


def _write(frame: DataFrame, run: RunDirectory, table: str) -> DataFrame:
    folder = run.tables / table
    shutil.rmtree(folder, ignore_errors=True)
    frame.write.partitionBy("trial").parquet(str(folder))
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            _rename_parts(path)
        else:
            path.unlink()
    return frame.sparkSession.read.schema(frame.schema).parquet(str(folder))


def _rename_parts(folder: Path) -> None:
    """Spark's names are random and its checksums repeat them."""
    for checksum in folder.glob(".*.crc"):
        checksum.unlink()
    for index, part in enumerate(sorted(folder.glob("*.parquet"))):
        part.rename(folder / f"part-{index:05}.parquet")
