"""Trees over servers whose round-trip times are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, dijkstra, minimum_spanning_tree

from emulator.experiment.plan import Plan
from emulator.pubsub.siena.parameters import SienaParameters

_LEAST = 1e-9
"""For scipy a weight of 0 is no edge."""


def centre(rtt: NDArray[np.float64]) -> int:
    """The server with the least sum of delays to all others."""
    return int(np.argmin(rtt.sum(axis=1)))


def spanning_tree(rtt: NDArray[np.float64], root: int | None = None) -> list[int]:
    """The parent of each server on the minimum spanning tree, -1 for the root (the centre by default)."""
    servers = len(rtt)
    root = centre(rtt) if root is None else root
    if servers == 1:
        return [-1]
    tree = minimum_spanning_tree(np.maximum(rtt, _LEAST))
    _, parents = breadth_first_order(tree, root, directed=False)
    found: list[int] = parents.tolist()
    found[root] = -1
    return found


def shortest_path_tree(rtt: NDArray[np.float64], root: int | None = None) -> list[int]:
    """The parent of each server on the tree of shortest paths from the root, by way of other servers.

    In the matrix many detours are shorter than the direct way, so it is no star.
    """
    root = centre(rtt) if root is None else root
    _, parents = dijkstra(np.maximum(rtt, _LEAST), indices=root, return_predecessors=True)
    found: list[int] = parents.tolist()
    found[root] = -1
    return found


def spanning_length(rtt: NDArray[np.float64]) -> float:
    """The sum of the minimum spanning tree's RTTs (s)."""
    return float(minimum_spanning_tree(np.maximum(rtt, _LEAST)).sum()) if len(rtt) > 1 else 0.0


def lay_out_siena(parameters: SienaParameters, plan: Plan, rtt: NDArray[np.float64]) -> SienaParameters:
    """With the tree over all servers."""
    if parameters.parents is not None:
        if len(parameters.parents) != len(rtt):
            raise ValueError(f"parameters.parents has {len(parameters.parents)} servers, not {len(rtt)}")
        return parameters
    make = spanning_tree if parameters.tree == "minimum-spanning" else shortest_path_tree
    return parameters.model_copy(update={"parents": make(rtt)})
