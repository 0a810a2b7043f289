"""The tables of a run: telemetry and plan of each trial, as Parquet.

A table is a folder of files `<run>/tables/<table>/trial=<name>/part-00000.parquet` (...). Any Parquet reader
that knows Hive partitions reads the table of all trials at once (`=` in a trial's name is %3D in the
folder's). A trial without rows has no folder. Times `*_s` are in seconds of trial time on the coordinator's
clock, times `*_ms` in milliseconds, and sizes in bytes. The same telemetry and plan give the same files, byte
for byte.

`docs/tables.md` describes the rows and columns of each table. `analysis.workloads` says which of them only
some kinds of workload have, and packages add others (`docs/measures.md`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.packages import Brought
from analysis.contract.trials import TrialRecord, trial_frame
from analysis.contract.trouble import Trouble
from analysis.contract.workload_analysis import INTERESTS
from analysis.contract.workload_kinds import Kind, kinds
from analysis.engine.one_partition import few
from analysis.engine.stages import READING, TABLES, Stages
from analysis.tables import deliveries, peers
from analysis.tables.absences import absences
from analysis.tables.completions import COMPLETIONS, completions
from analysis.tables.disruptions import disruptions, may_be_disrupted
from analysis.tables.faults import faults
from analysis.tables.identifiers import identifiers
from analysis.tables.in_making import TablesInMaking, TablesOnDemand
from analysis.tables.link_load import have_bandwidth, link_load
from analysis.tables.link_series import link_series
from analysis.tables.lost_messages import LOST_MESSAGES, lost_messages
from analysis.tables.observations import (
    GAUGES,
    OBSERVATIONS,
    declared_rows,
    no_unmeasured,
    observations,
    unmeasured,
)
from analysis.tables.offered import of_kinds
from analysis.tables.reconciliation import Found
from analysis.tables.regions import have_regions, regions
from analysis.tables.roles import attackers, roles
from analysis.tables.roots import ROOTS
from analysis.tables.sessions import sessions
from analysis.tables.table_files import PassingFiles, TableFiles
from analysis.tables.telemetry_tables import Telemetry, write_telemetry
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names

Tables = dict[str, DataFrame]
_MESSAGE = ("message", "kind", "channel", "traffic")
_COMPLETION = ("at_s", "operation", "number", "peer", "span")
_LOSSES = "trial string, file string, offset bigint, lost_bytes bigint, reason string"
_OBSERVATION = ("at_s", "peer", "channel", "name", "subject", "value", "unit", "span", "recorded")
_OPERATION = [
    *("trial", "trace", "operation", "host", "peer", "topic", "event", "lookup", "interest"),
    *("session", "graceful", "number", "at_s"),
]


def build_tables(
    spark: SparkSession,
    run: RunDirectory,
    records: list[TrialRecord],
    stages: Stages | None = None,
    found: list[Found] | None = None,
    troubles: list[Trouble] | None = None,
) -> Tables:
    """Write all tables of these trials, which have a plan and telemetry, and return them by name.

    What the run's tables held before is replaced. `stages` are told of the two that this takes, `found` gets
    how much telemetry there was, `troubles` reports of what packages bring and could not be used.
    """
    files = TableFiles(run.tables)
    tables = _read(spark, files, records, stages, found)
    known, refused = kinds(record.serves for record in records)
    troubles = [] if troubles is None else troubles
    troubles += refused
    with TablesInMaking(files, tables, records, troubles) as making:
        _write(spark, records, making, known)
    return dict(making)


def tables_on_demand(
    spark: SparkSession,
    folder: Path,
    records: list[TrialRecord],
    stages: Stages | None = None,
    found: list[Found] | None = None,
    asked: Set[str] | None = None,
) -> TablesOnDemand:
    """Return the same tables, each of which is made when it is first asked for.

    They are in files of the empty `folder`, which the caller removes at the end. With `asked`, columns that
    serve none of these measures may be null, and points are decoded only if a table is made of them; those of
    identifiers, which are few, always are.
    """
    files = PassingFiles(folder)
    tables = _read(spark, files, records, stages, found, "" if asked is None else names.TAKEN_IDENTIFIER)
    known, refused = kinds(record.serves for record in records)
    taken = None if asked is None else tables.pop("points")
    making = TablesOnDemand(files, tables, records, refused, asked)
    if taken is not None:
        all_points = PassingFiles(folder / "all")
        making.read(
            "points", lambda: write_telemetry(spark, all_points, records, signals=["metrics"])[0]["points"]
        )
    _write(spark, records, making, known, taken)
    return making


def _read(
    spark: SparkSession,
    files: TableFiles,
    records: list[TrialRecord],
    stages: Stages | None,
    found: list[Found] | None,
    metric: str = "",
) -> Tables:
    """Return the tables of telemetry, which are written, and those of plans, which are there.

    With `metric`, `points` has the points of this metric alone.
    """
    stages = stages or Stages(lambda standing: None, 0, READING)
    tables: Tables = {"trials": few(trial_frame(spark, records))}
    with stages.watching(READING, spark):
        written, telemetry = write_telemetry(spark, files, records, metric)
    tables |= written | _beside(spark, files, telemetry, knows_points=not metric)
    if found is not None:
        found += telemetry.found
    stages.begin(TABLES)
    tables["roles"] = roles(spark, records)
    if any(record.spec.attackers is not None for record in records):
        tables["attackers"] = attackers(spark, records)
    if any(record.spec.episodes for record in records):
        tables["faults"] = faults(spark, records)
    return tables


def _beside(spark: SparkSession, files: TableFiles, telemetry: Telemetry, *, knows_points: bool) -> Tables:
    """Return the tables that are made of what else the telemetry tells, and those of which it has no rows,
    as far as that is known without all points."""

    def written(table: str, rows: Sequence[tuple[Any, ...]], columns: str, *keys: str) -> DataFrame:
        if rows:
            return files.write(spark.createDataFrame(rows, columns), table, *keys)
        return files.write_nothing(spark.createDataFrame([], columns).where("false"), table)

    tables = {
        "gauges": written("gauges", declared_rows(telemetry.declared), GAUGES, "channel", "name"),
        "losses": written("losses", telemetry.losses, _LOSSES, "file", "offset"),
    }
    if not telemetry.observations:
        tables["observations"] = written("observations", [], OBSERVATIONS)
    if not telemetry.completions:
        tables["completions"] = written("completions", [], COMPLETIONS)
    if knows_points and not telemetry.lost:
        tables["lost_messages"] = written("lost_messages", [], LOST_MESSAGES)
    if knows_points and not telemetry.unmeasured:
        tables["unmeasured"] = no_unmeasured(spark)
    return tables


def _write(
    spark: SparkSession,
    records: list[TrialRecord],
    making: TablesInMaking,
    known: Sequence[Kind],
    taken: DataFrame | None = None,
) -> None:
    """Write all tables after the telemetry. A table that only some workloads have is empty without them.

    `taken` are the points of identifiers, where they were read apart.
    """
    write = making.write
    for planned in ("subscriptions", "publications"):
        making.read(planned, partial(making.plan, planned))
    if "observations" not in making:
        write("observations", lambda: observations(spark, records), *_OBSERVATION)
    if "completions" not in making:
        write("completions", lambda: completions(spark, records), *_COMPLETION)
    if isinstance(making, TablesOnDemand):
        write(ROOTS, lambda: _roots(making["hops"]), "at_s", "trace")
        write("operations", lambda: _operations(making[ROOTS], making["hops"]), "at_s", "trace")
    else:
        write("operations", lambda: _operations(_roots(making["hops"]), making["hops"]), "at_s", "trace")
    write("counters", lambda: peers.counters(making), "peer", *_MESSAGE)
    write("links", lambda: peers.links(making), "moment", "peer", "channel", "neighbour", "kind")
    write(
        "sessions",
        lambda: sessions(spark, making.plan("sessions"), making, records),
        *("peer", "session", "start_s"),
    )
    write("absences", lambda: absences(making), "from_s", "host", "peer")
    write("states", lambda: peers.states(making), "name", "moment", "peer", "channel", "at_s")
    if "unmeasured" not in making:
        making.read("unmeasured", lambda: unmeasured(making))
    write(
        "identifiers",
        lambda: identifiers(making["points"] if taken is None else taken),
        *("channel", "peer", "at_s", "identifier"),
    )
    _write_interests(records, making, known)
    write("handled", lambda: deliveries.handled(making), "event", "peer")
    write("messages", lambda: peers.messages(making), *_MESSAGE)
    write("deliveries", lambda: deliveries.deliveries(making), "event", "peer")
    write("relays", lambda: deliveries.relays(making), "event", "peer")
    write("traffic", lambda: peers.traffic(making), "peer")
    for table, those in of_kinds(known, records, making):
        if those:
            making.make(table, those)
        else:
            making.write_nothing(table.item.name, table.item.schema)
    if have_regions(records):
        write("regions", lambda: regions(spark, records, making), "region", "outcome")
    if have_bandwidth(records):
        write("link_load", lambda: link_load(spark, records, making), "class")
        write("link_series", lambda: link_series(spark, records), "class", "way", "start_s")
    lost = "lost_messages" not in making
    if lost:
        write("lost_messages", lambda: lost_messages(making), *_MESSAGE, "start_s")
    if lost or may_be_disrupted(records):
        write("disruptions", lambda: disruptions(making), "cause", "start_s")


def _write_interests(records: list[TrialRecord], making: TablesInMaking, known: Sequence[Kind]) -> None:
    """Write the table `interests`, of events without a topic, from the kinds of workload that
    publish such."""
    parts = []
    for kind in known:
        those = [record for record in records if record.serves == kind.name]
        if kind.analysis.interests is not None and those:
            what = f'who was to get the events of the workload "{kind.name}"'
            parts.append((Brought(kind.analysis.interests, what, kind.package), those))
    if parts:
        making.write("interests", lambda: making.united(parts, INTERESTS), "event", "peer")
    else:
        making.write_nothing("interests", INTERESTS)


def _roots(hops: DataFrame) -> DataFrame:
    """Return one row a trace whose root is an operation; a delivery alone is none."""
    return (
        hops.where((F.col("parent").isNull()) & (F.col("message") != names.DELIVERY))
        .withColumnsRenamed({"message": "operation", "sent_s": "at_s"})
        .select(*_OPERATION)
    )


def _operations(roots: DataFrame, hops: DataFrame) -> DataFrame:
    """Return the operations with the messages that each of them caused."""
    keys = ["trial", "trace"]
    caused = (
        hops.where("sender is not null")
        .groupBy(*keys)
        .agg(
            F.count("*").alias("messages"),
            F.sum("bytes").alias("bytes"),
            F.max("depth").alias("depth"),
            F.max("handled_s").alias("last_s"),
        )
    )
    return (
        roots.join(caused, keys, "left")
        .na.fill(0, ["messages", "bytes", "depth"])
        .withColumn("last_s", F.coalesce("last_s", "at_s"))
    )
