"""The analysis of a kind of workload of a package, of which all but one measure fails."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, SeriesPart, Table
from analysis.contract.workload_analysis import WorkloadAnalysis


def _interests(tables: RunTables) -> DataFrame:
    raise KeyError("nobody")


def _sad(tables: RunTables) -> DataFrame:
    raise ValueError("sad")


def _happened(tables: Tables) -> DataFrame:
    return tables["sessions"].select("trial", F.col("start_s").alias("at_s"), F.expr("int('a')").alias("odd"))


def _counted() -> Mapping[str, Column]:
    return {"odd": F.sum("odd")}


def _up(tables: Tables) -> DataFrame:
    return tables["traffic"].groupBy("trial").agg(F.sum("up_s").alias("up_seconds"))


def _draw(results: Results) -> list[Chart]:
    raise RuntimeError("no paint")


BROKEN_KIND = WorkloadAnalysis(
    interests=_interests,
    tables=(Table("sad", "", "trial string, x int", ("x",), _sad),),
    measures=(MeasureGroup({"up_seconds": Measure("Time up", "s", None, "Of all peers.")}, (_up,)),),
    series=SeriesPart(_happened, _counted),
    figures=(Figure(_draw),),
)
