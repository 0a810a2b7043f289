"""Subscriptions from a follower graph: each edge names the follower and the followed, in either order, or two
that follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import NOTHING, Facts, counted, told
from emulator.files.trace_error import TraceError
from emulator.workload.edge_files import First, read_edges


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
    facts: Facts = NOTHING


def load_followers(file: Path, *, first: First = "follower") -> FollowerGraph:
    """Read a graph: a line `a b` says that a follows b; or that b follows a, or each the other.

    Raises TraceError for a missing file, one without an edge between two nodes, or a line that is not two
    whole numbers.
    """
    read = read_edges(file)
    if not read.ids:
        raise TraceError(file, 0, "has no edge")
    if first != "both" and read.first not in (None, first):
        text = f"the heading says that a line names the {read.first} first, the experiment the {first}"
        raise TraceError(file, 0, f"{text}. Write `first: {read.first}`")
    names, edges = np.unique(np.array(read.ids), return_inverse=True)
    edges = edges.reshape(-1, 2)
    if first == "followed":
        edges = edges[:, ::-1]
    proper = edges[edges[:, 0] != edges[:, 1]]
    if not len(proper):
        raise TraceError(
            file, 0, f"has no edge between two nodes, only {counted(len(edges), 'edge')} to itself"
        )
    if first == "both":
        proper = np.sort(proper, axis=1)
    unique = np.unique(proper[:, 0].astype(np.int64) * len(names) + proper[:, 1])
    duplicates = len(proper) - len(unique)
    if first == "both":
        unique = np.sort(np.concatenate([unique, unique % len(names) * len(names) + unique // len(names)]))
    follower, followed = (unique // len(names)).astype(np.int32), (unique % len(names)).astype(np.int32)
    loops = len(edges) - len(proper)
    facts = _facts(file, len(names), follower, followed, first, duplicates, loops, read.undirected)
    said = (*facts.said, *read.said)
    warnings = (*facts.warnings, *read.warnings)
    return FollowerGraph(len(names), follower, followed, duplicates, loops, Facts(said, warnings))


def _facts(
    file: Path,
    nodes: int,
    follower: NDArray[np.int32],
    followed: NDArray[np.int32],
    first: First,
    duplicates: int,
    loops: int,
    undirected: bool | None,
) -> Facts:
    lazy = nodes - len(np.unique(follower))
    whom = {"follower": "a follows b", "followed": "b follows a", "both": "a and b follow each other"}[first]
    left = told(
        (
            f"{duplicates:,} that the file repeats" if duplicates else None,
            f"{loops:,} of a node to itself" if loops else None,
        )
    )
    said = told(
        (
            f"{file.name}: {counted(nodes, 'node')}, {counted(len(follower), 'edge')}",
            f"a line `a b` says that {whom}",
            f"edges left out: {' and '.join(left)}" if left else None,
            f"{counted(lazy, 'node follows', 'nodes follow')} nobody" if lazy else None,
        )
    )
    if first == "both" or undirected is False:
        return Facts(said)
    if undirected:
        warning = (
            "the file says that its edges have no direction: write `first: both`, if both follow each other"
        )
        return Facts(said, (warning,))
    back = np.isin(follower.astype(np.int64) * nodes + followed, followed.astype(np.int64) * nodes + follower)
    if lazy * 4 >= nodes and not back.any():
        text = f"{lazy:,} of {nodes:,} nodes follow nobody, and no two follow each other"
        return Facts(said, (f"{text}: if the graph has no directions, write `first: both`",))
    return Facts(said)


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
        graph.facts + Facts(told((_sampled(graph, nodes, int(inside.sum())),))),
    )


def _sampled(graph: FollowerGraph, nodes: int, edges: int) -> str | None:
    if nodes == graph.nodes:
        return None
    of = f"{nodes:,} of its {graph.nodes:,} nodes were taken, found by breadth-first searches"
    return f"{of}, with {edges:,} of {counted(len(graph.follower), 'edge')}"
