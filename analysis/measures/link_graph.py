"""Measures of the graph of all links: how long its shortest paths are, how clustered and how whole it is."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, lower, share
from analysis.measures.link_matrix import clusterings, in_either_direction, link_matrix, mean_path

_MOST_SOURCES: Final = 1000
"""The most peers from which shortest paths are computed: in a larger graph each n-th peer is one."""
_COLUMNS: Final = "trial string, path_length double, clustering double, largest_part double"
_MEASURES = {
    "path_length": lower(
        "Shortest paths",
        "hops",
        "Along links, mean over pairs of peers with a path, at the end of the measure phase: pairs without "
        "one, as in an overlay that has fallen apart, do not count. Of more than 1,000 peers, from 1,000 of "
        "them.",
    ),
    "clustering": lower(
        "Clustering coefficient",
        "share",
        "Of the pairs of a peer's neighbours, those that are neighbours of each other, whatever the "
        "direction of links; mean over all peers that are up at the end of the measure phase, in whatever "
        "part: a peer with fewer than two neighbours counts as 0.",
    ),
    "largest_part": share(
        "Peers in the largest part",
        "Of the peers that are up at the end of the measure phase, with or without links: the most that are "
        "connected with each other by links in any direction.",
    ),
}
_FORMULAS = {
    "path_length": "mean over ordered pairs of peers with a path of the links of the shortest path",
    "clustering": "mean over peers of (pairs of neighbours that are neighbours / pairs of neighbours)",
    "largest_part": "peers of the largest connected part / peers that are up",
}


def _graph(tables: Tables) -> DataFrame:
    links = tables["links"].where("moment = 'end'").select("trial", "peer", "neighbour").distinct()
    up = (
        tables["sessions"]
        .join(tables["trials"], "trial")
        .where("start_s <= measure_end_s and end_s > measure_end_s")
        .join(tables["links"].select("trial").distinct(), "trial", "left_semi")
        .select("trial", "peer", F.lit(None).cast("int").alias("neighbour"))
    )
    return links.unionByName(up).groupBy("trial").applyInArrow(_measure, _COLUMNS)


def _measure(rows: pa.Table) -> pa.Table:
    """Return the measures of one trial: its links, and a row without a neighbour for each peer that is up."""
    links = rows.filter(rows["neighbour"].is_valid())
    found = measure_graph(rows["peer"].to_numpy(), links["peer"].to_numpy(), links["neighbour"].to_numpy())
    return pa.Table.from_pylist([{"trial": rows["trial"][0].as_py()} | found])


def measure_graph(up: np.ndarray, peers: np.ndarray, neighbours: np.ndarray) -> dict[str, float]:
    """Return the measures of the graph of the peers `up`, in any order and number, with links from each of
    `peers` to its neighbour; only links between peers that are up count."""
    from scipy.sparse.csgraph import connected_components

    up = np.unique(up)
    counted = np.isin(peers, up) & np.isin(neighbours, up)
    begins, ends = (np.searchsorted(up, of[counted]) for of in (peers, neighbours))
    graph = link_matrix(begins, ends, len(up))
    both = in_either_direction(graph)
    path = mean_path(graph, _MOST_SOURCES)
    _, part = connected_components(both, directed=False)
    return {
        "path_length": float("nan") if path is None else path,
        "clustering": float(clusterings(both, np.arange(len(up))).mean()),
        "largest_part": float(np.bincount(part).max() / len(up)),
    }


LINK_GRAPH = MeasureGroup(grouped({"Overlay": tuple(_MEASURES)}, defined(_FORMULAS, _MEASURES)), (_graph,))
"""The measures of the graph of links, for kinds of workload whose peers need no more than neighbours."""
