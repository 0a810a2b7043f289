"""What is measured of blocks: how soon they are everywhere, and what that costs."""

from __future__ import annotations

from statistics import fmean

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.report.figures import against
from analysis.report.figures_shown import drawn, shown
from analysis.report.figures_spread import cdf

CLASSES = 8
"""Classes of size in the figure, each with as many blocks."""


def _interests(tables: RunTables) -> DataFrame:
    """A block is for all peers that are up at some time after it, and expected at those that stay up."""
    made = tables["operations"].where("operation = 'publish'").select("trial", "event", "at_s")
    stays = F.expr("start_s <= at_s and end_s >= trial_end_s - 1e-6")
    up = tables["sessions"].select("trial", "peer", "start_s", "end_s")
    of_all = made.join(tables["trials"].select("trial", "trial_end_s"), "trial").join(up, "trial")
    after = of_all.where("end_s > at_s").groupBy("trial", "event", "peer")
    return after.agg(F.bool_or(stays).alias("expected"))


def _until(percent: int) -> Column:
    """How long it took until so many of the peers had the block."""
    return F.expr(f"get(times, cast((peers * {percent} + 99) div 100 as int) - 1)").alias(f"ms_{percent}")


def _blocks(tables: RunTables) -> DataFrame:
    key = ["trial", "event"]
    got = tables["deliveries"].where("expected").groupBy(*key)
    times = F.sort_array(F.collect_list("delay_ms")).alias("times")
    peers = got.agg(F.count("*").alias("peers"), F.count("delay_ms").alias("reached"), times)
    redundant = (F.sum("copies") - F.count("delivered_s")).alias("redundant")
    sent = tables["handled"].groupBy(*key).agg(F.sum("bytes").alias("bytes"), redundant)
    made = tables["publications"].select(*key, F.col("payload_bytes").alias("size"))
    a_peer = (F.expr(f"{each} / peers").alias(each) for each in ("reached", "bytes", "redundant"))
    spread = made.join(peers, key).join(sent, key, "left").na.fill(0)
    return spread.select(*key, "size", "peers", *map(_until, (50, 90, 100)), *a_peer)


def _means(tables: Tables) -> DataFrame:
    names = ("ms_50", "ms_90", "reached", "bytes", "redundant")
    return tables["blocks"].groupBy("trial").agg(*(F.avg(each).alias(f"block_{each}") for each in names))


def _by_size(results: Results) -> list[Chart]:
    lines = []
    for label, trial in shown(results):
        rows = results.rows("blocks", trial)
        found = sorted((row["size"] / 1e3, row["ms_90"] / 1e3) for row in rows if row["ms_90"] is not None)
        each = -(-len(found) // CLASSES) or 1
        parts = [found[first : first + each] for first in range(0, len(found), each)]
        means = [Point(*map(fmean, zip(*part, strict=True))) for part in parts]
        lines.append(Series(label, means, curve=True))
    about = "Until nine tenths of the peers have a block, mean over blocks of about the same size."
    size, delay = Quantity("size of the block", "kB"), Quantity("time from making it", "s")
    return drawn(line_chart("blocks-size", "Delay by size", about, size, delay, lines))


TABLE = Table(
    "blocks",
    "One row for each block: event, size (bytes), peers (up from then to the end, but its maker), ms_50, "
    "ms_90 and ms_100 (until that share of them had it; null if never); for a peer, reached (0 to 1), bytes "
    "(of all messages about it) and redundant (copies at peers that had it).",
    "trial string, event int, size int, peers bigint, ms_50 double, ms_90 double, ms_100 double, "
    "reached double, bytes double, redundant double",
    ("event",),
    _blocks,
)
MEASURES = {
    "block_ms_50": Measure("Time to half", "ms", "lower", "Until half of the peers have a block.", "Blocks"),
    "block_ms_90": Measure("Time to 90 %", "ms", "lower", "Until nine tenths have a block.", "Blocks"),
    "block_reached": Measure("Reach", "share", "higher", "Of peers that stay up.", "Blocks"),
    "block_bytes": Measure("Bytes", "bytes a block and peer", "lower", "Of messages about blocks.", "Blocks"),
    "block_redundant": Measure("Copies", "a block and peer", "lower", "At peers that had it.", "Blocks"),
}
TIME = Quantity("time from making it", "ms")
ABOUT = "The share of peers and blocks that had met within a time."
BLOCKS_ANALYSIS = WorkloadAnalysis(
    interests=_interests,
    tables=(TABLE,),
    measures=(MeasureGroup(MEASURES, (_means,)),),
    figures=(
        *map(against, MEASURES),
        cdf("blocks-cdf", "Delay of blocks", ABOUT, TIME, "peers and blocks", "deliveries", "delay_ms"),
        Figure(_by_size),
    ),
)
