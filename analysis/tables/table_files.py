"""Tables as Parquet files, which have the same rows in the same order whenever they are made from the same
data."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from analysis.contract.trials import TrialRecord
from analysis.engine.literal_reader import literal_reader
from analysis.engine.one_partition import gathered, is_for_little
from analysis.tables.plan import can_unite, read_plan, read_united, unite_plans

_UNFINISHED = ".{}.{}.unfinished"
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^" + "".join(map(chr, range(1, 32))))


class TableFiles:
    """The tables of a run, which are kept: `<folder>/<table>/trial=<name>/part-00000.parquet`."""

    of_one_trial = True
    """This is true if each file has rows of one trial alone, whose name is that of its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, frame: DataFrame, table: str, *keys: str) -> DataFrame:
        """Write a table sorted by `keys`, which make rows unique, and return it as it can be read again.

        An earlier table is replaced.
        """
        by_trial = frame.coalesce(1) if is_for_little(frame.sparkSession) else frame.repartition("trial")
        return self._write(by_trial.sortWithinPartitions("trial", *keys), table)

    def part(self, table: str, trial: str, number: int, task: int) -> Path:
        """Return the file for a part of a trial's rows that a task writes itself, as they come."""
        return self._folder.resolve() / table / f"trial={_escaped(trial)}" / f"part-{number:05}.parquet"

    def plan(self, spark: SparkSession, records: Sequence[TrialRecord], table: str) -> DataFrame:
        """Return a table of the plans of these trials, with a column `trial`."""
        return read_plan(spark, list(records), table)

    def remove_unfinished(self, table: str) -> None:
        """Remove the files that tasks which were killed left behind."""
        for path in (self._folder / table).rglob(_UNFINISHED.format("*", "*")):
            path.unlink()

    def write_nothing(self, empty: DataFrame, table: str) -> DataFrame:
        """Write a table without rows: its folder alone."""
        self.prepare(table)
        return empty

    def prepare(self, table: str) -> None:
        """Make the empty folder of a table whose parts will be written."""
        self.remove(table)
        (self._folder / table).mkdir(parents=True)

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
        return self.read(frame.sparkSession, table, frame.schema)

    def read(self, spark: SparkSession, table: str, schema: StructType) -> DataFrame:
        """Return a table that was written."""
        reader = literal_reader(spark).schema(schema)
        return gathered(reader.parquet(str(self._folder / table)))


class PassingFiles(TableFiles):
    """Tables that serve one session alone: rows in any order, in as few files as may be."""

    of_one_trial = False

    def part(self, table: str, trial: str, number: int, task: int) -> Path:
        """Return the file for all rows that a task writes itself."""
        return self._folder.resolve() / table / f"part-{task:05}.parquet"

    def plan(self, spark: SparkSession, records: Sequence[TrialRecord], table: str) -> DataFrame:
        """Return a table of the plans of these trials from one file of all of them."""
        if not can_unite(table):
            return read_plan(spark, list(records), table)
        file = self._folder.resolve() / f"plan-{table}.parquet"
        if not file.exists():
            passing = unfinished(file)
            unite_plans(records, table, passing)
            passing.replace(file)
        return read_united(spark, table, file)

    def write(self, frame: DataFrame, table: str, *keys: str) -> DataFrame:
        """Write a table, and return it as it can be read again."""
        return self._write(frame, table)

    def _write(self, frame: DataFrame, table: str) -> DataFrame:
        # A task and a file for each of many small trials would take longer than their rows.
        frame = frame.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
        frame.write.parquet(str(self._folder / table))
        return self.read(frame.sparkSession, table, frame.schema)


def unfinished(path: Path) -> Path:
    """Return a new name that a file has while it is written, which no reader of tables takes for one."""
    return path.with_name(_UNFINISHED.format(path.name, uuid4().hex))


def _escaped(trial: str) -> str:
    """Return a trial's name in that of a folder, as Spark writes it."""
    return "".join(f"%{ord(sign):02X}" if sign in _ESCAPED else sign for sign in trial)


def _rename_parts(folder: Path) -> None:
    """Rename the files, because Spark's names are random, and remove its checksums, which repeat them."""
    for checksum in folder.glob(".*.crc"):
        checksum.unlink()
    for index, part in enumerate(sorted(folder.glob("*.parquet"))):
        part.rename(folder / f"part-{index:05}.parquet")
