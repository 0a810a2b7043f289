"""A small finished run for the tests of packages: what their measures, tables and figures give for it.

In a package's `conftest.py`:

    @pytest.fixture(scope="session")
    def run(tmp_path_factory):
        with finished_run("acme:small.yaml", tmp_path_factory.mktemp("runs"), peers=20) as run:
            yield run

and in its tests `run.measures("acme-1")["detection_s"]`, `run.rows("detections")`, `run.charts("spread")`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

from analysis.charts.results import Results
from analysis.contract.figures import Chart, Part
from analysis.contract.measures import Query
from analysis.contract.trials import read_experiment, read_trials, trial_frame
from analysis.engine.literal_reader import literal_reader
from analysis.engine.spark_session import spark_session
from analysis.pipeline import analyze
from analysis.report.report import write_report
from analysis.report.shown import Shown
from analysis.tables.plan import read_plan
from emulator.experiment.file.load import load
from emulator.experiment.file.package_experiments import locate
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.trials.sweep import about
from emulator.trials.trial import run_trial

_CORES = 2


@dataclass(frozen=True)
class FinishedRun:
    """A run that was analysed and has its report."""

    directory: RunDirectory
    summary: Mapping[str, Any]
    """The content of `summary.json`."""
    spark: SparkSession

    @cached_property
    def tables(self) -> dict[str, DataFrame]:
        """The tables that have rows, as a `Query` gets them."""
        records = read_trials(self.directory, read_experiment(self.directory))
        folders = [path for path in sorted(self.directory.tables.iterdir()) if any(path.iterdir())]
        return {
            "trials": trial_frame(self.spark, records),
            **{name: read_plan(self.spark, records, name) for name in ("subscriptions", "publications")},
            **{path.name: literal_reader(self.spark).parquet(str(path)) for path in folders},
        }

    @cached_property
    def results(self) -> Results:
        """The results, from which figures and sections are made."""
        return Results.read(self.directory)

    @cached_property
    def html(self) -> str:
        """The report's page."""
        return self.directory.report.read_text()

    @property
    def trials(self) -> Sequence[str]:
        """The names of the trials."""
        return [trial["trial"] for trial in self.summary["trials"]]

    def measures(self, trial: str = "") -> Mapping[str, float | None]:
        """Return all measures of a trial, by default of the first one. Raises KeyError."""
        every = {told["trial"]: told["measures"] for told in self.summary["trials"]}
        found: Mapping[str, float | None] = every[trial or self.trials[0]]
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, of all trials, as they were written. Raises FileNotFoundError."""
        found = ds.dataset(self.directory.tables / table, format="parquet", partitioning="hive")
        rows: list[dict[str, Any]] = found.to_table().to_pylist()
        return rows

    def ask(self, query: Query, **tables: DataFrame) -> dict[str, dict[str, Any]]:
        """Return what a query of a `MeasureGroup` returns, by trial; `tables` replace the run's."""
        rows = query(self.tables | tables).collect()
        return {row.trial: {k: v for k, v in row.asDict().items() if k != "trial"} for row in rows}

    def charts(self, part: Part) -> list[Chart]:
        """Return the charts of the report that stand in this part."""
        return Shown.by(self.results).charts[part]


@contextmanager
def finished_run(
    experiment: Path | str, out: Path, spark: SparkSession | None = None, **keys: Any
) -> Iterator[FinishedRun]:
    """Run an experiment on the virtual clock in this process, analyse it, and write its report.

    `experiment` is a file or `package:name.yaml`, and `keys` change it, such as `peers=20` or
    `**{"phases.settle": "5 s"}`. `out` gets the run directory. A trial that is not valid is analysed all the
    same. Without `spark` a session is started, which takes seconds, and stopped at the end of the `with`.
    Raises ExperimentError for an experiment that is wrong, BadPackage if there is none of that name, and
    whatever a trial raises.
    """
    path = locate(Path(experiment))
    spec = load(path, [f"{key}={json.dumps(value)}" for key, value in keys.items()])
    directory = create_run(spec, out)
    for trial in trials(spec):
        command = f"trellis run {experiment}"
        run_trial(trial.spec, directory.trial(trial.name), lambda _: None, about(trial, command))
    if spark is not None:
        yield _finish(directory, spark)
        return
    with spark_session(_CORES) as own:
        yield _finish(directory, own)


def _finish(directory: RunDirectory, spark: SparkSession) -> FinishedRun:
    summary = analyze(directory, lambda _: None, spark)
    write_report(directory)
    return FinishedRun(directory, summary, spark)
