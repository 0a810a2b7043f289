"""Follower graphs: the edge list, its errors, and the paper's sampling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.files.trace_error import TraceError
from emulator.workload.draw_subscriptions import draw_subscriptions
from emulator.workload.followers import FollowerGraph, load_followers, sample
from emulator.workload.spec import EdgeList


def edge_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "edges"
    file.write_text(text)
    return file


def edges_of(graph: FollowerGraph) -> list[tuple[int, int]]:
    return list(zip(graph.follower.tolist(), graph.followed.tolist(), strict=True))


def test_nodes_are_numbered_by_id_and_bad_edges_are_counted(tmp_path: Path) -> None:
    text = "# who whom\n70 5\n5\t9\n70 5\n\n9 9\n # more\n9 70\n"
    graph = load_followers(edge_file(tmp_path, text))
    assert graph.nodes == 3
    assert edges_of(graph) == [(0, 1), (1, 2), (2, 0)]
    assert (graph.duplicates, graph.self_loops) == (1, 1)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1 2\n3\n", 2, "found 1 words"),
        ("1 2\n\n1,2,3 4 5\n", 3, "found 3 words"),
        ("# x\nalice bob\n", 2, "'alice bob' is not two whole numbers"),
        ("1 1.5\n", 1, "not two whole numbers"),
        ("1 99999999999999999999\n", 1, "not two whole numbers"),
        ("# nothing\n", 0, "has no edge"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        load_followers(edge_file(tmp_path, text))
    assert caught.value.line == line
    assert problem in str(caught.value)


def test_a_graph_of_the_trials_size_is_taken_whole(tmp_path: Path) -> None:
    source = EdgeList(kind="edges", file=edge_file(tmp_path, "1 2\n3 2\n2 1\n"))
    held = draw_subscriptions(source, 3, 80.0, np.random.default_rng(1))
    assert held.topics == 3
    assert list(zip(held.peer.tolist(), held.topic.tolist(), strict=True)) == [(0, 1), (1, 0), (2, 1)]


def test_lines_may_name_the_followed_first(tmp_path: Path) -> None:
    source = EdgeList(kind="edges", file=edge_file(tmp_path, "1 2\n1 3\n2 1\n"), first="followed")
    held = draw_subscriptions(source, 3, 80.0, np.random.default_rng(1))
    assert sorted(zip(held.peer.tolist(), held.topic.tolist(), strict=True)) == [(0, 1), (1, 0), (2, 0)]


def test_a_graph_with_fewer_nodes_than_peers_is_refused(tmp_path: Path) -> None:
    source = EdgeList(kind="edges", file=edge_file(tmp_path, "1 2\n"))
    with pytest.raises(TraceError, match="has 2 nodes, but the trial needs 3"):
        draw_subscriptions(source, 3, 80.0, np.random.default_rng(1))


def graph_of(nodes: int, edges: set[tuple[int, int]]) -> FollowerGraph:
    pairs = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2)
    return FollowerGraph(nodes, pairs[:, 0], pairs[:, 1], 0, 0)


@settings(deadline=None)
@given(data=st.data(), nodes=st.integers(1, 25))
def test_a_sample_has_the_size_asked_for_and_all_edges_among_its_nodes(
    data: st.DataObject, nodes: int
) -> None:
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda p: p[0] != p[1])
    edges = data.draw(st.sets(pair, max_size=60)) if nodes > 1 else set()
    size = data.draw(st.integers(1, nodes))
    part = sample(graph_of(nodes, edges), size, np.random.default_rng(data.draw(st.integers(0, 50))))
    assert part.nodes == size
    found = edges_of(part)
    assert len(set(found)) == len(found)
    assert all(0 <= a < size and 0 <= b < size and a != b for a, b in found)
    if size == nodes:
        assert set(found) == edges


def test_a_sampled_node_comes_with_all_whom_it_follows() -> None:
    stars = {(hub * 10, hub * 10 + leaf) for hub in range(20) for leaf in range(1, 10)}
    part = sample(graph_of(200, stars), 60, np.random.default_rng(1))
    follows = np.bincount(part.follower, minlength=60)
    assert sorted(follows[follows > 0].tolist())[1:] == [9] * (np.count_nonzero(follows) - 1)
    assert np.count_nonzero(follows) >= 4
