"""Tables over time, and the tables that packages make of all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.tables import SeriesPart
from analysis.contract.trials import TrialRecord
from analysis.contract.trouble import Trouble
from analysis.contract.workload_kinds import Kind, kinds
from analysis.engine.one_partition import few, gathered
from analysis.measures.aggregates import mean_ms
from analysis.measures.distributions import delay_cdf
from analysis.measures.of_faults import recoveries
from analysis.tables.build_tables import Tables
from analysis.tables.deliveries import published
from analysis.tables.in_making import TablesInMaking
from analysis.tables.offered import of_packages
from analysis.tables.roles import has_duty
from analysis.tables.table_files import TableFiles
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names

_MAINTENANCE = {names.SENT_MESSAGES: "maintenance_messages", names.SENT_BYTES: "maintenance_bytes"}
_AT_A_BORDER = 0.01
"""The share of the time between two readings of counters by which a reading may miss a border: in real time
hosts read them some milliseconds late."""


def build_series(
    run: RunDirectory,
    tables: Tables,
    records: Sequence[TrialRecord] = (),
    troubles: list[Trouble] | None = None,
) -> Tables:
    """Write series, delay_cdf, and the tables that packages bring. Returns them and `tables`.

    `records` are the trials, for packages' kinds of workload and tables. `troubles` gets reports of what of
    these failed.
    """
    with TablesInMaking(TableFiles(run.tables), tables, records, troubles) as making:
        add_series(making)
    return dict(making)


def add_series(making: TablesInMaking) -> None:
    """Have the same tables made beside those that are there."""
    known, _ = kinds(record.serves for record in making.records)
    _write_with_kinds(making, known, "series", _series, "start_s")
    _write_with_kinds(making, known, "delay_cdf", delay_cdf, "operation", "unit", "value")
    if "faults" in making:
        making.write("recoveries", lambda: recoveries(making), "fault")
    for table, those in of_packages(making.records, making):
        making.make(table, those)


def _write_with_kinds(
    making: TablesInMaking,
    known: Sequence[Kind],
    name: str,
    make: Callable[[Mapping[str, DataFrame], Sequence[Kind]], DataFrame],
    *keys: str,
) -> None:
    """Write a table that kinds of workload add rows or columns to.

    If it cannot be made, it is written without the parts of packages.
    """
    there = making.before()
    own = [kind for kind in known if not kind.package]

    def without_packages(error: BaseException) -> DataFrame:
        for kind in known:
            if kind.package:
                what = (
                    f'the part of the workload "{kind.name}" in the table "{name}", or that of another one,'
                )
                making.troubles.append(Trouble.of(kind.package, what, error))
        return make(there, own)

    otherwise = without_packages if len(own) < len(known) else None
    making.write(name, lambda: make(there, known), *keys, otherwise=otherwise)


def by_interval(tables: Mapping[str, DataFrame], happened: DataFrame, **counted: Column) -> DataFrame:
    """Return a table over time of a package's own: trial, start_s, end_s, and these aggregates of each
    interval.

    `happened` has trial, at_s (seconds of trial time) and what the aggregates read. They are null in an
    interval in which nothing happened. Its figure is made by `analysis.report.figures_time.curve`.
    """
    keys = ["trial", "slot"]
    slot = F.floor((F.col("at_s") - F.col("measure_start_s")) / F.col("interval_s")).cast("int")
    aggregates = [column.alias(name) for name, column in counted.items()]
    found = (
        happened.join(tables["trials"].select("trial", "measure_start_s", "interval_s"), "trial")
        .groupBy("trial", slot.alias("slot"))
        .agg(*aggregates)
    )
    return few(_slots(tables)).join(found, keys, "left").select("trial", "start_s", "end_s", *counted)


def _slots(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return every interval: trial, slot, start_s, end_s, interval_s."""
    start = F.col("measure_start_s") + F.col("slot") * F.col("interval_s")
    last = F.ceil((F.col("measure_end_s") - F.col("measure_start_s")) / F.col("interval_s") - 1e-9) - 1
    return (
        tables["trials"]
        .withColumn("slot", F.explode(F.sequence(F.lit(0), F.greatest(last, F.lit(0)).cast("int"))))
        .select(
            *("trial", "slot", "interval_s"),
            start.alias("start_s"),
            F.least(start + F.col("interval_s"), "measure_end_s").alias("end_s"),
        )
    )


def _series(tables: Mapping[str, DataFrame], known: Sequence[Kind]) -> DataFrame:
    parts = [kind.analysis.series for kind in known if kind.analysis.series is not None]
    counted_by = [part.counted() for part in parts]
    added = [name for of_part in counted_by for name in of_part]
    zero = [name for part in parts for name in part.zero]
    keys = ["trial", "slot"]
    slots = few(_slots(tables))
    slot = F.floor((F.col("at_s") - F.col("measure_start_s")) / F.col("interval_s")).cast("int")
    counted = (
        gathered(_happened(tables, parts).join(tables["trials"], "trial"))
        .groupBy("trial", slot.alias("slot"))
        .agg(
            F.sum("published").alias("published"),
            F.count_if("expected").alias("expected"),
            F.count_if(F.expr("expected and delivered")).alias("delivered"),
            F.avg("hops").alias("hops"),
            mean_ms("delay_ms").alias("delay_ms"),
            F.sum("received").alias("received"),
            F.sum("unwanted").alias("unwanted"),
            *(column.alias(name) for of_part in counted_by for name, column in of_part.items()),
            *(F.sum(unit).alias(unit) for unit in _MAINTENANCE.values()),
            F.bool_or("straddles").alias("straddles"),
        )
    )
    length_s = F.col("end_s") - F.col("start_s")
    # Readings of counters cannot be divided at the end of the measure phase, which may cut the last interval,
    # nor where a fault begins or ends.
    is_whole = (length_s >= F.col("interval_s") * (1 - 1e-9)) & ~F.coalesce("straddles", F.lit(False))
    peer_seconds = F.when(is_whole, F.col("peers_up") * length_s)
    return (
        slots.join(_peers_up(tables, slots), keys, "left")
        .join(counted, keys, "left")
        .na.fill(0, ["peers_up", "published", "expected", "delivered", "received", "unwanted", *zero])
        .select(
            *("trial", "start_s", "end_s", "peers_up", "published", "expected", "delivered"),
            F.try_divide("delivered", "expected").alias("hit_ratio"),
            *("received", "unwanted", F.try_divide("unwanted", "received").alias("overhead")),
            *("hops", "delay_ms", *added),
            *(F.try_divide(unit, peer_seconds).alias(unit) for unit in _MAINTENANCE.values()),
        )
    )


def _happened(tables: Mapping[str, DataFrame], parts: Sequence[SeriesPart]) -> DataFrame:
    """Return trial, at_s and what the series counts: a row of one kind has nulls in the columns of the
    others."""
    publications = published(tables).select(
        "trial", F.col("published_s").alias("at_s"), F.lit(1).alias("published")
    )
    due = tables["deliveries"].select(
        "trial", F.col("published_s").alias("at_s"), "expected", "delivered", "hops", "delay_ms"
    )
    received = (
        tables["handled"]
        .where(~has_duty())
        .select(
            *("trial", F.col("published_s").alias("at_s")),
            *(F.col("copies").alias("received"), F.col("unwanted_copies").alias("unwanted")),
        )
    )
    of_kinds = [part.happened(tables) for part in parts]
    every = (publications, due, received, *of_kinds, _maintenance(tables))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), every)


def _peers_up(tables: Mapping[str, DataFrame], slots: DataFrame) -> DataFrame:
    """Return the mean number of peers that were up: trial, slot, peers_up."""
    within = F.least(F.col("s.end_s"), F.col("i.end_s")) - F.greatest(F.col("s.start_s"), F.col("i.start_s"))
    within_slot = "s.trial = i.trial and s.start_s < i.end_s and s.end_s > i.start_s"
    return (
        gathered(tables["sessions"].alias("s").join(slots.alias("i"), F.expr(within_slot)))
        .groupBy("i.trial", "slot", "i.start_s", "i.end_s")
        .agg(F.sum(F.round(within * 1e9).cast("bigint")).alias("up_ns"))
        .select(
            "trial", "slot", (F.col("up_ns") / ((F.col("end_s") - F.col("start_s")) * 1e9)).alias("peers_up")
        )
    )


def _maintenance(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the maintenance traffic of all hosts: trial, at_s, maintenance_messages?, maintenance_bytes?,
    straddles.

    It comes from the hosts' counters, which are read each metrics interval: the growth since the reading
    before belongs to the interval of the series in which its middle lies. A host that comes back begins anew:
    the first reading of its program has what was sent since its start. `straddles` is true if some was sent
    on either side of a moment at which the measure phase or a fault begins, or a fault ends.
    """
    source = ["trial", "host", "incarnation"]
    is_maintenance = F.col("traffic") == "maintenance"
    readings = (
        tables["points"]
        .where(F.col("name").isin(*_MAINTENANCE, names.LOST_SPANS))  # the last one is in every reading
        .groupBy(*source, "at_s")
        .agg(
            *(
                F.sum(F.when((F.col("name") == name) & is_maintenance, F.col("value"))).alias(unit)
                for name, unit in _MAINTENANCE.items()
            )
        )
    )
    in_time = Window.partitionBy(*source).orderBy("at_s")
    start_s = F.when(F.col("incarnation") == 0, 0.0).otherwise(F.col("at_s"))
    since_s = F.coalesce(F.lag("at_s").over(in_time), start_s)
    growth = [
        (F.col(unit) - F.coalesce(F.lag(unit).over(in_time), F.lit(0.0))).alias(unit)
        for unit in _MAINTENANCE.values()
    ]
    least_s = _AT_A_BORDER * (F.col("until_s") - F.col("since_s"))

    def is_within(border: Column) -> Column:
        return (border - F.col("since_s") > least_s) & (F.col("until_s") - border > least_s)

    return (
        readings.select(F.col("trial"), F.col("at_s").alias("until_s"), since_s.alias("since_s"), *growth)
        .join(tables["trials"].select("trial", "borders_s"), "trial")
        .select(
            *("trial", *_MAINTENANCE.values()),
            ((F.col("since_s") + F.col("until_s")) / 2).alias("at_s"),
            ((F.col("maintenance_messages") > 0) & F.exists("borders_s", is_within)).alias("straddles"),
        )
    )
