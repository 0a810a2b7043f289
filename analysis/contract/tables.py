"""Tables that are made of other tables, and what they may be made of."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession

from analysis.contract.trials import TrialRecord

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class RunTables(Mapping[str, DataFrame]):
    """The tables of a run that are there or in the making: a request for one waits for it.

    Raises `NoTable` for one that is not there.

    A table of a kind of workload, or of some systems, sees the records of its own trials, and in the table
    `trials` (trial, serves, system, join_end_s, measure_start_s, measure_end_s, trial_end_s, interval_s,
    calm_until_s, borders_s) their rows alone; all other tables are of all trials.
    """

    @property
    @abstractmethod
    def spark(self) -> SparkSession:
        """The Spark session."""

    @property
    @abstractmethod
    def records(self) -> Sequence[TrialRecord]:
        """The records of the trials."""

    @abstractmethod
    def plan(self, name: str) -> DataFrame:
        """Return a table of the plans of these trials, with a column `trial`."""

    def serve(self, *measures: str) -> bool:
        """Return whether any of these measures may be asked for; columns that serve others may be null."""
        return True


Make = Callable[[RunTables], DataFrame]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a run, as Parquet partitioned by trial.

    Packages add theirs in the group `trellis.tables`.
    """

    name: str
    """The name in lower case: letters, digits, underscores."""
    about: str
    """The meaning of a row and of the columns, with their units."""
    schema: str
    """The columns and types as Spark's DDL has them, `trial string` among them."""
    keys: Sequence[str]
    """The columns that make rows unique in a trial: rows are written in this order, so files are the same
    byte for byte."""
    make: Make
    """The function that makes the table: the columns of the schema, of all trials together, from earlier
    tables."""
    workloads: Collection[str] = ()
    """The kinds of workload that the table is for; empty: all."""
    systems: Collection[str] = ()
    """The systems that the table is for; empty: all."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f'the table "{self.name}" has a name that is not of a-z, 0-9 and _')
        columns = [column.split()[0] for column in self.schema.split(",") if column.strip()]
        if "trial" not in columns:
            raise ValueError(f'the schema of the table "{self.name}" lacks "trial string"')
        if isinstance(self.keys, str) or not self.keys:
            raise ValueError(f'the table "{self.name}" has to name the keys that make its rows unique')
        if missing := [key for key in self.keys if key not in columns]:
            raise ValueError(f'the schema of the table "{self.name}" lacks its keys {", ".join(missing)}')
        if isinstance(self.workloads, str) or isinstance(self.systems, str):
            raise ValueError("workloads and systems are collections of names: write (name,)")

    def applies(self, workload: str, system: str) -> bool:
        """Return whether the table covers trials of this kind of workload and this system."""
        return (not self.workloads or workload in self.workloads) and (
            not self.systems or system in self.systems
        )


@dataclass(frozen=True, slots=True, eq=False)
class SeriesPart:
    """Columns that a kind of workload adds to the table `series`, which has a row for each interval."""

    happened: Callable[[Mapping[str, DataFrame]], DataFrame]
    """The function that returns trial, at_s (seconds of trial time), and the columns that `counted` reads."""
    counted: Callable[[], Mapping[str, Column]]
    """The function that returns the added columns by name: aggregates over what happened in an interval."""
    zero: Sequence[str] = ()
    """The columns that are 0 in an interval in which nothing happened; the others are null."""
