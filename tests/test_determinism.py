"""The same seed gives the same tables, byte for byte; another seed gives other telemetry."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analysis.pipeline import analyze
from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.virtual.run_virtual import run_virtual

EXPERIMENT = """
name: small
system: {name: vitis}
peers: 30
workload:
  subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 3}
  publications: {events: 20}
churn: {model: {kind: poisson, mean_session: 20 s, mean_gap: 5 s}}
network:
  latency: {kind: constant, rtt: 50 ms}
  jitter: {kind: pareto, deviation: 5 ms}
  loss: {kind: bursts, mean: 2 %, burst: 3}
  bandwidth: {up: 2 Mbit/s, down: 5 Mbit/s, queue: 500 ms, discipline: fair}
processing: {message: 50 us}
faults:
  - {name: split, partition: {share: 0.5}, at: 12 s, for: 3 s}
  - name: worse
    links: {share: 0.3, delay: 100 ms, loss: 5 %, duplicate: 5 %, corrupt: 2 %}
    at: 14 s
    for: 4 s
  - {name: stopped, pause: {share: 0.1}, at: 16 s, for: 2 s}
  - {name: gone, crash: {share: 0.1, state: kept}, at: 17 s, for: 2 s}
  - {name: fast, clock: {share: 0.2, drift: 1 %}, at: 12 s, for: 5 s}
attackers: {share: 0.1, behaviour: delay}
phases: {join: 2 s, settle: 8 s, measure: 15 s, drain: 5 s}
"""


def simulated(folder: Path, seed: int, experiment: str = EXPERIMENT) -> RunDirectory:
    folder.mkdir()
    file = folder / "small.yaml"
    file.write_text(experiment)
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
    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files by path below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def telemetry(run: RunDirectory) -> dict[str, bytes]:
    (trial,) = run.trials()
    return contents(trial.telemetry)


def encodings(file: Path) -> list[tuple[str, ...]]:
    metadata = pq.read_metadata(file)
    return [
        metadata.row_group(group).column(column).encodings
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]


def test_another_seed_gives_other_telemetry(tmp_path: Path) -> None:
    one, other = (telemetry(simulated(tmp_path / str(seed), seed)) for seed in (1, 2))
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] == other[name]] == []


def test_what_changes_nothing_may_be_written_out_and_changes_no_byte(tmp_path: Path) -> None:
    ideal = EXPERIMENT[: EXPERIMENT.index("network:")] + EXPERIMENT[EXPERIMENT.index("phases:") :]
    neutral = """
network:
  {latency: {kind: constant, rtt: 100 ms}, jitter: 0 s, loss: 0, order: any, overhead: 0, bandwidth: null}
processing: null
faults: []
attackers: null
invariants: null
expect: []
"""
    plain = ideal + "network: {latency: {kind: constant, rtt: 100 ms}}\n"
    one, other = (
        telemetry(simulated(tmp_path / name, 1, text))
        for name, text in (("plain", plain), ("neutral", ideal + neutral))
    )
    assert one == other


def test_a_seed_gives_its_measures_and_its_tables_byte_for_byte(spark: SparkSession, tmp_path: Path) -> None:
    runs = [simulated(tmp_path / name, 1) for name in ("first", "again")]
    summaries = [analyze(run, lambda _: None, spark) for run in runs]
    assert summaries[0]["trials"] == summaries[1]["trials"]
    first, again = (contents(run.tables) for run in runs)
    assert "deliveries/trial=vitis-1/part-00000.parquet" in first
    assert all(name.endswith("part-00000.parquet") for name in first)
    assert first.keys() == again.keys()
    assert [name for name in first if first[name] != again[name]] == []
    assert telemetry(runs[0]) == telemetry(runs[1])
    # A footer of Spark lists a column's encodings in an order that differs from JVM to JVM; Arrow's is fixed.
    files = list(runs[0].tables.rglob("*.parquet"))
    of_spark = [file for file in files if pq.read_metadata(file).created_by.startswith("parquet-mr")]
    assert {file.parts[-3] for file in files} - {file.parts[-3] for file in of_spark} == {"hops", "points"}
    assert [file for file in of_spark if any(len(e) > 1 for e in encodings(file))] == []
