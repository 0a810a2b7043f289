"""For how long the views of members were wrong, by interval of the measure phase."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.engine.one_partition import few
from analysis.tables.membership import observers, statements
from emulator.contract.membership_service import FAILED, LEFT

Tables = Mapping[str, DataFrame]
ERRORS = "trial string, at_s double, wrong_s double, pairs_s double"
"""The columns of the table `view_errors`."""
_FOREVER = 1e18
"""The time (s) of what never happens."""


def view_errors(tables: Tables, reticent: DataFrame) -> DataFrame:
    """Return the rows of the table `view_errors`.

    A member is wrong about another one while it has it in its view and the other is down, or the other way
    round. Before it says anything of a member it is taken to be right, until the member joins or, if it may
    know the member from a list, until the member's session ends.
    """
    watching = observers(tables, reticent)
    lives = _lives(tables)
    wrong = _said_wrongly(tables, watching, lives).unionByName(_unsaid(tables, watching, lives))
    times = few(tables["trials"].select("trial", "measure_start_s", "measure_end_s", "interval_s"))
    others = tables["sessions"].groupBy("trial").agg((F.count_distinct("peer") - 1).alias("others"))
    up = watching.select(
        "trial", F.col("from_s").alias("wrong_from_s"), F.col("until_s").alias("wrong_until_s")
    )
    parts = {"wrong_ns": wrong, "up_ns": up}
    sums = [_by_interval(frame.join(times, "trial"), name) for name, frame in parts.items()]
    return (
        sums[1]
        .join(sums[0], ["trial", "at_s"], "left")
        .join(few(others), "trial")
        .select(
            *("trial", "at_s", F.coalesce(F.col("wrong_ns") / 1e9, F.lit(0.0)).alias("wrong_s")),
            (F.col("up_ns") / 1e9 * F.col("others")).alias("pairs_s"),
        )
    )


def _lives(tables: Tables) -> DataFrame:
    """Return when each life of a member began and ended, and when its next one begins."""
    in_order = Window.partitionBy("trial", "peer").orderBy("start_s")
    return tables["sessions"].where("start_s is not null").select(
        *("trial", F.col("peer").alias("subject"), F.col("session").alias("life"), "start_s", "end_s"),
        F.coalesce(F.lead("start_s").over(in_order), F.lit(_FOREVER)).alias("again_s"),
        (F.col("ended") != "trial end").alias("ends"),
    )  # fmt: skip


def _said_wrongly(tables: Tables, watching: DataFrame, lives: DataFrame) -> DataFrame:
    """Return the times in which what a member said last of another one was wrong."""
    in_order = Window.partitionBy("trial", "peer", "session", "subject").orderBy("at_s", "recorded")
    said = (
        statements(tables)
        .join(watching, ["trial", "peer", "session"])
        .join(lives, ["trial", "subject", "life"])
        .withColumn("until_s", F.least(F.coalesce(F.lead("at_s").over(in_order), "until_s"), "until_s"))
    )
    is_over = F.col("name").isin(FAILED, LEFT)
    pieces = [
        (~is_over, F.greatest("at_s", "end_s"), F.least("until_s", "again_s")),
        (is_over, F.col("at_s"), F.least("until_s", "end_s")),
        (is_over, F.greatest("at_s", "again_s"), F.col("until_s")),
    ]
    told = F.array(
        *(
            F.struct(when.alias("holds"), begin.alias("begin_s"), end.alias("end_s"))
            for when, begin, end in pieces
        )
    )
    return (
        said.select("trial", F.explode(told).alias("piece"))
        .where("piece.holds and piece.begin_s < piece.end_s")
        .select(
            "trial", F.col("piece.begin_s").alias("wrong_from_s"), F.col("piece.end_s").alias("wrong_until_s")
        )
    )


def _unsaid(tables: Tables, watching: DataFrame, lives: DataFrame) -> DataFrame:
    """Return the times from a change until a member says its first word of the one that changed."""
    first = (
        statements(tables).groupBy("trial", "peer", "session", "subject").agg(F.min("at_s").alias("first_s"))
    )
    after_joins = few(tables["trials"].select("trial", "join_end_s"))
    changes = lives.join(after_joins, "trial")
    joins = changes.where("life = 0 and start_s >= join_end_s").select(
        *("trial", "subject", F.col("start_s").alias("changed_s"), F.col("end_s").alias("over_s")),
        F.lit(False).alias("is_end"),
    )
    ends = changes.where("ends").select(
        *("trial", "subject", F.col("end_s").alias("changed_s"), F.col("again_s").alias("over_s")),
        F.lit(True).alias("is_end"),
    )
    return (
        joins.unionByName(ends)
        .join(watching, "trial")
        .where("peer != subject and from_s < changed_s and until_s > changed_s and (listed or not is_end)")
        .join(first, ["trial", "peer", "session", "subject"], "left")
        .where("first_s is null or first_s > changed_s")
        .select(
            *("trial", F.col("changed_s").alias("wrong_from_s")),
            F.least("over_s", "until_s", F.coalesce("first_s", F.lit(_FOREVER))).alias("wrong_until_s"),
        )
    )


def _by_interval(times: DataFrame, name: str) -> DataFrame:
    """Return the sum of these times (ns) in each interval, with the middle of the interval as its time."""
    begin = F.greatest("wrong_from_s", "measure_start_s") - F.col("measure_start_s")
    end = F.least("wrong_until_s", "measure_end_s") - F.col("measure_start_s")
    last = F.ceil(F.col("end") / F.col("interval_s")).cast("int") - 1
    low = F.col("slot") * F.col("interval_s")
    overlap = F.least("end", low + F.col("interval_s")) - F.greatest("begin", low)
    return (
        times.withColumns({"begin": begin, "end": end})
        .where("begin < end")
        .withColumn(
            "slot", F.explode(F.sequence(F.floor(F.col("begin") / F.col("interval_s")).cast("int"), last))
        )
        .withColumn("middle_s", F.col("measure_start_s") + low + F.col("interval_s") / 2)
        .groupBy("trial", F.col("middle_s").alias("at_s"))
        .agg(F.sum(F.round(overlap * 1e9).cast("bigint")).alias(name))
    )
