"""Measures of content routing: the cost of events to the network and the servers."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, rated

_HEADINGS = {
    "Traffic": ("copies",),
    "Routing by content": (
        *("network_cost", "uninterested", "interested", "table_entries", "searches", "comparisons"),
        "server_",
    ),
}
_EACH = "an event and server"

_TOLD: Final = {
    "network_cost_ms": (
        "Network cost",
        "ms an event",
        "One-way delays of all messages that carry an event, summed up; mean over events.",
    ),
    "network_cost_ideal_ms": (
        "Network cost of ideal multicast",
        "ms an event",
        "The minimum spanning tree over the servers that want an event and its publisher; mean over events.",
    ),
    "network_cost_over_ideal": (
        "Network cost over the ideal",
        "",
        "The sum over all events of the cost, over that of the ideal. Below 1 only if servers that do not "
        "want an event lie on short ways.",
    ),
    "copies_per_event": ("Copies of an event", "messages", "Messages that carry it; mean over events."),
    "uninterested_per_event": (
        "Uninterested receipts",
        "messages an event",
        "Copies that peers received who had not asked for them, servers and relays by the plan included.",
    ),
    "interested_per_event": ("Interested servers", "servers", "That want an event; mean over events."),
    "table_entries": (
        "Table entries",
        "subscriptions a server",
        "Of other servers, held for routing at the end of the measure phase; mean over servers.",
    ),
    "table_entries_max": ("Table entries, most", "subscriptions", "At the server with the most."),
    "searches_per_event": (
        "Matches",
        f"searches {_EACH}",
        "Times that a server looked an event up in a table of subscriptions; mean over servers.",
    ),
    "searches_per_event_max": ("Matches, most", f"searches {_EACH}", "At the server with the most."),
    "comparisons_per_event": (
        "Evaluations",
        f"subscriptions {_EACH}",
        "Subscriptions that a server compared an event with one by one; an index spares the others.",
    ),
    "comparisons_per_event_max": (
        "Evaluations, most",
        f"subscriptions {_EACH}",
        "At the server with the most.",
    ),
    "server_copies": (
        "Messages a server",
        f"messages {_EACH}",
        "Copies of events that a server sends and receives; mean over servers.",
    ),
    "server_copies_max": ("Messages a server, most", f"messages {_EACH}", "At the server with the most."),
    "server_copies_max_over_mean": (
        "Messages, most over mean",
        "",
        "How uneven the load is: the busiest server's over the mean.",
    ),
    "server_copies_jain": (
        "Jain's index of messages",
        "",
        "How even the load is: 1 if all servers handle as many copies, 1/n if one of n handles all.",
    ),
}
"""The title, unit and meaning of each measure, by name."""
_FORMULAS = {
    "network_cost_ms": "mean over events of (one-way delay, summed over copies)",
    "network_cost_ideal_ms": (
        "mean over events of the length, in one-way delays, of the minimum spanning tree"
    ),
    "network_cost_over_ideal": "(cost, summed over events) / (ideal cost, summed over events)",
    "copies_per_event": "mean over events of the copies",
    "uninterested_per_event": "mean over events that some peer handled of the unwanted copies",
    "interested_per_event": "mean over events of the servers that want it",
    "table_entries*": "{statistic} over servers of the subscriptions of others held",
    "searches_per_event*": "({statistic} over servers of the searches in the measure phase) / publications",
    "comparisons_per_event*": (
        "({statistic} over servers of the comparisons in the measure phase) / publications"
    ),
    "server_copies*": "({statistic} over servers of the copies sent and received) / publications",
    "server_copies_max_over_mean": (
        "(maximum over servers of c) / (mean over servers of c), c the copies sent and received"
    ),
    "server_copies_jain": (
        "(c, summed over n servers)^2 / (n * (c^2, summed over servers)), c the copies sent and received"
    ),
}
_HIGHER_IS_BETTER: Final = {"server_copies_jain"}
_NEITHER: Final = {"interested_per_event", "network_cost_ideal_ms"}


def _events(tables: Tables) -> DataFrame:
    return (
        tables["routing"]
        .groupBy("trial")
        .agg(
            F.avg("cost_ms").alias("network_cost_ms"),
            F.avg("ideal_ms").alias("network_cost_ideal_ms"),
            F.try_divide(F.sum("cost_ms"), F.sum("ideal_ms")).alias("network_cost_over_ideal"),
            F.avg("copies").alias("copies_per_event"),
            F.avg("uninterested").alias("uninterested_per_event"),
            F.avg("interested").alias("interested_per_event"),
        )
    )


def _servers(tables: Tables) -> DataFrame:
    events, copies = F.first("events"), F.col("copies")
    squares = F.sum(copies.cast("double") * copies)
    return (
        tables["servers"]
        .groupBy("trial")
        .agg(
            F.avg("entries").alias("table_entries"),
            F.max("entries").alias("table_entries_max"),
            F.try_divide(F.avg("searches"), events).alias("searches_per_event"),
            F.try_divide(F.max("searches"), events).alias("searches_per_event_max"),
            F.try_divide(F.avg("comparisons"), events).alias("comparisons_per_event"),
            F.try_divide(F.max("comparisons"), events).alias("comparisons_per_event_max"),
            F.try_divide(F.avg("copies"), events).alias("server_copies"),
            F.try_divide(F.max("copies"), events).alias("server_copies_max"),
            F.try_divide(F.max("copies"), F.avg("copies")).alias("server_copies_max_over_mean"),
            F.try_divide(F.sum("copies") * F.sum("copies"), F.count("*") * squares).alias(
                "server_copies_jain"
            ),
        )
    )


ROUTING = MeasureGroup(
    grouped(
        _HEADINGS,
        defined(
            _FORMULAS,
            rated(_TOLD, _HIGHER_IS_BETTER, _NEITHER),
        ),
    ),
    (_events, _servers),
)
"""The measures of trials whose peers are servers that route events by content."""
