"""The analysis of values by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Quantity
from analysis.contract.figures import SettingLine
from analysis.contract.measures import Tables
from analysis.contract.tables import RunTables, SeriesPart, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.aggregates import mean_ms
from analysis.measures.of_values import VALUES as MEASURES
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import Spread, spread
from analysis.report.figures_time import Curve, curve
from analysis.report.setting import part, plain
from analysis.tables import values


def _puts(tables: RunTables) -> DataFrame:
    return values.puts(tables, tables.plan("puts"))


def _gets(tables: RunTables) -> DataFrame:
    return values.gets(tables, tables.plan("gets"))


def _happened(tables: Tables) -> DataFrame:
    found = F.col("version") > 0
    return (
        tables["gets"]
        .where("counted and newest is not null")
        .select(
            *("trial", "at_s", F.coalesce(found, F.lit(False)).alias("found")),
            F.when(found, F.col("version") < F.col("newest")).alias("stale"),
            F.when(found, F.col("delay_ms")).alias("found_ms"),
        )
    )


def _counted() -> Mapping[str, Column]:
    return {
        "gets": F.count("found"),
        "get_success": F.try_divide(F.count_if("found"), F.count("found")),
        "get_stale": F.try_divide(F.count_if("stale"), F.count("stale")),
        "get_delay_ms": mean_ms("found_ms"),
    }


def _delays(tables: Tables) -> DataFrame:
    found = tables["gets"].where("counted and version > 0")
    return found.withColumn("penalty", F.lit(None).cast("double"))


def _setting(experiment: Mapping[str, Any]) -> str:
    asked = part(part(experiment, "workload"), "values")
    if not asked:
        return ""
    size = part(asked, "bytes")
    least, most = size.get("least", "?"), size.get("most", "?")
    long = plain(least) if least == most else f"{plain(least)} to {plain(most)}"
    skew = asked.get("skew")
    by = f", by rank to the power of -{plain(skew)}" if skew else ""
    return (
        f"{plain(asked.get('count', '?'))} values of {long} bytes, {plain(asked.get('gets', '?'))} gets and "
        f"{plain(asked.get('updates', '?'))} updates a second in the whole network{by}"
    )


VALUES: Final = WorkloadAnalysis(
    tables=(
        Table(
            "puts",
            "One row for each put: put, value (its number), version (from 1 on), bytes, peer, at_s, counted "
            "(not in the trial's last 5 s), copies (confirmed; null if the peer was told of none), hops, "
            "delay_ms (until then), messages and traffic_bytes (that peers handled for it).",
            values.PUTS,
            ("put",),
            _puts,
        ),
        Table(
            "gets",
            "One row for each get: get, value, peer, at_s, counted, version (that was found, 0 if the system "
            "says that there is none, null if nothing came), newest (version of which a put was done before "
            "the get began; null if none), hops, delay_ms, messages, traffic_bytes.",
            values.GETS,
            ("get",),
            _gets,
        ),
    ),
    measures=(MEASURES,),
    series=SeriesPart(_happened, _counted, ("gets",)),
    delays={"get": _delays},
    figures=(
        *map(against, ("get_success", "get_stale", "get_delay_ms", "get_hops", "get_bytes", "put_copies")),
        spread(
            Spread(
                "get-ms", "Delay of gets",
                "The share of gets that had the value within a time. Further left is faster.",
                Quantity("time until the peer has the value", "ms"), "gets", ("get", "ms"),
            )
        ),
        spread(
            Spread(
                "get-hops", "Hops of gets",
                "The share of gets that took a number of overlay hops.",
                Quantity("hops"), "gets", ("get", "hops"), counted=True,
            )
        ),
        curve(
            Curve(
                "get_success", "time-gets", "Gets that found the value in time",
                "The share of gets that found the value, by the time at which they began.",
                Quantity("success", "share"), from_zero=False,
            )
        ),
        curve(
            Curve(
                "get_stale", "time-stale", "Gets that found an old version in time",
                "Of those that found the value, by the time at which they began.",
                Quantity("old versions", "share"),
            )
        ),
    ),
    setting=(SettingLine("Values", ("workload.values",), _setting),),
)  # fmt: skip
