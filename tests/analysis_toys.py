"""What the toy package brings to the analysis: deliveries that were early, as a table, a measure and more."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import Quantity
from analysis.charts.results import Results
from analysis.claims.bounds import at_least
from analysis.claims.claim import Claim, Number, each
from analysis.contract.figures import Block, Chart, Figure, Rows, Section, Text
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, Table
from analysis.measures.series import by_interval
from analysis.report.figures_spread import cdf
from analysis.report.figures_time import Curve, curve

EARLY_MS = 300.0


def _early(tables: RunTables) -> DataFrame:
    return (
        tables["deliveries"].where(F.col("delay_ms") < EARLY_MS).select("trial", "event", "peer", "delay_ms")
    )


EARLY_DELIVERIES = Table(
    "early",
    "One row a delivery that was early: event, peer, delay_ms.",
    "trial string, event int, peer int, delay_ms double",
    ("event", "peer"),
    _early,
    systems=("vitis",),
)


def _in_time(tables: RunTables) -> DataFrame:
    publications = tables["publications"].select("trial", "event", "at_s")
    happened = tables["early"].join(publications, ["trial", "event"])
    return by_interval(tables, happened, early=F.count("event"))


EARLY_SERIES = Table(
    "early_series",
    "Early deliveries in each interval, by the time of publication: start_s, end_s, early.",
    "trial string, start_s double, end_s double, early bigint",
    ("start_s",),
    _in_time,
    systems=("vitis",),
)


def count_early(tables: Tables) -> DataFrame:
    return tables["early"].groupBy("trial").agg(F.count("*").alias("early_deliveries"))


def _share(tables: Tables) -> DataFrame:
    return (
        tables["deliveries"]
        .where("delivered")
        .groupBy("trial")
        .agg(F.avg((F.col("delay_ms") < EARLY_MS).cast("double")).alias("early_share"))
    )


EARLY = MeasureGroup(
    {
        "early_deliveries": Measure(
            "Early deliveries", "deliveries", "higher", "Within 300 ms.", "Earliness"
        ),
        "early_share": Measure("Share that was early", "share", "higher", "Early / all.", "Earliness"),
    },
    (count_early, _share),
    zero=("early_deliveries",),
    systems=("vitis",),
)


def _draw(results: Results) -> Iterator[Chart | None]:
    yield from cdf(
        "early-cdf",
        "How early",
        "Of early deliveries.",
        Quantity("delay", "ms"),
        "deliveries",
        "early",
        "delay_ms",
    ).draw(results)
    early = Curve("early", "early-time", "Early in time", "", Quantity("deliveries"), table="early_series")
    yield from curve(early).draw(results)


EARLY_FIGURE = Figure(_draw)


def _write(results: Results) -> Iterator[Block | None]:
    yield Text("Early is <b>good</b>.")
    yield Rows(("variant", "early"), [(label, "some") for label in results.labels.values()])
    yield bar_chart("early-bars", "Bars", "", Quantity("deliveries"), ["early"], [Row("all", [3.0])])


EARLY_SECTION = Section("All that was early", _write, "Early")
T1 = Claim(
    "T1",
    "Most deliveries are early.",
    lambda variants: variants,
    "variants",
    {},
    (Number("early deliveries", at_least(1, "deliveries"), each("early_deliveries")),),
)
