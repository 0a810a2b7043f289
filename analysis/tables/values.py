"""The fate of each put and get of a value."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.tables.roles import without_attackers
from emulator.contract.value_service import GET, PUT

LATE_S = 5.0
"""The seconds before the trial's end after which a put or a get that begins does not count."""
Tables = Mapping[str, DataFrame]
PUTS = (
    "trial string, put int, value int, version int, bytes int, peer int, at_s double, counted boolean, "
    "copies double, hops int, delay_ms double, messages bigint, traffic_bytes bigint"
)
"""The columns of the table `puts`."""
GETS = (
    "trial string, get int, value int, peer int, at_s double, counted boolean, version double, "
    "newest int, hops int, delay_ms double, messages bigint, traffic_bytes bigint"
)
"""The columns of the table `gets`."""


def puts(tables: Tables, planned: DataFrame) -> DataFrame:
    """Return the rows of the table `puts`, from the plan and the telemetry."""
    found = _found(tables, PUT)
    rows = found.join(planned.drop("at_s", "peer"), ["trial", PUT])
    return rows.select(
        *("trial", PUT, "value", "version", "bytes", "peer", "at_s", "counted"),
        *(F.col("outcome").alias("copies"), "hops", "delay_ms", "messages", "traffic_bytes"),
    )


def gets(tables: Tables, planned: DataFrame) -> DataFrame:
    """Return the rows of the table `gets`, from the plan, the telemetry and the table `puts`.

    The newest version is that of the puts which were done before the get began.
    """
    found = _found(tables, GET).join(planned.drop("at_s", "peer"), ["trial", GET])
    done = tables["puts"].select(
        *("trial", "value", F.col("version").alias("put_version")),
        (F.col("at_s") + F.col("delay_ms") / 1e3).alias("done_s"),
    )
    newest = (
        found.select("trial", GET, "value", "at_s")
        .join(done, ["trial", "value"])
        .where("done_s <= at_s")
        .groupBy("trial", GET)
        .agg(F.max("put_version").alias("newest"))
    )
    rows = found.join(newest, ["trial", GET], "left")
    return rows.select(
        *("trial", GET, "value", "peer", "at_s", "counted", F.col("outcome").alias("version")),
        *("newest", "hops", "delay_ms", "messages", "traffic_bytes"),
    )


def _found(tables: Tables, operation: str) -> DataFrame:
    """Return the operations of this name that peers other than attackers began, and what came of each
    first."""
    told = F.min(F.struct("at_s", "value", "hops")).alias("first")
    done = tables["completions"].where(_is(operation)).groupBy("trial", "number").agg(told)
    asked = without_attackers(tables["operations"].where(_is(operation)), tables)
    counted = F.col("at_s") < F.col("trial_end_s") - LATE_S
    return (
        asked.select("trial", "number", "peer", "at_s", "messages", F.col("bytes").alias("traffic_bytes"))
        .join(done, ["trial", "number"], "left")
        .join(tables["trials"].select("trial", "trial_end_s"), "trial")
        .select(
            *("trial", F.col("number").cast("int").alias(operation), "peer", "at_s"),
            counted.alias("counted"),
            F.col("first.value").alias("outcome"),
            F.col("first.hops").alias("hops"),
            ((F.col("first.at_s") - F.col("at_s")) * 1e3).alias("delay_ms"),
            *("messages", "traffic_bytes"),
        )
    )


def _is(operation: str) -> Column:
    return F.col("operation") == operation
