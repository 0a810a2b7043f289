"""Measures of all trials, whatever their peers were asked for: traffic, neighbours, what was lost."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower
from analysis.measures.clustering import in_degree
from analysis.measures.successors import wrong_successors
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import PROCESSING_DROP
from emulator.runtime.hostile_channel import OBSERVATION
from emulator.telemetry import names

_HEADINGS = {
    "Traffic": ("bytes", "maintenance"),
    "Overlay": ("neighbours", "in_degree", "wrong_successors"),
}
_MEASURES = {
    "bytes_per_s": lower(
        "Traffic",
        "bytes/s a peer",
        "Sent in the measure phase, maintenance included.",
    ),
    "maintenance_messages_per_s": lower(
        "Maintenance messages",
        "messages/s a peer",
        "Sent in the measure phase by timers, not for an operation.",
    ),
    "maintenance_bytes_per_s": lower(
        "Maintenance traffic", "bytes/s a peer", "Sent in the measure phase by timers, not for an operation."
    ),
    "neighbours": Measure(
        "Neighbours",
        "peers",
        None,
        "Different peers linked to on any channel, mean at the end of the measure phase.",
    ),
    "neighbours_max": Measure(
        "Most neighbours",
        "peers",
        None,
        "Of any peer at the end of the measure phase.",
    ),
    "in_degree_ratio": lower(
        "Largest in-degree",
        "times the mean",
        "Long links that end at one peer, at the end of the measure phase; of overlays that name them.",
    ),
    "wrong_successors": lower(
        "Peers with a wrong successor",
        "share",
        "When the measure phase began, of the peers that had a successor on the ring, by the identifiers "
        "that peers had told: the overlay had not formed yet, or had not mended. Lookups and relay paths may "
        "then end at the wrong peer.",
    ),
    "peers_up": Measure("Peers up", "peers", None, "Mean over the measure phase."),
    "peers_away": lower(
        "Peers away",
        "peers",
        "Not up as planned for some time, because their hosts died. What was to reach them then neither "
        "counts as missed nor as received.",
    ),
    "attacked_messages": Measure(
        "Attacked messages",
        "messages",
        None,
        "That attackers dropped, delayed, changed or made up, in the whole trial.",
    ),
    "link_drops": lower(
        "Messages dropped by links",
        "messages",
        "That did not fit into the queue of a peer's up or down link, in the whole trial.",
    ),
    "processing_drops": lower(
        "Messages dropped by busy peers",
        "messages",
        "That would have waited too long for a peer which handles one after the other, in the whole trial.",
    ),
    "lost_spans": lower(
        "Lost spans",
        "spans",
        "Not recorded, as the hosts counted. Any makes the trial invalid.",
    ),
    "dropped_envelopes": lower(
        "Dropped messages",
        "messages",
        "By full queues of the emulation itself.",
    ),
    "lost_telemetry": lower(
        "Unreadable telemetry",
        "bytes",
        "Cut off or damaged parts of the trial's OTLP files.",
    ),
}
_FORMULAS = {
    "bytes_per_s": "bytes sent / time that peers were up",
    "maintenance_messages_per_s": "messages sent by timers / time that peers were up",
    "maintenance_bytes_per_s": "bytes sent by timers / time that peers were up",
    "neighbours*": "{statistic} over peers with links of the different neighbours",
    "in_degree_ratio": (
        "maximum over overlays of ((maximum over peers of the long links that end at it) / (long links / "
        "peers with long links))"
    ),
    "wrong_successors": "successor links to another peer than the next on the ring / successor links",
    "peers_up": "time that peers were up in the measure phase / length of the measure phase",
    "peers_away": "peers that were away",
    "attacked_messages": "messages that attackers dropped, delayed, changed or made up",
    "link_drops": "messages dropped by queues of links",
    "processing_drops": "messages dropped by busy peers",
    "lost_spans": "spans not recorded, summed over hosts",
    "dropped_envelopes": "messages dropped by queues of hosts, summed over hosts",
    "lost_telemetry": "bytes that could not be read, summed over files",
}


def _traffic(tables: Tables) -> DataFrame:
    sent = F.col("operation_bytes") + F.col("maintenance_bytes")
    counted_s = F.sum(F.when(sent.isNotNull(), F.col("up_s")))
    phase_s = F.first(F.col("measure_end_s") - F.col("measure_start_s"))
    return (
        tables["traffic"]
        .join(tables["trials"], "trial")
        .groupBy("trial")
        .agg(
            F.try_divide(F.sum(sent), counted_s).alias("bytes_per_s"),
            F.try_divide(F.sum("maintenance_messages"), counted_s).alias("maintenance_messages_per_s"),
            F.try_divide(F.sum("maintenance_bytes"), counted_s).alias("maintenance_bytes_per_s"),
            (F.sum("up_s") / phase_s).alias("peers_up"),
        )
    )


def _maintenance_of_part(tables: Tables) -> DataFrame:
    """Return what a peer sent by timers in the intervals of the time series, each weighted by its peers."""
    of_units = {"messages": "maintenance_messages", "bytes": "maintenance_bytes"}
    peer_seconds = F.col("peers_up") * (F.col("end_s") - F.col("start_s"))
    means = [
        F.try_divide(
            F.sum(F.col(column) * peer_seconds), F.sum(F.when(F.col(column).isNotNull(), peer_seconds))
        ).alias(f"maintenance_{unit}_per_s")
        for unit, column in of_units.items()
    ]
    return tables["series"].groupBy("trial").agg(*means)


def _absences(tables: Tables) -> DataFrame:
    return tables["absences"].groupBy("trial").agg(F.count_distinct("peer").alias("peers_away"))


def _attacks(tables: Tables) -> DataFrame:
    attacks = tables["observations"].where(F.col("name").startswith(f"{OBSERVATION} "))
    return attacks.groupBy("trial").agg(F.count("*").alias("attacked_messages"))


def _link_drops(tables: Tables) -> DataFrame:
    drops = tables["observations"].where(F.col("name").isin(UP_LINK_DROP, DOWN_LINK_DROP, PROCESSING_DROP))
    busy = F.col("name") == PROCESSING_DROP
    return drops.groupBy("trial").agg(
        F.nullif(F.count_if(~busy), F.lit(0)).alias("link_drops"),
        F.nullif(F.count_if(busy), F.lit(0)).alias("processing_drops"),
    )


def _neighbours(tables: Tables) -> DataFrame:
    return (
        tables["links"]
        .where("moment = 'end'")
        .groupBy("trial", "peer")
        .agg(F.count_distinct("neighbour").alias("neighbours"))
        .groupBy("trial")
        .agg(F.avg("neighbours").alias("neighbours"), F.max("neighbours").alias("neighbours_max"))
    )


def _lost(tables: Tables) -> DataFrame:
    counters = {names.LOST_SPANS: "lost_spans", names.DROPPED: "dropped_envelopes"}
    last = (
        tables["points"]
        .where(F.col("name").isin(*counters))
        .groupBy("trial", "host", "incarnation", "name")
        .agg(F.max("value").alias("value"))
    )
    return last.groupBy("trial").agg(
        *(F.sum(F.when(F.col("name") == name, F.col("value"))).alias(c) for name, c in counters.items())
    )


def _unreadable(tables: Tables) -> DataFrame:
    return tables["losses"].groupBy("trial").agg(F.sum("lost_bytes").alias("lost_telemetry"))


EVERY_TRIAL = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (
        _traffic,
        _absences,
        _attacks,
        _link_drops,
        _neighbours,
        wrong_successors,
        in_degree,
        _lost,
        _unreadable,
    ),
    zero=("lost_telemetry", "peers_away"),
    of_parts={_maintenance_of_part: ("maintenance_messages_per_s", "maintenance_bytes_per_s")},
)
