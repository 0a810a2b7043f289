"""Shortest paths and clustering of a graph of links, for measures of trials and for the report's topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def link_matrix(peers: np.ndarray, neighbours: np.ndarray, size: int) -> csr_array:
    """Return a matrix of `size` peers, numbered from 0, with a 1 for each link from a peer to a neighbour.

    Links may be there several times.
    """
    from scipy.sparse import csr_array

    found = csr_array((np.ones(len(peers)), (peers, neighbours)), shape=(size, size))
    found.data[:] = 1.0
    return found


def in_either_direction(matrix: csr_array) -> csr_array:
    """Return the matrix of links that lead either way."""
    both: Any = ((matrix + matrix.T) > 0).astype(np.float64)
    return both


def mean_path(matrix: csr_array, most_sources: int) -> float | None:
    """Return the mean hops of the shortest paths along links, over pairs of peers with a path.

    It is None if no pair has a path. Paths begin at `most_sources` peers at most: of more, each n-th is one.
    """
    from scipy.sparse.csgraph import shortest_path

    sources = each_nth(np.arange(matrix.shape[0]), most_sources)
    paths = shortest_path(matrix, unweighted=True, indices=sources)
    finite = paths[np.isfinite(paths) & (paths > 0)]
    return float(finite.mean()) if len(finite) else None


def clusterings(both: csr_array, peers: np.ndarray) -> np.ndarray:
    """Return the clustering coefficient of each of `peers` in a matrix of links in either direction.

    It is the share of pairs of a peer's neighbours that are neighbours, and 0 for fewer than two neighbours.
    """
    of_peers = both[peers]
    closed = (of_peers @ both).multiply(of_peers).sum(axis=1)
    degrees = of_peers.sum(axis=1)
    found: np.ndarray = closed / np.maximum(degrees * (degrees - 1), 1)
    return found


def each_nth(peers: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of the peers, in equal steps."""
    return peers[:: -(-len(peers) // most) or 1]
