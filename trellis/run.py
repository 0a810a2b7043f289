"""Finished runs, with their verdict, their measures and their tables as data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import check_table, read_summary, table_digests


class Run:
    """A run directory, whose contents are read when they are asked for."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._directory = RunDirectory(self.path)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {'valid' if self.valid else 'INVALID'}>"

    @property
    def reasons(self) -> list[str]:
        """The reasons why the run is not valid, a text for each; empty if it is valid."""
        if self._directory.summary.is_file():
            return list(self._told["reasons"])
        statuses = {trial.name: trial.read_status() for trial in self._directory.trials()}
        told = [f"{name}: {why}" for name, status in statuses.items() for why in status.get("reasons") or ()]
        return told or ["it was not analysed"]

    @property
    def valid(self) -> bool:
        """Whether every trial ran, and did what was asked of it within the limits of fidelity."""
        return self._directory.summary.is_file() and bool(self._told["valid"])

    @property
    def report(self) -> Path:
        """The page with the figures."""
        return self._directory.report

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The measures: a row for each variant and measure.

        Columns: variant, the keys that were varied, measure, unit, and the mean over the seeds with its 95 %
        confidence interval as `summary.json` has them.
        """
        units = {name: about["unit"] for name, about in self._told["measures"].items()}
        return pd.DataFrame(
            [
                {"variant": variant["variant"], **variant["values"], "measure": name, "unit": units.get(name)}
                | estimate
                for variant in self._told["variants"]
                for name, estimate in variant["measures"].items()
            ]
        )

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each trial: trial, variant, the keys that were varied, seed, state, and every measure."""
        return pd.DataFrame(
            [
                {key: trial[key] for key in ("trial", "variant")}
                | trial["values"]
                | {key: trial[key] for key in ("seed", "state")}
                | trial["measures"]
                for trial in self._told["trials"]
            ]
        )

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables by name, all trials together; `analysis/tables/build_tables.py` describes each column.

        Raises emulator.files.damage.DamagedFile for a table that was changed since the analysis wrote it.
        """
        return _Tables(self._directory, table_digests(self._directory, self._told))

    def analyze(self, report: bool = True, watch: Callable[[str], None] = lambda text: None) -> None:
        """Make tables and measures anew from the telemetry, and the report.

        Raises emulator.trials.sweep.RunBusy while trials of the run are running.
        """
        from analysis.engine.stages import in_words
        from analysis.pipeline import analyze
        from analysis.report.report import write_report
        from emulator.trials.sweep import alone

        with alone(self._directory):
            analyze(self._directory, in_words(watch))
        if report:
            write_report(self._directory)
        for name in ("_told", "summary", "trials", "tables"):
            self.__dict__.pop(name, None)

    @cached_property
    def _told(self) -> dict[str, Any]:
        return read_summary(self._directory)


class _Tables(Mapping[str, pd.DataFrame]):
    """Reads each table once, when it is first asked for, if it is what the analysis wrote."""

    def __init__(self, run: RunDirectory, digests: Mapping[str, str] | None) -> None:
        self._run = run
        self._folder = run.tables
        self._digests = digests
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            if name not in iter(self):
                raise KeyError(f"{name}: the tables are {', '.join(self)}")
            if self._digests is not None:
                check_table(self._run, self._digests, name)
            rows = ds.dataset(self._folder / name, format="parquet", partitioning="hive").to_table()
            self._read[name] = rows.to_pandas()
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        folders = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return iter([path.name for path in folders if path.is_dir()])

    def __len__(self) -> int:
        return len(list(iter(self)))


def open_run(path: Path | str) -> Run:
    """Open an existing run directory. Raises emulator.experiment.run.runs.NoRun if it is none."""
    from emulator.experiment.run.runs import open_run as check

    check(Path(path))
    return Run(path)
