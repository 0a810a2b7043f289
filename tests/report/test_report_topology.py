"""The report describes the graph of links as a count by hand does."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.chart import LineChart
from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.report.topology import DEGREES, TOPOLOGY, clustering
from emulator.experiment.run.directory import RunDirectory

LINKS = [(1, 2), (2, 1), (1, 3), (2, 3), (3, 4), (1, 1)]
"""A triangle with a tail, of which one link is reported from both ends, and one that leads nowhere else."""


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
    graph = {1: {2, 3}, 2: {1, 3}, 3: {1, 2, 4}, 4: {3}}
    assert clustering(graph) == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert clustering({1: {2}, 2: {1}}) is None


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
    assert first == ["vitis, friends 4", "4.00 ± 0", "2.00 ± 0", "77.8 ± 0 %", "50.0 ± 0 %"]


def test_a_run_without_the_table_of_links_has_neither(make_run: Callable[..., RunDirectory]) -> None:
    results = Results.read(make_run())
    assert list(DEGREES.draw(results)) == [] and list(TOPOLOGY.write(results)) == []
