"""Trees over servers whose round-trip times are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.contract.workload import Trial
from emulator.experiment.plan.tables import Plan
from emulator.protocols.pubsub.siena.parameters import SienaParameters

Rtt = NDArray[np.float64]


def centre(rtt: Rtt) -> int:
    """Return the server with the least sum of delays to all others."""
    return int(np.argmin(rtt.sum(axis=1)))


def spanning_tree(rtt: Rtt, root: int | None = None) -> list[int]:
    """Return the parent of each server on the minimum spanning tree, -1 for the root (by default the centre).

    This is Prim's algorithm: scipy, which has one, is not in the images that run trials.
    """
    return _grow(rtt, centre(rtt) if root is None else root, along_paths=False)[0]


def shortest_path_tree(rtt: Rtt, root: int | None = None) -> list[int]:
    """Return the parent of each server on the tree of shortest paths from the root over other servers.

    In the matrix many detours are shorter than the direct path, so the tree is no star. This is Dijkstra's
    algorithm.
    """
    return _grow(rtt, centre(rtt) if root is None else root, along_paths=True)[0]


def spanning_length(rtt: Rtt) -> float:
    """Return the sum of the minimum spanning tree's RTTs (s)."""
    return _grow(rtt, 0, along_paths=False)[1] if len(rtt) > 1 else 0.0


def _grow(rtt: Rtt, root: int, along_paths: bool) -> tuple[list[int], float]:
    """Grow a tree by the server nearest to the tree or, with `along_paths`, nearest to the root along the
    tree.

    Returns the parents, and the sum of the tree's RTTs (s).
    """
    servers = len(rtt)
    parent = np.full(servers, root)
    distance = rtt[root].copy()
    inside = np.zeros(servers, np.bool_)
    inside[root] = True
    distance[root] = 0.0
    total = 0.0
    for _ in range(servers - 1):
        nearest = int(np.where(inside, np.inf, distance).argmin())
        inside[nearest] = True
        total += float(rtt[parent[nearest], nearest])
        by_way = rtt[nearest] + distance[nearest] if along_paths else rtt[nearest]
        closer = ~inside & (by_way < distance)
        distance[closer] = by_way[closer]
        parent[closer] = nearest
    parent[root] = -1
    return [int(server) for server in parent], total


def misfits(parameters: SienaParameters, trial: Trial, round_trips: object) -> list[tuple[str, str]]:
    """Return a misfit for a tree over another number of servers, as `System.misfits` does."""
    given, peers = parameters.parents, trial.peers
    return [] if given is None or len(given) == peers else [("parents", _other_length(given, peers))]


def _other_length(parents: list[int], servers: int) -> str:
    return f"the tree has {len(parents)} servers, not {servers}"


def lay_out_siena(parameters: SienaParameters, plan: Plan, rtt: Rtt) -> SienaParameters:
    """Return the parameters with the tree over all servers."""
    if parameters.parents is not None:
        if len(parameters.parents) != len(rtt):
            raise ValueError(_other_length(parameters.parents, len(rtt)))
        return parameters
    make = spanning_tree if parameters.tree == "minimum-spanning" else shortest_path_tree
    return parameters.model_copy(update={"parents": make(rtt)})
