"""The same seed gives the same tables, byte for byte; another seed does not."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analysis.tables.build import build_tables
from analysis.tables.trials import read_experiment, read_trials
from emulator.experiment.draw import draw_plan
from emulator.experiment.load import load
from emulator.experiment.resolved import resolved_yaml
from emulator.experiment.rundir import RunDirectory
from emulator.experiment.variants import trials
from emulator.runtime.virtual import run_virtual

EXPERIMENT = """
name: small
system: {name: vitis}
peers: 30
workload:
  subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 3}
  publications: {events: 20}
churn: {model: {kind: poisson, mean_session: 20 s, mean_gap: 5 s}}
phases: {join: 2 s, settle: 8 s, measure: 15 s, drain: 5 s}
"""


def tables(folder: Path, seed: int, spark: SparkSession) -> dict[str, Path]:
    folder.mkdir()
    file = folder / "small.yaml"
    file.write_text(EXPERIMENT)
    spec = load(file, [f"seed={seed}"])
    run = RunDirectory(folder / "run")
    for trial in trials(spec):
        directory = run.trial(trial.name)
        directory.path.mkdir(parents=True)
        plan = draw_plan(trial.spec)
        plan.write(directory.plan)
        run_virtual(trial.spec, plan, directory, lambda progress: None)
        directory.write_status(state="valid")
    run.experiment.write_text(resolved_yaml(spec))
    build_tables(spark, run, read_trials(run, read_experiment(run)))
    return {f"{path.parent.parent.name}/{path.name}": path for path in run.tables.rglob("*.parquet")}


def encodings(file: Path) -> list[tuple[str, ...]]:
    metadata = pq.read_metadata(file)
    return [
        metadata.row_group(group).column(column).encodings
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]


def test_a_seed_gives_its_tables_byte_for_byte(spark: SparkSession, tmp_path: Path) -> None:
    files = tables(tmp_path / "first", 1, spark)
    first, again, other = (
        {name: path.read_bytes() for name, path in found.items()}
        for found in (files, tables(tmp_path / "again", 1, spark), tables(tmp_path / "other", 2, spark))
    )
    assert "deliveries/part-00000.parquet" in first
    assert first == again
    assert first["deliveries/part-00000.parquet"] != other["deliveries/part-00000.parquet"]
    # A footer lists a column's encodings in an order that differs from JVM to JVM.
    assert [name for name, path in files.items() if any(len(e) > 1 for e in encodings(path))] == []
