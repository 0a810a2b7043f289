"""Measures of the cliques and trees of servers, beside those made with knowledge of all delays."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, rated

_TOLD: Final = {
    "cliques": (
        "Cliques",
        "",
        "Groups of servers that count each other among their mates, at the end of the measure phase. A "
        "server without a clique counts as one.",
    ),
    "clique_rtt_ms": ("Round trip inside a clique", "ms", "By the latencies, mean over all pairs of mates."),
    "cliques_over_hac": (
        "Cliques, over HAC's",
        "",
        "HAC (figure 5 of Kyra's paper) is computed over all delays between the servers that are up.",
    ),
    "clique_rtt_over_hac": ("Round trip inside a clique, over HAC's", "", "Of the same cliques."),
    "trees_over_spanning": (
        "Trees over the spanning tree",
        "",
        "Delays of all links of the servers' trees, summed up, over those of the minimum spanning trees over "
        "the same servers, at the end of the measure phase. Trees in several parts do not count.",
    ),
    "trees_whole": (
        "Trees in one part",
        "share",
        "Of the trees of at least two servers, at the end of the measure phase.",
    ),
}
"""The title, unit and meaning of each measure, by name."""
_FORMULAS = {
    "cliques": "connected groups of mates",
    "clique_rtt_ms": "mean over pairs of servers in one clique of the round trip",
    "cliques_over_hac": "cliques / cliques of HAC",
    "clique_rtt_over_hac": "mean round trip inside a clique / that inside a clique of HAC",
    "trees_over_spanning": (
        "(delays of the links, summed over whole trees) / (lengths of their minimum spanning trees, summed)"
    ),
    "trees_whole": "trees in one part / trees",
}
_HIGHER_IS_BETTER: Final = {"trees_whole"}
_NEITHER: Final = {"cliques"}


def _cliques(tables: Tables) -> DataFrame:
    return (
        tables["cliques"]
        .where("moment = 'end'")
        .select(
            "trial",
            "cliques",
            F.col("rtt_ms").alias("clique_rtt_ms"),
            F.try_divide("cliques", "hac_cliques").alias("cliques_over_hac"),
            F.try_divide("rtt_ms", "hac_rtt_ms").alias("clique_rtt_over_hac"),
        )
    )


def _trees(tables: Tables) -> DataFrame:
    whole = F.col("whole")
    return (
        tables["trees"]
        .where("moment = 'end'")
        .groupBy("trial")
        .agg(
            F.try_divide(
                F.sum(F.when(whole, F.col("length_ms"))), F.sum(F.when(whole, F.col("shortest_ms")))
            ).alias("trees_over_spanning"),
            F.try_divide(F.count_if(whole), F.count("*")).alias("trees_whole"),
        )
    )


TOPOLOGY = MeasureGroup(
    defined(
        _FORMULAS,
        rated(_TOLD, _HIGHER_IS_BETTER, _NEITHER),
    ),
    (_cliques, _trees),
)
"""The measures of trials whose servers may form cliques and trees."""
