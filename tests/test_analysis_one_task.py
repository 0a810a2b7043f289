"""Small runs: how few tasks their queries take, and the names of their trials."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analysis.engine.one_partition import few, gathered
from analysis.tables.plan import read_plan
from emulator.experiment.plan.tables import PEERS
from emulator.experiment.run.directory import RunDirectory


def test_joins_and_groups_of_little_telemetry_are_one_task(spark: SparkSession) -> None:
    peers = gathered(spark.range(1000).select("id", (F.col("id") % 7).alias("topic")))
    topics = few(spark.createDataFrame(pa.table({"topic": [1, 2, 3], "rate": [1.0, 2.0, 4.0]})))
    sent = gathered(spark.range(500).select("id", F.lit(3).alias("copies")))
    asked = gathered(peers.join(topics, "topic"))
    found = asked.join(sent, "id").groupBy("topic").agg(F.sum(F.col("copies") * F.col("rate")).alias("cost"))
    spark.sparkContext.setJobGroup("one task", "")
    try:
        rows = {row.topic: row.cost for row in found.collect()}
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert rows == {1: 3.0 * 72, 2: 6.0 * 72, 3: 12.0 * 71}
    tracker = spark.sparkContext.statusTracker()
    (job,) = map(tracker.getJobInfo, tracker.getJobIdsForGroup("one task"))
    assert job is not None
    (stage,) = map(tracker.getStageInfo, job.stageIds)
    assert stage is not None
    assert stage.numTasks == 1


@pytest.mark.parametrize("name", ["vitis-1", "rate=0.5,kind=a+b-1", "50% of ö [x]-2"])
def test_the_rows_of_a_plan_have_the_name_of_their_trial(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    directory = RunDirectory(tmp_path).trial(name)
    directory.plan.mkdir(parents=True)
    peers = {field.name: [None] for field in PEERS} | {"peer": [3]}
    pq.write_table(pa.table(peers, PEERS), directory.plan / "peers.parquet")
    record = SimpleNamespace(directory=directory)
    (row,) = read_plan(spark, [record], "peers").collect()  # type: ignore[list-item]
    assert (row.trial, row.peer) == (name, 3)
