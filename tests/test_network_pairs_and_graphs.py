"""Latencies from lines of pairs, and from topologies in GML and GraphML."""

from __future__ import annotations

import gzip
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.files.trace_error import TraceError
from emulator.network.graph_text import _shorten
from emulator.network.latencies import MatrixFile

WONDER = """\
source,destination,timestamp,min,avg,max,mdev
4,5,2020-07-19 00:03:14,70.1,80.0,99.9,0.1
5,4,2020-07-19 00:03:15,70.1,80.0,99.9,0.1
4,5,2020-07-19 01:03:14,70.1,90.0,99.9,0.1
5,4,2020-07-19 01:03:14,70.1,90.0,99.9,0.1
4,9,2020-07-19 00:03:14,10.0,20.0,99.9,0.1
5,9,2020-07-19 00:03:14,10.0,,99.9,0.1
4,4,2020-07-19 00:03:14,0.0,0.1,99.9,0.1
"""
SHADOW = """\
graph [
  directed 0
  node [ id 0 label "eu" host_bandwidth_up "100 Mbit" ]
  node [ id 1 label "us" ]
  node [ id 2 label "asia" ]
  edge [ source 0 target 0 latency "1 ms" packet_loss 0.0 ]
  edge [ source 0 target 1 latency "40 ms" packet_loss 0.1 ]
  edge [ source 1 target 2 latency "60000 us" ]
  edge [ source 0 target 2 latency "200 ms" ]
]
"""
ZOO = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="Latitude" attr.type="double" for="node" id="d0" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d1" />
  <key attr.name="label" attr.type="string" for="node" id="d2" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d0">0.0</data><data key="d1">0.0</data><data key="d2">Null Island</data></node>
    <node id="1"><data key="d0">0.0</data><data key="d1">90.0</data></node>
    <node id="2"><data key="d0">90.0</data><data key="d1">0.0</data></node>
    <node id="3"><data key="d2">nowhere</data></node>
    <edge source="0" target="1"/>
    <edge source="1" target="2"/>
    <edge source="2" target="3"/>
  </graph>
</graphml>
"""


def rtt_ms(path: Path, kind: str, text: str, **fields: Any) -> tuple[np.ndarray, list[str]]:
    file = path / "file.txt"
    file.write_text(text)
    model = MatrixFile(kind=kind, file=file, **fields)  # type: ignore[arg-type]
    matrix = model.matrix(1) * 1000
    assert model.host_count() == len(matrix)
    facts = model.facts(1)
    return matrix, [*facts.said, *facts.warnings]


def test_pairs_with_named_columns_have_the_mean_of_their_measurements(tmp_path: Path) -> None:
    matrix, told = rtt_ms(tmp_path, "pairs", WONDER)
    assert matrix[:2, :2].tolist() == [[0, 85], [85, 0]]
    assert matrix[0, 2] == matrix[2, 0] == 20
    assert matrix[1, 2] == pytest.approx(105)  # over the first host
    text = "; ".join(told)
    assert "2 pairs with several measurements: their mean counts" in text
    assert "1 line of a host with itself not used" in text and "1 line without a value" in text


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
def test_pairs_without_a_heading_have_three_columns(tmp_path: Path, separator: str) -> None:
    lines = [("london", "new-york", "70.5"), ("london", "tokyo", "200"), ("tokyo", "new-york", "150")]
    text = "".join(separator.join(line) + "\n" for line in lines)
    matrix, _ = rtt_ms(tmp_path, "pairs", text)
    assert matrix.round(3).tolist() == [[0, 70.5, 200], [70.5, 0, 150], [200, 150, 0]]


def test_two_directions_that_differ_are_treated_as_in_a_matrix(tmp_path: Path) -> None:
    text = "a,b,10\nb,a,30\n"
    with pytest.raises(TraceError, match="asymmetric"):
        rtt_ms(tmp_path, "pairs", text)
    assert rtt_ms(tmp_path, "pairs", text, asymmetry="mean")[0].tolist() == [[0, 20], [20, 0]]
    assert rtt_ms(tmp_path, "pairs", text, asymmetry="one-way")[0].tolist() == [[0, 20], [60, 0]]


def test_edges_of_gml_have_latencies_and_the_shortest_path_counts(tmp_path: Path) -> None:
    matrix, told = rtt_ms(tmp_path, "graph", SHADOW)
    assert matrix.round(3).tolist() == [[0, 80, 200], [80, 0, 120], [200, 120, 0]]
    text = "; ".join(told)
    assert "4 edges; the shortest paths count" in text
    assert "1 edge of a node to itself not used" in text
    assert "1 edge with packet_loss: what a path's edges lose is lost" in text
    assert "host_bandwidth_up of nodes not used for delays: `network.bandwidth.nodes` gives them" in text
    assert "of edges not used" not in text


def test_rates_of_edges_are_told_to_be_not_used_with_what_to_write_instead(tmp_path: Path) -> None:
    graph = SHADOW.replace("edge [", 'edge [ bandwidth "10 Mbit" LinkSpeed 5 jitter "1 ms"')
    _, told = rtt_ms(tmp_path, "graph", graph)
    text = "; ".join(told)
    assert (
        text.count("bandwidth and linkspeed of edges not used, because only links of peers have rates") == 1
    )
    assert "`up` and `down` of `network.bandwidth`, or by classes of peers with `places`" in text
    assert "jitter of edges not used: see `network.jitter`" in text


def test_what_the_edges_of_the_shortest_path_lose_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "lossy.gml"
    lossy = SHADOW.replace('"60000 us"', '"60000 us" packet_loss 0.5').replace(
        '"200 ms"', '"200 ms" packet_loss 0.3'
    )
    file.write_text(lossy)
    lost = MatrixFile(kind="graph", file=file).losses()
    assert lost is not None
    # The way from eu to asia has 100 ms over us and 200 ms straight, so it loses what both of its edges lose.
    assert lost.round(6).tolist() == [[0, 0.1, 0.55], [0.1, 0, 0.5], [0.55, 0.5, 0]]
    file.write_text(SHADOW.replace('latency "40 ms" packet_loss 0.1', 'latency "150 ms"'))
    lost = MatrixFile(kind="graph", file=file).losses()
    assert lost is not None and not lost.any()


def test_places_of_graphs_and_pairs_can_be_regions_by_their_names(tmp_path: Path) -> None:
    file = tmp_path / "network"
    file.write_text(SHADOW.replace('label "asia"', 'label "us"'))
    graph = MatrixFile(kind="graph", file=file, regions="Label")
    assert graph.region_names == ["eu", "us", "us"]
    assert graph.region_counts(8) == [2, 2, 2]
    assert MatrixFile(kind="graph", file=file).region_names == []
    with pytest.raises(TraceError, match=':3: the node has no "country", which `regions` asks for'):
        _ = MatrixFile(kind="graph", file=file, regions="country").region_names
    file.write_text("london,new-york,70.5\nlondon,tokyo,200\ntokyo,new-york,150\n")
    assert MatrixFile(kind="pairs", file=file, regions="name").region_names == ["london", "new-york", "tokyo"]


def test_a_graph_without_latencies_has_those_of_fibres_between_its_places(tmp_path: Path) -> None:
    matrix, told = rtt_ms(tmp_path, "graph", ZOO)
    quarter = 2 * 6371.0 * np.pi / 2 / 200_000 * 1000
    assert matrix == pytest.approx(
        np.array([[0, quarter, 2 * quarter], [quarter, 0, quarter], [2 * quarter, quarter, 0]]), rel=1e-4
    )
    text = "; ".join(told)
    assert "no edge has a latency" in text and "1 node without coordinates left out" in text


def test_a_directed_graph_may_have_two_delays_for_a_pair(tmp_path: Path) -> None:
    text = SHADOW.replace("directed 0", "directed 1").replace(
        "  edge [ source 0 target 2",
        "  edge [ source 1 target 0 latency 5 ]\n  edge [ source 2 target 1 latency 7 ]\n"
        "  edge [ source 0 target 2",
    )
    matrix, _ = rtt_ms(tmp_path, "graph", text, asymmetry="one-way")
    assert matrix.round(3).tolist() == [[0, 80, 200], [10, 0, 120], [24, 14, 0]]


def test_files_may_be_compressed_and_have_another_unit(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv.gz"
    file.write_bytes(gzip.compress(b"a b 10000\n"))
    assert MatrixFile(kind="pairs", file=file, unit="us").matrix(1)[0, 1] == pytest.approx(0.01)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([1.0, 2.0, 5.0, np.inf]), min_size=25, max_size=25))
def test_shortest_paths_are_those_that_trying_all_finds(edges: list[float]) -> None:
    delays = np.array(edges).reshape(5, 5)
    np.fill_diagonal(delays, 0.0)
    best = delays.copy()
    for a, b in product(range(5), repeat=2):
        for length in range(4):
            for way in product(range(5), repeat=length):
                stops = [a, *way, b]
                best[a, b] = min(best[a, b], sum(delays[x, y] for x, y in pairwise(stops)))
    # Where each unit of delay is survived by half of the messages, so is each unit of the shortest path.
    arrives = np.where(np.isfinite(delays), 0.5**delays, 1.0)
    _shorten(delays, arrives)
    assert delays.tolist() == best.tolist()
    there = np.isfinite(best)
    assert arrives[there] == pytest.approx(0.5 ** best[there])


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("pairs", "a,b\n", ":1: 'a,b' has 2 values"),
        ("pairs", "a,b,x\n", ":1: 'x' is not a number"),
        ("pairs", "a,b,-3\n", ":1: the RTT '-3' is below 0"),
        ("pairs", "a,b,1\nc,,1\n", ":2: a host has no name"),
        ("pairs", "a,b,9000000\n", "more than an hour. If it has another unit, say so by `unit`"),
        ("pairs", "a,a,1\n", "needs 2 to 20000 hosts, this one has 1"),
        ("graph", "hello\n", "has no `graph [ node [ id ... ] ]`"),
        ("graph", SHADOW[:-3], "a [ without its ]. The file may be cut off"),
        ("graph", SHADOW + "]\n", ":11: a ] without its ["),
        ("graph", SHADOW.replace('latency "40 ms"', ""), ":7: the edge has no latency, but others have one"),
        ("graph", SHADOW.replace("40 ms", "soon"), ":7: the latency 'soon'. Write a number"),
        (
            "graph",
            SHADOW.replace("40 ms", "2 h"),
            ":7: the latency '2 h' is below 0, or more than half an hour",
        ),
        (
            "graph",
            SHADOW.replace("source 1 target 2", "source 1 target 7"),
            ":8: an edge to '7', which is no node",
        ),
        (
            "graph",
            SHADOW.replace("loss 0.1", "loss 1"),
            ":7: the packet_loss '1' is no share from 0 to below 1",
        ),
        ("graph", SHADOW.replace("id 2", "id 1"), ":5: the node '1' is there twice"),
        (
            "graph",
            "".join(line for line in SHADOW.splitlines(True) if "target 2" not in line),
            "no path leads from 'eu' to 'asia'. Remove one of them",
        ),
        ("graph", ZOO.replace("</graph>", ""), "is not XML"),
        ("graph", ZOO.replace("<graphml", "<!DOCTYPE x>\n<graphml"), ":2: a DOCTYPE"),
        (
            "graph",
            ZOO.replace('"Latitude"', '"Lat"'),
            "nodes with a Latitude and a Longitude (no edge has a latency)",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_fix(
    tmp_path: Path, kind: str, text: str, told: str
) -> None:
    with pytest.raises(TraceError) as caught:
        rtt_ms(tmp_path, kind, text)
    assert told in str(caught.value)
