"""The analysis of events by content: subscriptions are ranges and sets of values of attributes."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from analysis.charts.chart import Quantity
from analysis.contract.measures import Tables
from analysis.contract.tables import RunTables, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.by_content import BY_CONTENT
from analysis.measures.distributions import cost_cdf, nothing
from analysis.measures.event_delivery import EVENTS
from analysis.measures.routing import ROUTING
from analysis.measures.topology import TOPOLOGY
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import Spread, spread
from analysis.tables import content, costs, installations, routing, topology
from analysis.workloads.events import EVENT_FIGURES, OVERHEAD_HISTOGRAM, PUBLICATIONS, SUBSCRIPTIONS, TREE

_COLUMNS = "`docs/tables.md` describes the columns."


def _interests(tables: RunTables) -> DataFrame:
    return content.interests(tables, tables["publications"])


def _routing(tables: RunTables) -> DataFrame:
    return routing.routing(tables, tables.plan("peers"), tables.records)


def _cliques(tables: RunTables) -> DataFrame:
    return topology.cliques(tables, tables.plan("peers"), tables.records)


def _trees(tables: RunTables) -> DataFrame:
    return topology.trees(tables, tables.plan("peers"), tables.records)


def _delays(tables: Tables) -> DataFrame:
    return tables["installations"].where("delay_ms is not null").withColumn("penalty", nothing())


CONTENT: Final = WorkloadAnalysis(
    in_every_run=True,
    interests=_interests,
    tables=(
        Table(
            "installations",
            f"One row for each subscription that was made while its peer was up; {_COLUMNS}",
            installations.INSTALLATIONS,
            ("asked_s", "peer", "interest"),
            installations.installations,
        ),
        Table(
            "pieces",
            f"One row for each stored part of the subscriptions that count; {_COLUMNS}",
            installations.PIECES,
            ("asked_s", "peer", "interest", "stored_s"),
            installations.pieces,
        ),
        Table(
            "operation_traffic",
            f"What peers sent for operations, by what arrived; {_COLUMNS}",
            "trial string, operation string, message string, kind string, peer int, messages bigint, "
            "bytes bigint",
            ("operation", "message", "kind", "peer"),
            costs.operation_traffic,
        ),
        Table(
            "costs",
            f"Bytes of those messages, one row a peer; {_COLUMNS}",
            costs.COSTS,
            ("peer",),
            costs.costs,
        ),
        Table("routing", f"One row for each event; {_COLUMNS}", routing.ROUTING, ("event",), _routing),
        Table("servers", f"One row a peer; {_COLUMNS}", routing.SERVERS, ("peer",), routing.servers),
        Table(
            "cliques",
            f"One row for each snapshot of cliques of servers; {_COLUMNS}",
            topology.CLIQUES,
            ("moment",),
            _cliques,
        ),
        Table(
            "trees",
            f"One row for each tree of servers in each snapshot; {_COLUMNS}",
            topology.TREES,
            ("moment", "tree"),
            _trees,
        ),
        OVERHEAD_HISTOGRAM,
        Table(
            "cost_cdf",
            f"The distribution of costs over the peers; {_COLUMNS}",
            "trial string, kind string, value double, share double",
            ("kind", "value"),
            cost_cdf,
        ),
    ),
    measures=(EVENTS, BY_CONTENT, ROUTING, TOPOLOGY),
    delays={"subscribe": _delays},
    figures=(
        *EVENT_FIGURES,
        *map(
            against,
            ("install_delay_ms", "publish_bytes_per_event_and_node", "matching_bytes_per_event_and_node"),
        ),
        spread(
            Spread(
                "install-ms", "Installing subscriptions",
                "The share of installed subscriptions that were in force within a time. Further left is "
                "faster.",
                Quantity("time from asking to the last place that stores it", "ms"), "subscriptions",
                ("subscribe", "ms"),
            )
        ),
        spread(
            Spread(
                "install-hops", "Hops of installing",
                "The share of installed subscriptions that took a number of messages one after the other.",
                Quantity("hops"), "subscriptions", ("subscribe", "hops"), counted=True,
            )
        ),
        spread(
            Spread(
                "install-bytes", "What installing costs the peers",
                "The share of peers that receive at most a number of bytes for each subscription of all "
                "peers.",
                Quantity("received by a peer", "bytes a subscription"), "peers", ("installing",),
            )
        ),
        spread(
            Spread(
                "publish-bytes", "What publishing costs the peers",
                "The share of peers that receive at most a number of bytes for each event, delivery "
                "included.",
                Quantity("received by a peer", "bytes an event"), "peers", ("publishing",),
            )
        ),
        spread(
            Spread(
                "matching-bytes", "What finding the subscribers costs the peers",
                "The share of peers that receive at most a number of bytes for each event, without the "
                "messages that bring it to its subscribers.",
                Quantity("received by a peer", "bytes an event"), "peers", ("matching",),
            )
        ),
    ),
    sections=(TREE,),
    setting=(SUBSCRIPTIONS, PUBLICATIONS),
)  # fmt: skip
