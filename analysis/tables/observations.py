"""Reports of protocols about themselves: observations, and the descriptions of their gauges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.tables.telemetry import read_spans
from emulator.contract.gauges import Gauge
from emulator.telemetry import names

OBSERVATIONS = (
    "trial string, peer int, channel string, session int, at_s double, name string, value double, "
    "subject bigint, unit string, trace binary, span bigint, recorded bigint"
)
GAUGES = "trial string, channel string, name string, unit string, text string, better string"
_UNMEASURED = "trial string, what string, channel string, name string, times bigint, of bigint"
Tables = Mapping[str, DataFrame]
Declared = tuple[str, str, str, str, str, str]
"""A row of `GAUGES`."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A number that a component gave as NaN or infinity, which means that it was not measured."""

    what: str
    """The kind of number: "gauge" or "observation"."""
    channel: str
    """The channel of the component; empty for the system as a whole."""
    name: str
    times: int
    of: int
    """The number of times that it was reported in all."""


def finite(column: str) -> Column:
    """Return the value, or null for NaN and infinity."""
    return F.when(F.abs(F.col(column)) < float("inf"), F.col(column))


def observations(spark: SparkSession, records: list[TrialRecord]) -> DataFrame:
    """Return the rows of the table `observations`, read from the spans of these trials."""
    spans = read_spans(spark, records, names.OBSERVED).where("observed is not null")
    within = F.col("parent").isNotNull()
    return spans.select(
        *("trial", "peer", F.coalesce("channel", F.lit("")).alias("channel"), "session"),
        *(F.col("handled_s").alias("at_s"), F.col("observed").alias("name"), finite("value").alias("value")),
        *("subject", F.coalesce("unit", F.lit("")).alias("unit")),
        *(F.when(within, F.col("trace")).alias("trace"), F.col("parent").alias("span")),
        F.col("span").alias("recorded"),
    )


def declared_rows(points: Iterable[Sequence[str]]) -> list[Declared]:
    """Return rows of `GAUGES`, from the descriptions in points of gauges. A gauge that is sampled has one
    row."""
    found: set[Declared] = set()
    for trial, channel, name, unit, text, better in points:
        for prefix in (names.STATE, names.SAMPLE):
            if name.startswith(prefix):
                gauge = name.removeprefix(prefix)
                found.add((trial, channel or "", gauge, unit or "", text or "", better or ""))
    return sorted(found)


def gauges(tables: Tables) -> dict[str, Gauge]:
    """Return the descriptions of gauges, by the name of the measure without its prefix.

    A gauge that systems describe differently is left out, because one line of the report would stand for
    both.
    """
    found: dict[str, set[Gauge]] = {}
    for row in tables["gauges"].collect():
        gauge = Gauge(row.text, row.unit, row.better or None)
        found.setdefault(row.name, set()).add(gauge)
        if row.channel:
            found.setdefault(f"{row.channel}/{row.name}", set()).add(gauge)
    return {name: next(iter(told)) for name, told in found.items() if len(told) == 1}


def unmeasured(tables: Tables) -> DataFrame:
    """Return one row for each gauge and observation that was reported as NaN or infinity."""
    both = [
        tables[table].select("trial", F.lit(what).alias("what"), "channel", "name", "value")
        for table, what in (("states", "gauge"), ("observations", "observation"))
    ]
    return (
        both[0]
        .unionByName(both[1])
        .groupBy("trial", "what", "channel", "name")
        .agg(F.count_if(F.col("value").isNull()).alias("times"), F.count("*").alias("of"))
        .where("times > 0")
    )


def no_unmeasured(spark: SparkSession) -> DataFrame:
    """Return the rows of `unmeasured` for trials without any, at no cost."""
    return spark.createDataFrame([], _UNMEASURED).where("false")


def listed_unmeasured(tables: Tables) -> dict[str, list[Unmeasured]]:
    """Return the unmeasured numbers by trial, in the order of kind, channel and name."""
    found: dict[str, list[Unmeasured]] = {}
    for row in sorted(tables["unmeasured"].collect()):
        found.setdefault(row.trial, []).append(Unmeasured(row.what, row.channel, row.name, row.times, row.of))
    return found
