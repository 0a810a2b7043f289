"""Tables as Parquet files with the same rows in the same order whenever they are made from the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from emulator.experiment.run.directory import RunDirectory

_TABLES_AT_ONCE = 4
"""The last step of each keeps one core busy; some wait for others."""
_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def write_table(frame: DataFrame, run: RunDirectory, table: str, *keys: str) -> DataFrame:
    """Write `tables/<table>/trial=<name>/part-00000.parquet`, sorted by `keys`, which make rows unique.

    Returns the table as it can be read again. Whatever was there before is replaced.
    """
    return _write(frame.repartition("trial").sortWithinPartitions("trial", *keys), run, table)


class TablesInMaking(Mapping[str, DataFrame]):
    """Tables that are written a few at once. Whoever asks for one waits until it is there.

    The `with` statement ends when all are there. An error in writing one is raised then, and to whoever asks.
    """

    def __init__(self, run: RunDirectory, there: Mapping[str, DataFrame]) -> None:
        self._run = run
        self._tables: dict[str, Future[DataFrame]] = {}
        for name, frame in there.items():
            self.put(name, frame)
        self._pool = ThreadPoolExecutor(_TABLES_AT_ONCE, "tables")

    def put(self, name: str, frame: DataFrame) -> None:
        """A table that needs no writing."""
        self._tables[name] = Future()
        self._tables[name].set_result(frame)

    def write(self, name: str, make: Callable[[], DataFrame], *keys: str) -> None:
        """Have a table made and written, see `write_table`. It may ask for tables that were named before."""
        self._tables[name] = self._pool.submit(lambda: write_table(make(), self._run, name, *keys))

    def __getitem__(self, name: str) -> DataFrame:
        return self._tables[name].result()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __enter__(self) -> TablesInMaking:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._pool.shutdown(cancel_futures=kind is not None)
        if kind is None:
            for table in self._tables.values():
                table.result()


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
