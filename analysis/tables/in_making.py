"""Tables that are made of each other: a few are written at once, or each when it is first asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from threading import RLock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.packages import Brought
from analysis.contract.tables import Make, RunTables, Table
from analysis.contract.trials import TrialRecord
from analysis.contract.trouble import FAILURES, NoTable, Trouble, Unfit
from analysis.engine.one_partition import few
from analysis.tables.plan import read_plan
from analysis.tables.table_files import TableFiles

_TABLES_AT_ONCE = 4
"""The number of tables that are written at once: the last step of each keeps one core busy, and some wait."""


class TablesInMaking(RunTables):
    """Tables of which a few are written at once. A request for one waits until it is there.

    The `with` statement ends when all are there. An error in writing one is raised then, and to whoever asks
    for it. If one of a package fails, `troubles` gets a report, and the others are made.
    """

    def __init__(
        self,
        files: TableFiles,
        there: Mapping[str, DataFrame],
        records: Sequence[TrialRecord] = (),
        troubles: list[Trouble] | None = None,
        asked: Set[str] | None = None,
    ) -> None:
        """`asked` has the measures that the tables serve, None if they serve all."""
        self._files = files
        self._asked = asked
        self._records = records
        self.troubles: list[Trouble] = [] if troubles is None else troubles
        """Reports of what packages bring and could not be made."""
        self._tables: dict[str, Future[DataFrame]] = {}
        self._of_packages: set[str] = set()
        for name, frame in there.items():
            self.put(name, frame)
        self._pool = ThreadPoolExecutor(_TABLES_AT_ONCE, "tables")

    def put(self, name: str, frame: DataFrame) -> None:
        """Add a table that needs no writing."""
        self._tables[name] = Future()
        self._tables[name].set_result(frame)

    def _begin(self, name: str, made: Callable[[], DataFrame]) -> None:
        """Have a table made and written."""
        self._tables[name] = self._pool.submit(made)

    def read(self, name: str, made: Callable[[], DataFrame]) -> None:
        """Have a table made that needs no writing."""
        self._begin(name, made)

    def write(
        self,
        name: str,
        make: Callable[[], DataFrame],
        *keys: str,
        otherwise: Callable[[BaseException], DataFrame] | None = None,
    ) -> None:
        """Have a table made and written, see `TableFiles.write`.

        It may ask for tables that were named before. If that fails, the table is what `otherwise` makes,
        which gets the error.
        """

        def made() -> DataFrame:
            try:
                return self._files.write(make(), name, *keys)
            except FAILURES as error:
                if otherwise is None:
                    raise
                return self._files.write(otherwise(error), name, *keys)

        self._begin(name, made)

    def write_nothing(self, name: str, columns: str) -> None:
        """Write a table without rows, which is a folder alone."""
        empty = self.spark.createDataFrame([], columns).where("false")
        self.put(name, self._files.write_nothing(empty, name))

    def make(self, brought: Brought[Table], records: Sequence[TrialRecord]) -> None:
        """Have a table made of these trials and written, as `write` does."""
        table = brought.item
        if not brought.package:
            self.write(table.name, lambda: table.make(self.of(records)), *table.keys)
            return
        self._of_packages.add(table.name)

        def made() -> DataFrame:
            try:
                frame = fitting(table.make(self.of(records)), table.schema)
                if len(records) < len(self._records):
                    those = self.of(records)["trials"].select("trial")
                    frame = frame.join(few(those), "trial", "left_semi")
                return self._files.write(frame, table.name, *table.keys)
            except FAILURES as error:
                self.troubles.append(brought.trouble(error))
                self._files.remove(table.name)
                raise NoTable(f"{brought.what}, which it is made of, could not be made") from error

        self._begin(table.name, made)

    def united(self, parts: Sequence[tuple[Brought[Make], Sequence[TrialRecord]]], columns: str) -> DataFrame:
        """Return the rows of several parts, each of its trials; a part of a package that fails is
        left out."""
        made: DataFrame | None = None
        for part, records in parts:
            try:
                rows = part.item(self.of(records))
                if part.package:
                    rows = fitting(rows, columns).persist()
                    rows.count()
                made = rows if made is None else made.unionByName(rows)
            except FAILURES as error:
                self.troubles.append(part.trouble(error))
        return self.spark.createDataFrame([], columns).where("false") if made is None else made

    def before(self) -> Mapping[str, DataFrame]:
        """Return the tables that were named before, without those that are named later."""
        return _Before(self, frozenset(self))

    def of(self, records: Sequence[TrialRecord]) -> RunTables:
        """Return these tables as they are seen by tables that are made of some of the trials."""
        return self if len(records) == len(self._records) else _OfSome(self, records)

    @property
    def spark(self) -> SparkSession:
        return self["trials"].sparkSession

    @property
    def records(self) -> Sequence[TrialRecord]:
        return self._records

    def plan(self, name: str) -> DataFrame:
        return self._files.plan(self.spark, self._records, name)

    def serve(self, *measures: str) -> bool:
        return self._asked is None or not self._asked.isdisjoint(measures)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._tables:
            order = "tables of packages are made last, in the order of the names of their entry points"
            raise NoTable(f'there is no table "{name}" in this run, or none yet: {order}')
        return self._tables[name].result()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __enter__(self) -> TablesInMaking:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            # Threads that wait for Spark would go on for minutes, and so would an interrupt.
            with contextlib.suppress(*FAILURES):
                self.spark.sparkContext.cancelAllJobs()
        self._pool.shutdown(cancel_futures=kind is not None)
        if kind is None:
            for name, table in list(self._tables.items()):
                if name in self._of_packages and table.exception() is not None:
                    del self._tables[name]
                else:
                    table.result()


class TablesOnDemand(TablesInMaking):
    """Tables each of which is made when it is first asked for, by who asks, so that few of them are made."""

    def _begin(self, name: str, made: Callable[[], DataFrame]) -> None:
        self._tables[name] = _Promise(made)


class _Promise(Future[DataFrame]):
    """A table that is made by the first thread that asks for it; others wait."""

    def __init__(self, make: Callable[[], DataFrame]) -> None:
        super().__init__()
        self._make = make
        self._lock = RLock()
        self._begun = False

    def result(self, timeout: float | None = None) -> DataFrame:
        with self._lock:
            if not self._begun:
                self._begun = True
                try:
                    self.set_result(self._make())
                except BaseException as error:
                    self.set_exception(error)
            elif not self.done():
                raise NoTable("a table is made of itself")
        return super().result(timeout)


class _Before(Mapping[str, DataFrame]):
    """The tables of a run whose names are these."""

    def __init__(self, tables: Mapping[str, DataFrame], names: Collection[str]) -> None:
        self._tables = tables
        self._names = names

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._names:
            raise NoTable(f'there is no table "{name}" in this run, or none yet')
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _OfSome(RunTables):
    """The tables of a run, as they are seen by tables that are made of some of its trials."""

    def __init__(self, tables: RunTables, records: Sequence[TrialRecord]) -> None:
        self._of_all = tables
        self._records = records

    @property
    def spark(self) -> SparkSession:
        return self._of_all.spark

    @property
    def records(self) -> Sequence[TrialRecord]:
        return self._records

    def plan(self, name: str) -> DataFrame:
        return read_plan(self.spark, list(self._records), name)

    def serve(self, *measures: str) -> bool:
        return self._of_all.serve(*measures)

    def __getitem__(self, name: str) -> DataFrame:
        frame = self._of_all[name]
        if name == "trials":
            return few(frame.where(F.col("trial").isin([record.name for record in self._records])))
        return frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._of_all)

    def __len__(self) -> int:
        return len(self._of_all)


def fitting(frame: DataFrame, schema: str) -> DataFrame:
    """Return the columns of the schema, in its types. Raises Unfit if there are others, or none."""
    if not isinstance(frame, DataFrame):
        raise Unfit(f"it gives a {type(frame).__name__}, not a DataFrame")
    fields = frame.sparkSession.createDataFrame([], schema).schema.fields
    names = [field.name for field in fields]
    if lacking := [name for name in names if name not in frame.columns]:
        raise Unfit(f"it gives no column {', '.join(lacking)}, which its schema has")
    if more := [name for name in frame.columns if name not in names]:
        raise Unfit(f"it gives the column {', '.join(more)}, which its schema lacks")
    return frame.select(*(F.col(field.name).cast(field.dataType).alias(field.name) for field in fields))
