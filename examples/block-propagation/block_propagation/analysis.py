"""Measures of blocks: how soon most peers have them, by their size."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.event_delivery import EVENTS
from analysis.report.figures_by_variant import against
from analysis.report.figures_shown import drawn, shown


def _interests(tables: RunTables) -> DataFrame:
    """A block is for all peers that are up at some time after it, and expected at those that stay up."""
    made = tables["operations"].where("operation = 'publish'").select("trial", "event", "at_s")
    stays = F.expr("start_s <= at_s and end_s >= trial_end_s - 1e-6")
    up = tables["sessions"].select("trial", "peer", "start_s", "end_s")
    of_all = made.join(tables["trials"].select("trial", "trial_end_s"), "trial").join(up, "trial")
    after = of_all.where("end_s > at_s").groupBy("trial", "event", "peer")
    return after.agg(F.bool_or(stays).alias("expected"))


def _blocks(tables: RunTables) -> DataFrame:
    expected = tables["deliveries"].where("expected").groupBy("trial", "event")
    spread = expected.agg(
        F.count("*").alias("peers"), F.sort_array(F.collect_list("delay_ms")).alias("times")
    )
    made = tables["publications"].join(spread, ["trial", "event"])
    ms_90 = "get(times, cast(ceil(0.9 * peers) as int) - 1) as ms_90"
    return made.selectExpr("trial", "event", "payload_bytes as size", ms_90)


def _mean(tables: Tables) -> DataFrame:
    return tables["blocks"].groupBy("trial").agg(F.avg("ms_90").alias("block_ms"))


def _by_size(results: Results) -> list[Chart]:
    lines = []
    for label, trial in shown(results):
        rows = [row for row in results.rows("blocks", trial) if row["ms_90"] is not None]
        points = [Point(row["size"] / 1e3, row["ms_90"] / 1e3) for row in rows]
        lines.append(Series(label, sorted(points, key=lambda point: point.x), curve=True))
    size, delay = Quantity("size of the block", "kB"), Quantity("time from making it", "s")
    return drawn(line_chart("blocks-size", "Delay by size", ABOUT, size, delay, lines))


TABLE = Table(
    "blocks",
    "One row for each block: event, size (bytes), ms_90 (until nine tenths of the other peers that stayed up "
    "had it; null if they never had).",
    "trial string, event int, size int, ms_90 double",
    ("event",),
    _blocks,
)
ABOUT = "From making a block until nine tenths of the peers have it."
MEASURES = {"block_ms": Measure("Time to nine tenths", "ms", "lower", ABOUT, "Blocks")}
BLOCKS_ANALYSIS = WorkloadAnalysis(
    interests=_interests,
    tables=(TABLE,),
    measures=(MeasureGroup(MEASURES, (_mean,)), EVENTS),
    figures=(against("block_ms"), Figure(_by_size)),
)
