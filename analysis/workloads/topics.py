"""The analysis of events by topic."""

from __future__ import annotations

from typing import Final

from analysis.contract.tables import Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.by_topic import BY_TOPIC
from analysis.measures.clusters import clusters
from analysis.measures.event_delivery import EVENTS
from analysis.measures.of_gossipsub import GOSSIPSUB
from analysis.workloads.events import EVENT_FIGURES, OVERHEAD_HISTOGRAM, PUBLICATIONS, SUBSCRIPTIONS, TREE

CLUSTERS: Final = Table(
    "clusters",
    "One row a topic with subscribers up at the end of the measure phase: topic, subscribers, clusters "
    "(connected components of the links among them), largest.",
    "trial string, topic int, subscribers int, clusters int, largest int",
    ("topic",),
    clusters,
)
TOPICS: Final = WorkloadAnalysis(
    in_every_run=True,
    tables=(OVERHEAD_HISTOGRAM, CLUSTERS),
    measures=(EVENTS, BY_TOPIC, GOSSIPSUB),
    figures=EVENT_FIGURES,
    sections=(TREE,),
    setting=(SUBSCRIPTIONS, PUBLICATIONS),
)
