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
from analysis.measures.link_graph import measure_graph
from analysis.measures.link_matrix import in_either_direction, link_matrix, mean_path
from analysis.report.prefix_tables import filled_slots, slots_of_trial
from analysis.report.topology import DEGREES, TOPOLOGY, clustering, random_path, regular_path
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


def test_the_clustering_is_the_share_of_linked_pairs_of_neighbours_as_in_the_measure() -> None:
    links = [(1, 2), (1, 3), (2, 3), (3, 4)]
    measured = measure_graph(np.arange(1, 5), *np.array(links).T)["clustering"]
    assert clustering(both_ways(links)) == pytest.approx(measured)
    assert clustering(both_ways([(1, 2), (1, 3), (2, 3), (3, 4)])) == pytest.approx((1 + 1 + 1 / 3) / 4)
    assert clustering(both_ways([(1, 2)])) == 0


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
    assert first[:5] == ["vitis, friends 4", "4.00 ± 0", "2.00 ± 0", "58.3 ± 0 %", "50.0 ± 0 %"]
    assert first[5:] == ["1.33 ± 0 hops", "1.67 ± 0 hops", ""]


def test_shortest_paths_are_those_between_peers_that_are_connected() -> None:
    line = link_matrix(np.array([1, 2, 8]), np.array([2, 3, 9]), 10)
    assert mean_path(in_either_direction(line), 10) == pytest.approx((1 + 2 + 1 + 1 + 2 + 1 + 1 + 1) / 8)
    assert mean_path(line, 10) == pytest.approx((1 + 2 + 1 + 1) / 4)
    assert mean_path(line, 5) == pytest.approx(1)  # from 0, 2, 4, 6 and 8
    assert mean_path(link_matrix(np.array([]), np.array([]), 3), 10) is None


def test_a_random_graph_of_a_thousand_peers_with_ten_neighbours_has_paths_of_about_three_hops() -> None:
    assert random_path(1000, 10) == pytest.approx(3.25, abs=0.01)
    assert random_path(1000, 1.5) is None


@pytest.mark.parametrize(("peers", "degree"), [(1000, 8), (1000, 5), (200, 4)])
def test_paths_of_a_regular_graph_are_those_of_one_that_is_drawn(peers: int, degree: int) -> None:
    draw = np.random.default_rng(1)
    pairs = [draw.permutation(peers).reshape(-1, 2) for _ in range(degree)]
    begins, ends = np.concatenate(pairs).T
    drawn = mean_path(in_either_direction(link_matrix(begins, ends, peers)), peers)
    assert regular_path(peers, degree) == pytest.approx(drawn, rel=0.01)
    assert regular_path(peers, 2) is None and regular_path(degree + 1, degree) is None


def test_in_a_dense_regular_graph_peers_that_are_no_neighbours_are_two_hops_apart() -> None:
    apart = np.abs(np.arange(40)[:, None] - np.arange(40))
    begins, ends = np.nonzero(np.minimum(apart, 40 - apart) > 6)  # of a ring, all but the six on either side
    drawn = mean_path(in_either_direction(link_matrix(begins, ends, 40)), 40)
    assert drawn == pytest.approx(1 + 12 / 39)
    assert regular_path(40, 27) == pytest.approx(drawn)


def test_the_table_has_wrong_successors_where_peers_stand_on_a_ring(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_links(make_run(), LINKS)
    results.variants[0]["measures"]["wrong_successors"] = {"mean": 0.02, "ci95": 0.01, "n": 2}
    _, table, *_ = TOPOLOGY.write(results)
    assert isinstance(table, Rows) and table.columns[-1] == "Wrong successor at the start"
    assert [row[-1] for row in table.rows[:2]] == ["2.0\u2009±\u20091.0\N{NO-BREAK SPACE}%", ""]


def identifier(beginning: str) -> str:
    """Return a hexadecimal identifier, as the table has them."""
    return f"{int(beginning.ljust(32, '0'), 16):x}"


# The peers 0 to 3. In digits of 4 bits, each of 1 and 2 should have an entry for 0, for 3 and for the other.
PLACES = {0: "0f", 1: "3a", 2: "3b", 3: "c"}


@pytest.mark.parametrize(
    ("bits", "links", "share"),
    [
        (4, [(1, 0), (1, 2), (1, 3), (2, 0)], 4 / 6),
        (4, [(1, 0), (1, 0), (1, 77)], 1 / 3),
        (1, [(3, 0)], 1.0),  # whose subtree of all others begins with 0
        (1, [(0, 3)], 1 / 2),  # for which there is one of 1 and one of 001 too
        (4, [(77, 1)], None),
    ],
)
def test_slots_are_filled_by_entries_that_begin_with_their_digits(
    bits: int, links: list[tuple[int, int]], share: float | None
) -> None:
    there = {peer: int(identifier(place), 16) for peer, place in PLACES.items()}
    assert filled_slots(there, links, bits) == (None if share is None else pytest.approx(share))


def with_tables_by_prefix(run: RunDirectory) -> Results:
    """Return a run in which the peer 4, which has left by the end, is the only one of its subtree."""
    link = {"moment": "end", "channel": "overlay", "kind": "routing table", "at_s": 60.0}
    took = {"channel": "overlay", "at_s": 1.0}
    places = [took | {"peer": p, "identifier": identifier(place)} for p, place in PLACES.items()]
    tables = {
        "links": [
            link | {"peer": p, "neighbour": other} for p, other in [(1, 0), (1, 2), (1, 4), (2, 0), (3, 0)]
        ],
        "identifiers": [
            *places,
            took | {"peer": 1, "at_s": 70.0, "identifier": identifier("0")},
            took | {"peer": 4, "identifier": identifier("8")},
        ],
        "sessions": [
            *({"peer": p, "start_s": 1.0, "end_s": 90.0 if p else None} for p in PLACES),
            {"peer": 4, "start_s": 1.0, "end_s": 59.0},
        ],
    }
    for folder in list((run.tables / "series").iterdir()):
        for table, rows in tables.items():
            (run.tables / table / folder.name).mkdir(parents=True, exist_ok=True)
            file = run.tables / table / folder.name / "part-00000.parquet"
            pq.write_table(pa.Table.from_pylist(rows), file)
    return Results.read(run)


def test_the_table_has_filled_slots_of_tables_by_prefix_without_those_of_peers_that_left(
    make_run: Callable[..., RunDirectory],
) -> None:
    _, table, *_ = TOPOLOGY.write(with_tables_by_prefix(make_run()))
    assert isinstance(table, Rows) and table.columns[-1] == "Slots filled"
    assert " ".join(table.rows[0][-1].split()) == "50.0 ± 0 %"


def test_slots_are_of_the_digits_that_a_variant_has(make_run: Callable[..., RunDirectory]) -> None:
    results = with_tables_by_prefix(make_run())
    results.experiment["system"] = {"parameters": {"overlay": {"digit_bits": 4}}}
    trial = results.trials[0]["trial"]
    assert slots_of_trial(results, trial, {}) == pytest.approx(4 / 8)
    for varied in (
        {"system.parameters.overlay.digit_bits": 1},
        {"system.parameters": {"overlay": {"digit_bits": 1}}},
    ):
        assert slots_of_trial(results, trial, varied) == pytest.approx(4 / 7)


def test_a_run_without_the_table_of_links_has_neither(make_run: Callable[..., RunDirectory]) -> None:
    results = Results.read(make_run())
    assert list(DEGREES.draw(results)) == [] and list(TOPOLOGY.write(results)) == []
