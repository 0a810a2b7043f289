"""Measures of the graph of all links: how long its shortest paths are, how clustered and how whole it is."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from analysis.contract.measures import MeasureGroup, Tables, grouped, lower, share

_MOST_SOURCES: Final = 1000
"""The most peers from which shortest paths are computed: in a larger graph each n-th peer is one."""
_COLUMNS: Final = "trial string, path_length double, clustering double, largest_part double"
_MEASURES = {
    "path_length": lower(
        "Shortest paths",
        "hops",
        "Along links, mean over pairs of peers with a path, at the end of the measure phase. Of more than "
        "1,000 peers, from 1,000 of them.",
    ),
    "clustering": lower(
        "Clustering coefficient",
        "share",
        "Of the pairs of a peer's neighbours, those that are neighbours of each other, whatever the "
        "direction of links; mean over peers, at the end of the measure phase.",
    ),
    "largest_part": share(
        "Peers in the largest part",
        "That are connected with each other by links in any direction, at the end of the measure phase.",
    ),
}


def _graph(tables: Tables) -> DataFrame:
    links = tables["links"].where("moment = 'end'").select("trial", "peer", "neighbour").distinct()
    return links.groupBy("trial").applyInArrow(_measure, _COLUMNS)


def _measure(links: pa.Table) -> pa.Table:
    """Return the measures of one trial's links, in which peers without any link do not appear."""
    found = measure_graph(links["peer"].to_numpy(), links["neighbour"].to_numpy())
    return pa.Table.from_pylist([{"trial": links["trial"][0].as_py()} | found])


def measure_graph(peers: np.ndarray, neighbours: np.ndarray) -> dict[str, float]:
    """Return the measures of the graph with these links; only links between peers that have any count."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    up = np.unique(peers)
    counted = np.isin(neighbours, up)
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


LINK_GRAPH = MeasureGroup(grouped({"Overlay": tuple(_MEASURES)}, _MEASURES), (_graph,))
"""The measures of the graph of links, for kinds of workload whose peers need no more than neighbours."""
