"""The report describes the graph of links as a count by hand does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from analysis.charts.chart import LineChart
from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.measures.link_matrix import in_either_direction, link_matrix, mean_path
from analysis.report.topology import DEGREES, TOPOLOGY, clustering, random_path
from emulator.experiment.run.directory import RunDirectory

LINKS = [(1, 2), (2, 1), (1, 3), (2, 3), (3, 4), (1, 1)]
"""A triangle with a tail, of which one link is reported from both ends, and one that leads nowhere else."""


def both_ways(links: list[tuple[int, int]]) -> csr_array:
    """Return the links of peers up to 4 in either direction."""
    ends = np.array(links) - 1
    return in_either_direction(link_matrix(ends[:, 0], ends[:, 1], 4))


def with_links(run: RunDirectory, links: list[tuple[int, int]]) -> Results:
    for folder in list((run.tables / "series").iterdir()):
        target = run.tables / "links" / folder.name
        target.mkdir(parents=True)
        each = {"channel": "", "kind": "view"}
        rows = [{"moment": "end", "peer": peer, "neighbour": other, **each} for peer, other in links]
        rows.append({"moment": "start", "peer": 9, "neighbour": 8, **each})
        pq.write_table(pa.Table.from_pylist(rows), target / "part-00000.parquet")
    return Results.read(run)


def test_the_clustering_is_the_share_of_linked_pairs_of_neighbours() -> None:
    assert clustering(both_ways([(1, 2), (1, 3), (2, 3), (3, 4)])) == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert clustering(both_ways([(1, 2)])) is None


def test_neighbours_count_once_and_those_at_the_start_and_oneself_do_not(
    make_run: Callable[..., RunDirectory],
) -> None:
    (chart,) = DEGREES.draw(with_links(make_run(), LINKS))
    assert isinstance(chart, LineChart)
    assert [(p.x, p.y) for p in chart.lines[0].points] == [(1.0, 1 / 3), (2.0, 2 / 3)]


def test_the_table_has_the_clustering_beside_that_of_a_random_graph(
    make_run: Callable[..., RunDirectory],
) -> None:
    _, table, *_ = TOPOLOGY.write(with_links(make_run(), LINKS))
    assert isinstance(table, Rows)
    first = [cell.replace("\u2009", " ").replace("\N{NO-BREAK SPACE}", " ") for cell in table.rows[0]]
    assert first[:5] == ["vitis, friends 4", "4.00 ± 0", "2.00 ± 0", "77.8 ± 0 %", "50.0 ± 0 %"]
    assert first[5:] == ["1.33 ± 0 hops", "1.67 ± 0 hops"]


def test_shortest_paths_are_those_between_peers_that_are_connected() -> None:
    line = link_matrix(np.array([1, 2, 8]), np.array([2, 3, 9]), 10)
    assert mean_path(in_either_direction(line), 10) == pytest.approx((1 + 2 + 1 + 1 + 2 + 1 + 1 + 1) / 8)
    assert mean_path(line, 10) == pytest.approx((1 + 2 + 1 + 1) / 4)
    assert mean_path(line, 5) == pytest.approx(1)  # from 0, 2, 4, 6 and 8
    assert mean_path(link_matrix(np.array([]), np.array([]), 3), 10) is None


def test_a_random_graph_of_a_thousand_peers_with_ten_neighbours_has_paths_of_about_three_hops() -> None:
    assert random_path(1000, 10) == pytest.approx(3.25, abs=0.01)
    assert random_path(1000, 1.5) is None


def test_the_table_has_wrong_successors_where_peers_stand_on_a_ring(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_links(make_run(), LINKS)
    results.variants[0]["measures"]["wrong_successors"] = {"mean": 0.02, "ci95": 0.01, "n": 2}
    _, table, *_ = TOPOLOGY.write(results)
    assert isinstance(table, Rows) and table.columns[-1] == "Wrong successor at the start"
    assert [row[-1] for row in table.rows[:2]] == ["2.0\u2009±\u20091.0\N{NO-BREAK SPACE}%", ""]


def test_a_run_without_the_table_of_links_has_neither(make_run: Callable[..., RunDirectory]) -> None:
    results = Results.read(make_run())
    assert list(DEGREES.draw(results)) == [] and list(TOPOLOGY.write(results)) == []
