"""The fate of each planned session."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord, host_frame
from analysis.engine.one_partition import few, gathered
from analysis.tables.roots import begun
from analysis.tables.telemetry import read_spans
from emulator.faults.network_faults import FAULT

Tables = Mapping[str, DataFrame]
_KEY = ["trial", "peer", "session"]


def sessions(
    spark: SparkSession, planned: DataFrame, tables: Tables, records: list[TrialRecord]
) -> DataFrame:
    """Return the rows of the table `sessions`, from the plan's sessions and the joins and leaves that
    happened.

    A peer whose host died and came back joins again in the same session, which then has a row for each join.
    The last record of a host stands for the end of its peers' sessions, if no leave was recorded: a host that
    is killed records nothing. What its peers received between its last record and its death is not known, so
    it cannot count as missed. A peer that crashed and kept its state goes on without a join: what it observed
    of the fault's end stands for it.
    """
    hosts = few(host_frame(spark, records))
    lost = hosts.where("lost_at_s is not null").select("trial", "host", "lost_at_s")
    in_order = Window.partitionBy(*_KEY).orderBy("start_s", "host")
    joins = begun(tables).where("operation = 'join'").select(*_KEY, "host", F.col("at_s").alias("start_s"))
    if any(fault.keeps_state for record in records for fault in record.spec.faults):
        joins = joins.unionByName(_returns(spark, planned, joins, tables, records))
    joins = joins.withColumn("again_s", F.lead("start_s").over(in_order))
    leaves = (
        begun(tables)
        .where("operation = 'leave'")
        .groupBy(*_KEY)
        .agg(F.sort_array(F.collect_list(F.struct("at_s", "graceful"))).alias("leaves"))
    )
    ours = F.filter(
        "leaves",
        lambda leave: (
            (leave["at_s"] >= F.col("start_s"))
            & (F.col("again_s").isNull() | (leave["at_s"] < F.col("again_s")))
        ),
    )
    silent_s = F.get(F.filter("silences", lambda at: at >= F.col("start_s")), F.lit(0))
    over_s = F.least(F.coalesce("left_s", "planned_end_s"), F.col("trial_end_s"))
    dead_s = F.least("lost_at_s", F.when(F.col("left_s").isNull(), F.least(silent_s, F.col("again_s"))))
    ended = (
        F.when(F.col("start_s").isNull(), F.lit(None))
        .when(F.col("dead_s") < F.col("over_s"), "host lost")
        .when(F.coalesce("left.graceful", "graceful"), "leave")
        .when(F.col("left_s").isNotNull() | (F.col("planned_end_s") < F.col("trial_end_s")), "crash")
        .otherwise("trial end")
    )
    planned = planned.withColumnsRenamed({"start_s": "planned_start_s", "end_s": "planned_end_s"})
    return (
        gathered(planned.join(tables["trials"].select("trial", "trial_end_s"), "trial"))
        .join(joins, _KEY, "left")
        .join(leaves, _KEY, "left")
        .join(lost, ["trial", "host"], "left")
        .join(_silences(spark, tables, records), ["trial", "host"], "left")
        .withColumn("left", F.get(ours, F.lit(0)))
        .withColumn("left_s", F.col("left.at_s"))
        .withColumns({"over_s": over_s, "dead_s": dead_s})
        .select(
            *_KEY,
            "cause",
            "host",
            "planned_start_s",
            "planned_end_s",
            "start_s",
            F.when(F.col("start_s").isNotNull(), F.least("over_s", "dead_s")).alias("end_s"),
            ended.alias("ended"),
        )
    )


def _returns(
    spark: SparkSession, planned: DataFrame, joins: DataFrame, tables: Tables, records: list[TrialRecord]
) -> DataFrame:
    """Return the returns of peers that had crashed and kept their state, as `joins` has the others."""
    ends = [
        (record.name, index, f"{FAULT} {fault.name} ends")
        for record in records
        for index, fault in enumerate(record.spec.faults)
        if fault.keeps_state
    ]
    observed = few(spark.createDataFrame(ends, "trial string, kept int, name string"))
    hosts = joins.groupBy("trial", "peer").agg(F.min("host").alias("host"))
    return (
        gathered(planned.where("kept is not null").join(observed, ["trial", "kept"]))
        .join(tables["observations"].select("trial", "peer", "name", "at_s"), ["trial", "peer", "name"])
        .join(hosts, ["trial", "peer"])
        .select(*_KEY, "host", F.col("at_s").alias("start_s"))
    )


def _silences(spark: SparkSession, tables: Tables, records: list[TrialRecord]) -> DataFrame:
    """Return the last records of starts of hosts that were started again or lost: trial, host, silences."""
    disturbed = [
        record
        for record in records
        if not record.fidelity
        or any(host.get("state", "finished") != "finished" for host in record.fidelity.get("hosts", []))
    ]
    if not disturbed:
        return spark.createDataFrame([], "trial string, host string, silences array<double>")
    start = ["trial", "host", "incarnation"]
    points = tables["points"].where(F.col("trial").isin([record.name for record in disturbed]))
    in_order = Window.partitionBy("trial", "host").orderBy("incarnation")
    lost = host_frame(spark, disturbed).where("lost_at_s is not null").select("trial", "host", "lost_at_s")
    return few(
        read_spans(spark, disturbed)
        .select(*start, F.col("handled_s").alias("at_s"))
        .union(points.select(*start, "at_s"))
        .groupBy(*start)
        .agg(F.max("at_s").alias("silent_s"))
        .withColumn("next", F.lead("incarnation").over(in_order))
        .join(few(lost), ["trial", "host"], "left")
        .where("next is not null or lost_at_s is not null")
        .groupBy("trial", "host")
        .agg(F.sort_array(F.collect_list("silent_s")).alias("silences"))
    )
