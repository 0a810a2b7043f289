"""Finished runs, with their verdict, their measures, tables and figures, as data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from analysis.charts.results import Results, identity_of
from emulator.experiment.file.document import WRITTEN, read_document
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import check_table, read_summary, table_digests
from trellis.figure import Figure

if TYPE_CHECKING:
    from analysis.export.figures import NamedFigure


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

        Columns: variant, system, the keys that were varied, measure, unit, the mean over the seeds with its
        95 % confidence interval and the number of seeds n as `summary.json` has them, and of_seeds, the
        number of seeds that were measured. `measures` describes the measures.
        """
        seeds = Counter(trial["variant"] for trial in self._told["trials"] if trial["measures"])
        units = {name: about["unit"] for name, about in self._told["measures"].items()}
        return pd.DataFrame(
            [
                identity_of(variant, self._experiment)
                | {"measure": name, "unit": units.get(name)}
                | estimate
                | {"of_seeds": seeds[variant["variant"]]}
                for variant in self._told["variants"]
                for name, estimate in variant["measures"].items()
            ]
        )

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each trial: trial, variant, system, the keys that were varied, seed, state, and every
        measure."""
        return pd.DataFrame(
            [
                self._what(trial) | {"state": trial["state"]} | trial["measures"]
                for trial in self._told["trials"]
            ]
        )

    @cached_property
    def measures(self) -> pd.DataFrame:
        """A row for each measure, by name: title, unit (of its values; a share is between 0 and 1), better
        ("lower", "higher" or None), about (what it is), formula and group (the heading in the report)."""
        return pd.DataFrame.from_dict(
            self._told["measures"],
            orient="index",
            columns=["title", "unit", "better", "about", "formula", "group"],
        ).rename_axis("measure")

    @cached_property
    def fidelity(self) -> pd.DataFrame:
        """What was asked of the emulation and what it did: a row for each trial and check.

        Columns: trial, variant, system, the keys that were varied, seed, check, measured (None if it was
        not), limit, unit, ok (whether the trial is within the limit), detail.
        """
        names = {"name": "check", **{key: key for key in ("measured", "limit", "unit", "ok", "detail")}}
        return pd.DataFrame(
            [
                self._what(trial) | {name: check.get(key) for key, name in names.items()}
                for trial in self._told["trials"]
                for check in (trial.get("fidelity") or {}).get("checks", ())
            ]
        )

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The verdicts over the paper's claims: a row for each number of each claim, and for each variant
        that the number is of.

        Columns: claim, statement, outcome ("yes", "no", "other setting", "not decided"), number, paper (what
        the paper prints), unit, number_outcome ("held", "better", "missed", "not measured"), of, and the mean
        over the seeds with ci95 and seeds, in the number's unit.
        """
        from analysis.export.tables import claims_table

        table = claims_table(self._results)
        return pd.DataFrame(list(table.rows), columns=list(table.columns))

    def compare(self, between: str, base: str | None = None) -> pd.DataFrame:
        """Return how the variants differ that differ in the varied key `between`, seed by seed.

        There is a row for each measure of each variant beside the one with the first value of the key, or
        with `base`. Columns: key, base, other, setting (the other varied keys in words), measure, title,
        unit, better, base_mean, other_mean, difference (other - base) with ci95 and seeds (those at which
        both have a value) of of_seeds (those at which both were measured), relative, and reading (what so
        many seeds allow to say).

        Raises analysis.charts.results.ResultsError if the key is not varied, or does not have that value.
        """
        from analysis.export.tables import DIFFERENCES, difference_rows
        from analysis.report.between import pairings

        rows = difference_rows(between, pairings(self._results, between, base))
        return pd.DataFrame(rows, columns=list(DIFFERENCES))

    @property
    def figures(self) -> list[str]:
        """The names of the report's figures, which are their anchors in the page."""
        return list(self._figures)

    def figure(self, name: str) -> Figure:
        """Return a figure of the report. Raises KeyError with all names if there is none of this name."""
        if name not in self._figures:
            raise KeyError(f"{name}: the figures are {', '.join(self._figures)}")
        return Figure(self._figures[name])

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables by name, all trials together; `docs/tables.md` describes their columns.

        Each row also has trial, variant, system, seed, and the keys that were varied. Where a table has a
        column of that name itself, the added one is named with "trial." before it.

        Raises emulator.files.damage.DamagedFile for a table that was changed since the analysis wrote it.
        """
        trials = pd.DataFrame([self._what(trial) for trial in self._told["trials"]])
        return _Tables(self._directory, table_digests(self._directory, self._told), trials)

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
        for name, of in vars(type(self)).items():
            if isinstance(of, cached_property):
                self.__dict__.pop(name, None)

    @cached_property
    def _told(self) -> dict[str, Any]:
        return read_summary(self._directory)

    @cached_property
    def _experiment(self) -> Mapping[str, Any]:
        return read_document(self._directory.experiment, WRITTEN).values

    @cached_property
    def _results(self) -> Results:
        return Results.read(self._directory)

    @cached_property
    def _figures(self) -> Mapping[str, NamedFigure]:
        from analysis.export.figures import figures_of
        from analysis.report.shown import Shown

        return figures_of(self._results, Shown.by(self._results))

    def _what(self, trial: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a trial is."""
        what = identity_of(trial, self._experiment)
        return {"trial": trial["trial"], **what, "seed": trial["seed"]}


class _Tables(Mapping[str, pd.DataFrame]):
    """Reads each table once, when it is first asked for, if it is what the analysis wrote."""

    def __init__(self, run: RunDirectory, digests: Mapping[str, str] | None, trials: pd.DataFrame) -> None:
        self._run = run
        self._trials = trials
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
            self._read[name] = _with_trials(rows.to_pandas(), self._trials)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        folders = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return iter([path.name for path in folders if path.is_dir()])

    def __len__(self) -> int:
        return len(list(iter(self)))


def _with_trials(rows: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table with what their trials are, in new columns before the table's own."""
    if "trial" not in rows:  # the table has no rows, so no files that would say more
        rows = pd.DataFrame({"trial": pd.Series(dtype=str)})
    taken = set(rows.columns) - {"trial"}
    names = {name: f"trial.{name}" if name in taken else name for name in trials.columns}
    added = trials.rename(columns=names).set_index("trial").loc[rows.pop("trial")].reset_index()
    return pd.concat([added.set_index(rows.index), rows], axis=1)


def open_run(path: Path | str) -> Run:
    """Open an existing run directory. Raises emulator.experiment.run.runs.NoRun if it is none."""
    from emulator.experiment.run.runs import open_run as check

    check(Path(path))
    return Run(path)
