"""These tables hold what members said of each other against who was up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few
from emulator.contract.membership_service import ALIVE, FAILED, JOINED, LEFT, SUSPECTED

Tables = Mapping[str, DataFrame]
DISTURBED = "trial string, peer int"
"""The columns of the table `disturbed_members`."""
CHANGES = (
    "trial string, change string, peer int, session int, at_s double, disturbed boolean, noticed_s double, "
    "noticed_all_s double, first_s double, all_s double, observers bigint, knew bigint"
)
"""The columns of the table `member_changes`."""
ALARMS = (
    "trial string, at_s double, peer int, session int, subject int, life int, failed boolean, "
    "of_disturbed boolean, by_disturbed boolean"
)
"""The columns of the table `false_alarms`."""
_SCHEMA = pa.schema([("trial", pa.string()), ("peer", pa.int32())])
_SAYER = ["trial", "peer", "session"]


def disturbed_members(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the peers that a fault pauses, that crash and keep their state, or whose links a fault changes
    at any time of the trial."""
    parts = [_SCHEMA.empty_table()]
    for record in records:
        chosen = [
            index
            for index, fault in enumerate(record.spec.faults)
            if fault.kind in ("pause", "links") or fault.keeps_state
        ]
        file = record.directory.plan / "faults.parquet"
        if chosen and file.exists():
            hit = pq.read_table(file).filter(pc.field("fault").isin(chosen))["peer"].unique()
            parts.append(pa.table([pa.array([record.name] * len(hit), pa.string()), hit], schema=_SCHEMA))
    found = pa.concat_tables(parts)
    return spark.createDataFrame(found) if found.num_rows else _no_rows(spark)


def _no_rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], from_arrow_schema(_SCHEMA))


def statements(tables: Tables) -> DataFrame:
    """Return what members said: trial, peer and session (who), subject, life, at_s, name, recorded.

    `recorded` grows in the order in which a member said it, also at one instant.
    """
    said = tables["observations"].where(F.col("name").isin(JOINED, ALIVE, SUSPECTED, FAILED, LEFT))
    return said.join(few(tables["trials"].select("trial")), "trial").select(
        *_SAYER, F.col("subject").cast("int").alias("subject"), F.col("value").cast("int").alias("life"),
        "at_s", "name", "recorded",
    )  # fmt: skip


def observers(tables: Tables, reticent: DataFrame) -> DataFrame:
    """Return the sessions of members that tell of each change: trial, peer, session, from_s, until_s, stays,
    listed.

    Members that a fault disturbs are no observers. A first session that began in the join phase is `listed`:
    its member may know others from a list, without having said that they joined.
    """
    told = tables["sessions"].where("start_s is not null").join(reticent, ["trial", "peer"], "left_anti")
    joins = few(tables["trials"].select("trial", "join_end_s"))
    return told.join(tables["disturbed_members"], ["trial", "peer"], "left_anti").join(joins, "trial").select(
        *_SAYER, F.col("start_s").alias("from_s"), F.col("end_s").alias("until_s"),
        (F.col("ended") == "trial end").alias("stays"),
        ((F.col("session") == 0) & (F.col("start_s") < F.col("join_end_s"))).alias("listed"),
    )  # fmt: skip


def member_changes(tables: Tables, reticent: DataFrame) -> DataFrame:
    """Return the rows of the table `member_changes`."""
    key = ["trial", "change", "subject", "life", "changed_s"]
    changes = _changes(tables)
    learnt = _learnt(changes, statements(tables), key)
    first = learnt.groupBy(*key).agg(F.min("noticed_s").alias("noticed_s"), F.min("known_s").alias("first_s"))
    due = (
        changes.join(observers(tables, reticent), "trial")
        .where("peer != subject and from_s <= changed_s and until_s > changed_s")
        .join(learnt, [*key, "peer", "session"], "left")
        .where("(stays or known_s is not null) and coalesce(concerned, listed or change = 'join')")
        .groupBy(*key)
        .agg(
            F.count("*").alias("observers"),
            F.count("known_s").alias("knew"),
            _of_all("noticed_s").alias("noticed_all_s"),
            _of_all("known_s").alias("all_s"),
        )
    )
    return (
        marked(changes, tables, "subject", "disturbed")
        .join(first, key, "left")
        .join(due, key, "left")
        .na.fill(0, ["observers", "knew"])
        .select(
            *("trial", "change", F.col("subject").alias("peer"), F.col("life").alias("session")),
            *(F.col("changed_s").alias("at_s"), "disturbed", "noticed_s", "noticed_all_s"),
            *("first_s", "all_s", "observers", "knew"),
        )
    )


def false_alarms(tables: Tables) -> DataFrame:
    """Return the rows of the table `false_alarms`."""
    lives = tables["sessions"].where("start_s is not null").select(
        *("trial", F.col("peer").alias("subject"), F.col("session").alias("life"), "start_s", "end_s")
    )  # fmt: skip
    times = tables["trials"].select("trial", "measure_start_s", "measure_end_s")
    wrong = (
        statements(tables)
        .where(F.col("name").isin(SUSPECTED, FAILED, LEFT))
        .join(lives, ["trial", "subject", "life"])
        .where("at_s >= start_s and at_s < end_s")
        .join(few(times), "trial")
        .where("at_s >= measure_start_s and at_s < measure_end_s")
    )
    by = marked(marked(wrong, tables, "subject", "of_disturbed"), tables, "peer", "by_disturbed")
    failed = (F.col("name") != SUSPECTED).alias("failed")
    return by.select(
        *("trial", "at_s", "peer", "session", "subject", "life"), failed, "of_disturbed", "by_disturbed"
    )


def marked(frame: DataFrame, tables: Tables, peer: str, name: str) -> DataFrame:
    """Return `frame` with a column that says whether the member of another column is disturbed."""
    hit = tables["disturbed_members"].withColumnRenamed("peer", peer).withColumn(name, F.lit(True))
    return frame.join(few(hit), ["trial", peer], "left").withColumn(name, F.coalesce(name, F.lit(False)))


def _changes(tables: Tables) -> DataFrame:
    """Return the joins and ends of sessions in the measure phase: trial, change, subject, life, changed_s."""
    in_phase = "changed_s >= measure_start_s and changed_s < measure_end_s"
    sessions = tables["sessions"].where("start_s is not null")
    change = F.when(F.col("ended") == "leave", "leave").otherwise("crash")
    parts = [
        sessions.withColumns({"change": F.lit("join"), "changed_s": F.col("start_s")}),
        sessions.where("ended != 'trial end'").withColumns({"change": change, "changed_s": F.col("end_s")}),
    ]
    return (
        parts[0]
        .unionByName(parts[1])
        .join(few(tables["trials"]), "trial")
        .where(in_phase)
        .select(
            *("trial", "change", F.col("peer").alias("subject"), F.col("session").alias("life"), "changed_s")
        )
    )


def _learnt(changes: DataFrame, said: DataFrame, key: list[str]) -> DataFrame:
    """Return for each change and member that said anything of its subject: peer, session, noticed_s, known_s
    (s after it), concerned.

    A member knows of a join when it says anything of that life or a later one. It knows of the end of a life
    when it takes the member for failed or gone; what it said before the end counts if it was the last. Of a
    leave it also knows when it says anything of a later life; a member that hears of a later life first has
    not detected a crash. It notices the end by a suspicion, too. The end concerns a member that has this
    life in its view, or takes an earlier life for up; it has nothing to learn if the subject is not in its
    view, as when it has just joined. `concerned` is null where what it said does not tell.
    """
    last = Window.partitionBy(*key, "peer", "session").orderBy(F.desc("at_s"), F.desc("recorded"))
    is_end = F.col("change") != "join"
    later = (F.col("change") != "crash") & (F.col("said_life") > F.col("life"))
    same = F.col("said_life") == F.col("life")
    is_over, is_early = F.col("name").isin(FAILED, LEFT), F.col("at_s") < F.col("changed_s")
    stands = F.when(is_early, F.row_number().over(last) == F.col("after") + 1).otherwise(True)
    counts = (~is_end & ~is_early & same) | later | (is_end & same & is_over & F.col("stands"))
    notices = counts | (is_end & same & (F.col("name") == SUSPECTED) & F.col("stands"))
    concerns = ~is_end | same | F.when(is_early & F.col("stands"), ~is_over)
    delay = F.greatest(F.col("at_s") - F.col("changed_s"), F.lit(0.0))
    each = Window.partitionBy(*key, "peer", "session")
    return (
        changes.join(said.withColumnRenamed("life", "said_life"), ["trial", "subject"])
        .where("peer != subject")
        .withColumn("after", F.count_if(~is_early).over(each))
        .withColumn("stands", stands)
        .groupBy(*key, "peer", "session")
        .agg(
            F.min(F.when(notices, delay)).alias("noticed_s"),
            F.min(F.when(counts, delay)).alias("known_s"),
            F.max(concerns).alias("concerned"),
        )
    )


def _of_all(column: str) -> Column:
    """Return the largest value, null if some row has none."""
    return F.when(F.count(column) == F.count("*"), F.max(column))
