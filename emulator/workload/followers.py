"""Subscriptions from a follower graph: each line names the follower and the followed, in either order."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import MOST_DIGITS, numbered_lines, shown, whole_number


@dataclass(frozen=True, slots=True)
class FollowerGraph:
    """A follower graph, whose nodes are numbered from 0 in the order of their ids in the file."""

    nodes: int
    follower: NDArray[np.int32]
    followed: NDArray[np.int32]
    duplicates: int
    """The number of edges that the file repeats, which are left out."""
    self_loops: int
    """The number of edges of a node to itself, which are left out."""


def load_followers(file: Path, *, followed_first: bool = False) -> FollowerGraph:
    """Read a graph: a line `a b` says that a follows b, or that b follows a if `followed_first`.

    Raises TraceError for a missing or empty file or a line that is not two whole numbers.

    Lines that begin with `#` are comments.
    """
    ids = array("q")
    for line, text in numbered_lines(file):
        words = text.split()
        if len(words) != 2:
            raise TraceError(file, line, f"expected two node ids, `a b`, but found {len(words)} words")
        try:
            ids.extend((whole_number(words[0]), whole_number(words[1])))
        except ValueError as error:
            problem = f"{shown(text)} is not two whole numbers of at most {MOST_DIGITS} digits"
            raise TraceError(file, line, problem) from error
    if not ids:
        raise TraceError(file, 0, "has no edge")
    names, edges = np.unique(np.array(ids), return_inverse=True)
    edges = edges.reshape(-1, 2)
    if followed_first:
        edges = edges[:, ::-1]
    proper = edges[edges[:, 0] != edges[:, 1]]
    unique = np.unique(proper[:, 0].astype(np.int64) * len(names) + proper[:, 1])
    return FollowerGraph(
        nodes=len(names),
        follower=(unique // len(names)).astype(np.int32),
        followed=(unique % len(names)).astype(np.int32),
        duplicates=len(proper) - len(unique),
        self_loops=len(edges) - len(proper),
    )


def sample(graph: FollowerGraph, nodes: int, random: np.random.Generator) -> FollowerGraph:
    """Return a part of the graph with this many nodes, as Vitis samples it (section IV.E).

    Nodes are taken at random, each with all whom it follows, until there are enough; the edges among them are
    kept. Raises ValueError if the graph has fewer nodes.
    """
    if nodes > graph.nodes:
        raise ValueError(f"the graph has {graph.nodes} nodes, fewer than the {nodes} asked for")
    first = np.searchsorted(graph.follower, np.arange(graph.nodes + 1))
    chosen = np.zeros(graph.nodes, dtype=np.bool_)
    missing = nodes
    for root in random.permutation(graph.nodes):
        reached = np.append(random.permutation(graph.followed[first[root] : first[root + 1]]), root)[::-1]
        new = reached[~chosen[reached]][:missing]
        chosen[new] = True
        missing -= len(new)
        if missing == 0:
            break
    number = np.cumsum(chosen, dtype=np.int32) - 1
    inside = chosen[graph.follower] & chosen[graph.followed]
    return FollowerGraph(
        nodes,
        number[graph.follower[inside]],
        number[graph.followed[inside]],
        graph.duplicates,
        graph.self_loops,
    )
