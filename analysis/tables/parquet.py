"""Tables as Parquet files with the same rows in the same order whenever they are made from the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame

from emulator.experiment.rundir import RunDirectory

_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def write_table(frame: DataFrame, run: RunDirectory, table: str, *keys: str) -> DataFrame:
    """Write `tables/<table>/trial=<name>/part-00000.parquet`, sorted by `keys`, which make rows unique.

    Returns the table as it can be read again. Whatever was there before is replaced.
    """
    return _write(frame.repartition("trial").sortWithinPartitions("trial", *keys), run, table)


def write_in_order(frame: DataFrame, run: RunDirectory, table: str) -> DataFrame:
    """The same for a frame whose partitions hold one trial each: one file a partition, rows as they come."""
    spark = frame.sparkSession
    spark.conf.set(_WRITERS, "1")  # else Spark sorts all rows by trial
    try:
        return _write(frame, run, table)
    finally:
        spark.conf.unset(_WRITERS)


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
