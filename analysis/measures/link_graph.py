"""Measures of the graph of all links: how long its shortest paths are, how clustered and how whole it is."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, lower, share

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
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    up = np.unique(up)
    counted = np.isin(peers, up) & np.isin(neighbours, up)
    rows, columns = np.searchsorted(up, peers[counted]), np.searchsorted(up, neighbours[counted])
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(up), len(up)))
    sources = np.arange(0, len(up), -(-len(up) // _MOST_SOURCES))
    paths = shortest_path(graph, unweighted=True, indices=sources)
    finite = paths[np.isfinite(paths) & (paths > 0)]
    both = ((graph + graph.T) > 0).astype(np.float64)
    degree = both.sum(axis=1)
    closed = (both @ both).multiply(both).sum(axis=1)
    pairs = np.maximum(degree * (degree - 1), 1)
    _, part = connected_components(both, directed=False)
    return {
        "path_length": float(finite.mean()) if len(finite) else float("nan"),
        "clustering": float((closed / pairs).mean()),
        "largest_part": float(np.bincount(part).max() / len(up)),
    }


LINK_GRAPH = MeasureGroup(grouped({"Overlay": tuple(_MEASURES)}, defined(_FORMULAS, _MEASURES)), (_graph,))
"""The measures of the graph of links, for kinds of workload whose peers need no more than neighbours."""
