"""Graphs in the formats in which they come, and what is told of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from emulator.files.trace_error import TraceError
from emulator.workload.draw_subscriptions import draw_subscriptions
from emulator.workload.editors import load_editors
from emulator.workload.followers import FollowerGraph, load_followers
from emulator.workload.spec import EdgeList

KONECT = "% sym unweighted\n% 3 4 4\n1 2 1 1080000000\n2 3 1 1080000000\n3 4\n"
MATRIX_MARKET = "%%MatrixMarket matrix coordinate pattern general\n% ours\n4 4 3\n1 2\n2 3\n3 4\n"
GML = """\
Creator "someone"
graph [
  directed 1
  node [ id 1 label "a [b]" ]
  node [
    id 2
  ]
  edge [ source 1 target 2 value 3 ]
  edge [
    source 2
    target 3
  ]
  edge [ source 3 target 4 ]
]
"""


def graph(tmp_path: Path, text: str | bytes, **keys: str) -> FollowerGraph:
    file = tmp_path / "graph"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_followers(file, **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n3 4\n",
        "source,target\n1,2\n2,3\n3,4\n",
        "1;2\n2;3\n3;4\n",
        gzip.compress(b"1\t2\n2\t3\n3\t4\n", mtime=0),
        b"\xef\xbb\xbf1 2\n2 3\n3 4\n",
        KONECT,
        MATRIX_MARKET,
        GML,
    ],
)
def test_the_same_graph_is_read_in_every_format(tmp_path: Path, text: str | bytes) -> None:
    found = graph(tmp_path, text)
    assert (found.nodes, found.follower.tolist(), found.followed.tolist()) == (4, [0, 1, 2], [1, 2, 3])
    assert found.facts.said[0] == "graph: 4 nodes, 3 edges"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("5 5\n6 6\n", 0, "has no edge between two nodes, only 2 edges to itself"),
        ("a,b\n", 0, "has no edge"),
        ("alice,bob\n1,2\n", 1, "'alice,bob' is not two whole numbers"),
        ("1 2 7\n", 1, "found 3 words. Keep the columns of the two nodes alone"),
        ("% bip unweighted\n1 2\n", 1, "is a bipartite graph"),
        ("%%MatrixMarket matrix array real general\n2 2\n", 1, "is no matrix of coordinates"),
        ("%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n", 0, "says 3 entries, but has 1"),
        ("%%MatrixMarket matrix coordinate pattern general\n4 5 1\n1 2\n", 2, "is a matrix of 4 x 5"),
        ("graph [\n edge [ source 1 target 2 ]\n", 2, "ends inside `graph [`"),
        ("graph [\n edge [ source 1 ]\n]\n", 2, "an edge needs `source` and `target`"),
        ("graph [ ]\n]\n", 2, "has a ] without a ["),
        ("<?xml version='1.0'?>\n<graphml>\n", 1, "is XML, such as GraphML"),
        ('{"nodes": []}\n', 1, "is JSON"),
    ],
)
def test_what_is_no_graph_is_told_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        graph(tmp_path, text)
    assert (caught.value.line, problem in str(caught.value)) == (line, True), str(caught.value)


def test_edges_of_a_graph_without_directions_go_both_ways(tmp_path: Path) -> None:
    found = graph(tmp_path, "1 2\n2 1\n2 3\n", first="both")
    assert list(zip(found.follower.tolist(), found.followed.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
    ]
    assert found.duplicates == 1
    source = EdgeList(kind="edges", file=tmp_path / "graph", first="both")
    held = draw_subscriptions(source, 3, 80.0, np.random.default_rng(1))
    assert len(np.unique(held.peer)) == 3
    assert "a line `a b` says that a and b follow each other" in held.facts.said


def test_a_graph_that_leaves_many_without_interests_is_warned_of(tmp_path: Path) -> None:
    star = graph(tmp_path, "".join(f"1 {leaf}\n" for leaf in range(2, 10)))
    assert star.facts.warnings == (
        "8 of 9 nodes follow nobody, and no two follow each other: if the graph has no directions, "
        "write `first: both`",
    )
    assert "its edges have no direction: write `first: both`" in graph(tmp_path, KONECT).facts.warnings[0]
    assert graph(tmp_path, "1 2\n2 1\n").facts.warnings == ()


def test_what_is_left_out_of_a_graph_is_told(tmp_path: Path) -> None:
    said = graph(tmp_path, "1 2\n1 2\n3 3\n2 3\n").facts.said
    assert "edges left out: 1 that the file repeats and 1 of a node to itself" in said
    assert "weights and times of 2 edges are not used" in graph(tmp_path, KONECT).facts.said
    assert "the heading 'from to' is left out" in graph(tmp_path, "from to\n1 2\n").facts.said
    source = EdgeList(kind="edges", file=tmp_path / "graph")
    (tmp_path / "graph").write_text("1 2\n2 3\n3 1\n4 1\n")
    facts = draw_subscriptions(source, 2, 80.0, np.random.default_rng(1)).facts
    assert any(sentence.startswith("2 of its 4 nodes were taken") for sentence in facts.said)


def test_the_first_line_of_editors_is_a_heading_only_if_it_is_no_data(tmp_path: Path) -> None:
    file = tmp_path / "editors.csv"
    file.write_text("7,1\n7,2\n8,1\n8,1\n")
    plain = load_editors(file)
    assert len(plain.pairs[0]) == 3
    assert plain.facts.said == (
        "editors.csv: 2 editors of 2 articles, 3 pairs",
        "1 line that repeat a pair count once",
    )
    file.write_text("Page ID,User index\n7,1\n7,2\n8,1\n")
    headed = load_editors(file)
    assert [column.tolist() for column in headed.pairs] == [column.tolist() for column in plain.pairs]
    assert "the heading 'Page ID,User index' is left out" in headed.facts.said
    file.write_text("7,1\nPage ID,User index\n")
    with pytest.raises(TraceError, match=r"editors.csv:2: .* is not two whole numbers"):
        load_editors(file)
