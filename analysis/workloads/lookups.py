"""The analysis of lookups of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Quantity
from analysis.contract.figures import SettingLine
from analysis.contract.measures import Tables
from analysis.contract.tables import SeriesPart, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.aggregates import mean_ms
from analysis.measures.of_kademlia import KADEMLIA
from analysis.measures.of_lookups import LOOKUPS as MEASURES
from analysis.measures.of_lookups import TIMEOUTS
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import Spread, spread
from analysis.report.figures_time import Curve, curve
from analysis.report.setting import part, plain
from analysis.tables import lookups


def _happened(tables: Tables) -> DataFrame:
    return (
        tables["lookups"]
        .where("counted")
        .select(
            *("trial", "at_s", "right"),
            *(F.col(column).alias(f"lookup_{column}") for column in ("hops", "delay_ms")),
        )
    )


def _counted() -> Mapping[str, Column]:
    return {
        "lookups": F.count("right"),
        "lookup_success": F.try_divide(F.count_if("right"), F.count("right")),
        "lookup_hops": F.avg("lookup_hops"),
        "lookup_delay_ms": mean_ms("lookup_delay_ms"),
    }


def _delays(tables: Tables) -> DataFrame:
    penalty = F.try_divide("delay_ms", F.when(F.col("direct_ms") > 0, F.col("direct_ms")))
    return tables["lookups"].where("delivered").withColumn("penalty", penalty)


def _setting(experiment: Mapping[str, Any]) -> str:
    asked = part(part(experiment, "workload"), "lookups")
    if not asked:
        return ""
    of_peers = asked.get("keys") == "peers"
    keys = "keys that are identifiers of peers" if of_peers else "keys uniform in the identifier space"
    return f"{plain(asked.get('rate', '?'))} a second in the whole network, {keys}"


LOOKUPS: Final = WorkloadAnalysis(
    in_every_run=True,
    tables=(
        Table(
            "lookups",
            "One row for each lookup; `docs/tables.md` describes the columns.",
            lookups.LOOKUPS,
            ("lookup",),
            lookups.lookups,
        ),
    ),
    measures=(MEASURES, TIMEOUTS, KADEMLIA),
    series=SeriesPart(_happened, _counted, ("lookups",)),
    delays={"lookup": _delays},
    figures=(
        *map(against, ("lookup_success", "lookup_hops", "lookup_delay_ms", "delay_penalty")),
        spread(
            Spread(
                "lookup-ms", "Delay of lookups",
                "The share of lookups that ended within a time. Further left is faster.",
                Quantity("time from the origin to the end of the route", "ms"), "lookups", ("lookup", "ms"),
            )
        ),
        spread(
            Spread(
                "lookup-hops", "Hops of lookups",
                "The share of lookups that took a number of overlay hops.",
                Quantity("hops"), "lookups", ("lookup", "hops"), counted=True,
            )
        ),
        spread(
            Spread(
                "lookup-penalty", "Relative delay penalty of lookups",
                "The share of lookups whose route took up to a number of times the one-way delay from their "
                "origin straight to where they ended. 1 is the direct way; the slowest hundredth is not "
                "drawn.",
                Quantity("route delay over direct delay"), "lookups", ("lookup", "penalty"), upto=0.99,
            )
        ),
        curve(
            Curve(
                "lookup_success", "time-success", "Success of lookups in time",
                "The share of lookups that ended at the right peer, by the time at which they began.",
                Quantity("success", "share"), from_zero=False,
            )
        ),
        curve(
            Curve(
                "lookup_delay_ms", "time-lookups", "Delay of lookups in time",
                "Mean time from the origin to where the lookup ended, by the time at which it began.",
                Quantity("delay", "ms"),
            )
        ),
    ),
    setting=(SettingLine("Lookups", ("workload.lookups",), _setting),),
)  # fmt: skip
