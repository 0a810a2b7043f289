"""The tables of a run: telemetry and plan of each trial, as Parquet.

A table is a folder of files `<run>/tables/<table>/trial=<name>/part-00000.parquet` (...). Any Parquet reader
that knows Hive partitions reads the table of all trials at once (`=` in a trial's name is %3D in the
folder's). A trial without rows has no folder. Times `*_s` are in seconds of trial time on the coordinator's
clock, times `*_ms` in milliseconds, and sizes in bytes. A `?` marks a column that may be null. The same
telemetry and plan give the same files, byte for byte.

This module writes the following tables. `analysis.workloads` says which of them only some kinds of workload
have. Packages add others (`docs/measures.md`). After the description of a table stand its columns.

hops         The table has one row for each span of each operation, but none for observations. A span is the
             root of an operation (it has no parent), a message at its receiver (it has a sender), or a
             delivery that no message's span records (it has no sender and the name "delivery"; if it
             belongs to no operation, it has no parent either).
             trace binary(16), span bigint, parent bigint?, message (the message's name, or the
             operation's for a root), kind? ("event", "notification", "control", "maintenance"), channel?
             (of the component that sent the message, empty at the root; both null where there is no
             message), host, sender int?, peer int, depth int, topic int?, interested boolean? (null where
             the trace has no topic), delivered boolean, hops int? (of the delivery, or that the copy or the
             notification has made), bytes int?, event int? (on a publication's root, on deliveries of
             events, and on messages about an event that is not their trace's), lookup int? (on roots and
             deliveries), interest int?, session int?, graceful boolean? (the last three on roots), number
             bigint? (of an operation of a package's kind, on roots and where it is complete), sent_s,
             handled_s, delay_ms (sent to handled)
operations   The table has one row for each trace.
             trace, operation (publish, lookup, subscribe, unsubscribe, join, leave, or recovery: messages
             about events that were sent outside of any operation), host, peer, topic?, event?, lookup?,
             interest?, session?, graceful?, number bigint? (of an operation of a package's kind),
             at_s, messages bigint, bytes bigint, depth int (of the deepest message), last_s (when the last
             message was handled)
sessions     The table has one row for each planned session and says what became of it. A session whose host
             died and came back has a row for each start.
             peer, session, cause ("base", "flash-crowd"), host?, planned_start_s, planned_end_s, start_s?
             (null: never came up), end_s?, ended ("leave", "crash", "host lost", "trial end")
absences     The table has one row for each time that a peer was not up as planned because its
             host had died.
             host, peer, session, from_s (the host's last record), until_s (joined again, or was to leave),
             back boolean (joined again)
handled      The table has one row for each event and peer that received any message about it, in the event's
             trace or in another.
             event, topic?, publisher, published_s, peer, role (by the plan; "peer" unless it says
             otherwise), copies (messages of kind event), messages (of any kind), bytes, unwanted_copies,
             unwanted_messages, unwanted_bytes (of those received while not subscribed), delivered_s?, hops?
             (of the first delivery), fewest_hops? (the least that any copy, notification or delivery of the
             event had made when it came here), deliveries (to the application)
deliveries   The table has one row for each event and peer that was expected to get it or got it.
             event, topic?, publisher, peer, published_s, expected boolean, delivered boolean, hops int?
             (as travelled by the copy that was delivered first), fewest_hops int? (as in handled, if
             delivered), delay_ms? (published to delivered), copies int (received), duplicates int (copies
             beyond the first), repeated int (deliveries to the application beyond the first)
interests    The table has one row for each event without a topic and peer that held a subscription to it. It
             exists only where subscriptions are ranges.
             event, peer, expected boolean (held and up long enough before and after it)
lookups      The table has one row for each lookup. It exists only for the workload of lookups.
             lookup, origin, key binary(16), at_s, counted boolean (not too late in the trial, and neither by
             nor for a peer whose host was about to die or had died), delivered boolean, peer? (where it was
             delivered first), hops?, delay_ms?, copies bigint (deliveries), right boolean (no peer that was
             up, with the identifier that it had told, from before the lookup to its delivery is closer to
             the key), closest? (of those peers), direct_ms? (one-way delay from origin to peer)
identifiers  The table has one row for each identifier that a peer took.
             peer, channel (of the overlay), at_s, identifier
             (hexadecimal, without leading zeros), space (the metric: "ring", "clockwise", "xor")
installations  The table has one row for each subscription that was made while its peer was up. It exists only
             for trials with content.
             interest?, peer, asked_s, counted boolean (acted on at once, and not while a host
             died), installed_s?, delay_ms?, hops?,
             messages, bytes (of its trace)
pieces       Of the subscriptions that count in `installations`, the table has one row for each part that was
             stored, and one for each subscription of which no part was stored.
             interest?, peer, asked_s, stored_s?, answered_s? (the subscriber heard of it), delay_ms? (until
             then, or stored where nobody answers)
operation_traffic  The table says what peers sent for operations, counted by what arrived. It exists only for
             trials with content.
             operation, message, kind, peer, messages, bytes
costs        The table has the bytes of those messages, in one row for each peer that was up in the measure
             phase.
             peer, installing? (for subscriptions, a subscription), publishing? (for publications and their
             recovery, an event), matching? (publishing without the messages of kind event), inserting? (as
             installing, but of the messages alone that Li's thesis counts)
relays       The table has one row for each event and peer that handled it without having asked for it.
             event, topic?, peer, role, messages, copies, bytes (the unwanted ones of `handled`)
traffic      The table has one row for each peer that was up in the measure phase.
             peer, role, up_s (in the measure phase), received (copies of events), unwanted (copies of events
             that it did not subscribe to), overhead? (unwanted / received), messages (all dissemination
             messages received), unwanted_messages, bytes (of those messages), unwanted_bytes, and, from the
             peers' counters over the measure phase, operation_messages?, operation_bytes?,
             maintenance_messages?, maintenance_bytes? (sent; null for peers whose host died)
routing      The table has one row for each event by content. It exists only for trials with content.
             event, interested int (servers), copies bigint (messages that carry it), uninterested bigint
             (copies at peers that had not asked for it), cost_ms (one-way delays of the copies, summed up),
             ideal_ms? (of the minimum spanning tree over those who want it and the publisher)
servers      The table has one row for each peer that was up in the measure phase. It exists only for trials
             with content.
             peer, events bigint (of the trial), copies bigint (sent and received, of all events), entries?
             (subscriptions of others in its tables), searches?, comparisons? (in them, in the measure phase)
cliques      The table has one row for each snapshot (before and after the measure phase) of a trial whose
             servers form cliques.
             moment ("start", "end"), servers int (that are up), cliques int (of servers that count each other
             among their mates; a server without mates is one), rtt_ms (mean over all pairs of mates, by
             the latencies), hac_cliques int, hac_rtt_ms (of the cliques that HAC makes of the same servers)
trees        The table has one row for each tree of at least two servers in each snapshot. It exists only for
             trials with content.
             moment, tree (epoch and number), members int, whole boolean (one part, each but the root with one
             parent, which is up), length_ms (one-way delays of its links, summed up), shortest_ms (of the
             minimum spanning tree over its members)
counters     The table says what each peer sent over the measure phase, as its host counted.
             peer, message, kind, channel, traffic ("operation", "maintenance"), messages, bytes
messages     The table says what all hosts sent over the measure phase, by type and channel.
             message, kind, channel, traffic ("operation", "maintenance"), messages, bytes
states       The table has the values that components of peers reported of their state.
             peer, channel, at_s, moment ("start", "end" of
             the measure phase, "sample": over time, of gauges that ask for it), name (without
             `trellis.state.`), value? (null: not measured)
gauges       The table says what components declare of their gauges. Components that declare none have no row.
             channel, name, unit, text, better ("higher", "lower"
             or empty)
observations  The table has one row for each time that a component recorded an observation.
             peer, channel (of the component, empty at the root), session int, at_s, name, value? (null: not
             measured), subject bigint? (whom or what it is about), unit (empty if none was given), trace?,
             span? (the operation and the span of `hops` that was being handled)
completions  The table has one row for each time that a protocol reported the outcome of an operation of a
             package's kind, at each peer where it came about.
             operation, number bigint (as in operations), peer, at_s, hops int, value? (what came of it; null:
             not measured), trace, span (of `hops`)
links        The table has one row for each link of an overlay that was reported.
             peer, channel, neighbour, kind, at_s, moment ("start", "end")
regions, link_load, disruptions  Only some runs have these; the modules of their names describe them.
losses       The table has one row for each piece of telemetry that could not be read.
             file, offset (bytes), lost_bytes, reason
points       The table has one row for each data point of each metric.
             host, incarnation (0, 1, ...: its starts), name, at_s, value?,
             peer?, neighbour?, kind? (of a link, or of messages), message?, traffic?, channel? (null at the
             root), identifier?, space?

`analysis.measures.series` and the kinds of workload (`analysis.workloads`) make these tables from the ones
above:

series               The table has one row for each interval of the measure phase.
                     start_s, end_s, peers_up (mean), published, expected, delivered, hit_ratio?,
                     received, unwanted, overhead?, hops? (mean), delay_ms? (mean), by the time of
                     publication; lookups, lookup_success?, lookup_hops?, lookup_delay_ms? by the time
                     of the lookup; maintenance_messages?, maintenance_bytes? (a peer and second, by the
                     time of sending)
overhead_histogram   The table counts peers in 20 classes by their share of unwanted copies of events. It
                     leaves out relays and servers, and trials with lookups have no such table.
                     low, high (0..1), peers, share, above (share of peers with at least `low`)
delay_cdf            The table has the distribution of delays and hops.
                     operation ("publish", "subscribe", "lookup"), unit ("hops", "ms", "penalty": times the
                     direct delay), value, share (of what was delivered with at most `value`)
cost_cdf             The table has the distribution of the costs of peers.
                     kind ("installing", "publishing", "matching"), value (bytes, as in costs), share (of
                     peers with at most `value`)
clusters             The table has one row for each topic with subscribers that are up at the end of the
                     measure phase.
                     topic, subscribers, clusters (connected components of the links among them), largest
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Observation, SparkSession
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
from analysis.tables.link_load import have_bandwidth, link_load
from analysis.tables.observations import (
    GAUGES,
    OBSERVATIONS,
    declared_rows,
    finite,
    no_unmeasured,
    observations,
    unmeasured,
)
from analysis.tables.offered import of_kinds
from analysis.tables.parquet import TablesInMaking, write_in_order, write_nothing, write_table
from analysis.tables.plan import read_plan
from analysis.tables.reconciliation import Found
from analysis.tables.regions import have_regions, regions
from analysis.tables.roles import attackers, roles
from analysis.tables.sessions import sessions
from analysis.tables.telemetry import corrected_spans, read_noted
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names

Tables = dict[str, DataFrame]
_HOPS = [
    *("trial", "trace", "span", "parent", "message", "kind", "channel", "host", "sender", "peer", "depth"),
    *("topic", "interested"),
    *("delivered", "hops", "bytes", "event", "lookup", "interest", "session", "graceful"),
    *("number", "sent_s", "handled_s", "delay_ms"),
]
_MESSAGE = ("message", "kind", "channel", "traffic")
_COMPLETION = ("at_s", "operation", "number", "peer", "span")
_OBSERVATION = ("at_s", "peer", "channel", "name", "subject", "value", "unit", "span")
_OPERATION = [
    *("trial", "trace", "operation", "host", "peer", "topic", "event", "lookup", "interest"),
    *("session", "graceful", "number", "at_s"),
]
_POINTS = [
    *("trial", "host", "incarnation", "name", "at_s", "value", "peer", "neighbour", "kind", "message"),
    *("traffic", "channel", "identifier", "space"),
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
    stages = stages or Stages(lambda standing: None, 0, READING)
    tables: Tables = {"trials": few(trial_frame(spark, records))}
    with stages.watching(READING, spark):
        there = write_telemetry(spark, run, records, tables)
    if found is not None:
        found += there
    stages.begin(TABLES)
    tables["subscriptions"] = read_plan(spark, records, "subscriptions")
    tables["publications"] = read_plan(spark, records, "publications")
    tables["roles"] = roles(spark, records)
    if any(record.spec.attackers is not None for record in records):
        tables["attackers"] = attackers(spark, records)
    if any(record.spec.faults for record in records):
        tables["faults"] = faults(spark, records)
    known, refused = kinds(record.serves for record in records)
    troubles = [] if troubles is None else troubles
    troubles += refused
    with TablesInMaking(run, tables, records, troubles) as making:
        _write(spark, records, making, known)
    return dict(making)


def _write(
    spark: SparkSession, records: list[TrialRecord], making: TablesInMaking, known: Sequence[Kind]
) -> None:
    """Write all tables after the telemetry. A table that only some workloads have is empty without them."""
    write = making.write
    write("operations", lambda: _operations(making["hops"]), "at_s", "trace")
    write("counters", lambda: peers.counters(making), "peer", *_MESSAGE)
    write("links", lambda: peers.links(making), "moment", "peer", "channel", "neighbour", "kind")
    planned_sessions = read_plan(spark, records, "sessions")
    write(
        "sessions", lambda: sessions(spark, planned_sessions, making, records), "peer", "session", "start_s"
    )
    write("absences", lambda: absences(making), "from_s", "host", "peer")
    write("states", lambda: peers.states(making), "name", "moment", "peer", "channel", "at_s")
    if "unmeasured" not in making:
        making.put("unmeasured", unmeasured(making))
    write("identifiers", lambda: identifiers(making), "channel", "peer", "at_s", "identifier")
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
    if may_be_disrupted(records):
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


def write_telemetry(
    spark: SparkSession, run: RunDirectory, records: list[TrialRecord], tables: Tables
) -> list[Found]:
    """Write hops and points in one pass over each signal's files, and what could not be read of them.

    Returns how much was found.
    """
    observed = []

    def readable(signal: str, *more: Column) -> DataFrame:
        found = Observation()
        observed.append(found)
        notes = [
            F.collect_list(F.when(F.col(note).isNotNull(), F.struct("trial", note))).alias(note)
            for note in ("loss", "tally")
        ]
        frame = read_noted(spark, records, signal).observe(found, *notes, *more)
        return frame.where("loss is null and tally is null").drop("loss", "tally")

    is_observation, measured = F.col("observed").isNotNull(), finite("value").isNotNull()
    is_gauge = F.col("name").startswith(names.STATE) | F.col("name").startswith(names.SAMPLE)
    declares = F.coalesce("unit", "text", "better").isNotNull()
    about = F.struct("trial", "channel", "name", "unit", "text", "better")
    spans = readable(
        "traces",
        F.count_if(is_observation).alias("observations"),
        F.count_if(F.col("completed").isNotNull()).alias("completions"),
        F.count_if(is_observation & ~measured).alias("unmeasured"),
    )
    hops = corrected_spans(spark, spans.where(~is_observation), records).withColumn(
        "delivered", F.coalesce("delivered", F.lit(False))
    )
    of_message = F.when(F.col("sender").isNotNull(), F.coalesce("channel", F.lit("")))
    hops = hops.withColumns({"depth": F.coalesce("depth", F.lit(0)), "channel": of_message})
    points = readable(
        "metrics",
        F.collect_set(F.when(declares, about)).alias("gauges"),
        F.count_if(is_gauge & ~measured).alias("unmeasured"),
    ).withColumns({"at_s": F.col("at_ns") / 1e9, "value": finite("value")})
    tables |= write_in_order(run, spark, hops=hops.select(*_HOPS), points=points.select(*_POINTS))
    of_spans, of_points = (found.get for found in observed)
    tables["observations"] = (
        write_table(observations(spark, records), run, "observations", *_OBSERVATION)
        if of_spans["observations"]
        else write_nothing(spark.createDataFrame([], OBSERVATIONS).where("false"), run, "observations")
    )
    tables["completions"] = (
        write_table(completions(spark, records), run, "completions", *_COMPLETION)
        if of_spans["completions"]
        else write_nothing(spark.createDataFrame([], COMPLETIONS).where("false"), run, "completions")
    )
    declared = declared_rows(map(tuple, of_points["gauges"]))
    told = spark.createDataFrame(declared, GAUGES)
    tables["gauges"] = (
        write_table(told, run, "gauges", "channel", "name")
        if declared
        else write_nothing(told.where("false"), run, "gauges")
    )
    if not (of_spans["unmeasured"] or of_points["unmeasured"]):
        tables["unmeasured"] = no_unmeasured(spark)
    lost = [(row.trial, *row.loss) for found in observed for row in found.get["loss"]]
    schema = "trial string, file string, offset bigint, lost_bytes bigint, reason string"
    losses = spark.createDataFrame(lost, schema)
    if lost:
        tables["losses"] = write_table(losses, run, "losses", "file", "offset")
    else:
        tables["losses"] = write_nothing(losses.where("false"), run, "losses")
    return [
        Found(row.trial, row.tally.file, row.tally.host, row.tally.start, row.tally.found, signal)
        for signal, tallies in zip(("traces", "metrics"), observed, strict=True)
        for row in tallies.get["tally"]
    ]


def _operations(hops: DataFrame) -> DataFrame:
    """Return one row a trace whose root is an operation; a delivery alone is none."""
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
        hops.where((F.col("parent").isNull()) & (F.col("message") != names.DELIVERY))
        .withColumnsRenamed({"message": "operation", "sent_s": "at_s"})
        .select(*_OPERATION)
        .join(caused, keys, "left")
        .na.fill(0, ["messages", "bytes", "depth"])
        .withColumn("last_s", F.coalesce("last_s", "at_s"))
    )
