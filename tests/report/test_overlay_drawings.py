"""The drawing of an overlay's graph: where peers stand, which links are drawn, and that it stays small."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.graph_layout import around_ring, by_hops
from analysis.charts.overlay_graph import MOST_LINKS, Links, OverlayGraph, thinned
from analysis.charts.results import Results
from analysis.charts.values import values_of
from analysis.export.write import export
from analysis.report.overlay_drawings import overlay_drawings
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
Link = tuple[int, int, str, str]


def write_tables(
    run: RunDirectory, links: Sequence[Link], identifiers: Sequence[tuple[int, str]] = ()
) -> None:
    """Write links (peer, neighbour, channel, kind) and identifiers of the channel "overlay"."""
    for folder in list((run.tables / "series").iterdir()):
        tables = {
            "links": [
                {"moment": "end", "peer": peer, "neighbour": other, "channel": channel, "kind": kind}
                for peer, other, channel, kind in links
            ],
            "identifiers": [
                {"channel": "overlay", "peer": peer, "at_s": float(n), "identifier": text}
                for n, (peer, text) in enumerate(identifiers)
            ],
        }
        for table, rows in tables.items():
            if rows:
                target = run.tables / table / folder.name
                target.mkdir(parents=True)
                pq.write_table(pa.Table.from_pylist(rows), target / "part-00000.parquet")


def test_each_circle_is_one_hop_farther_from_the_peer_with_the_most_neighbours() -> None:
    neighbours = {5: [1, 2, 3], 1: [5, 4], 2: [5], 3: [5], 4: [1], 8: [9], 9: [8]}
    found = by_hops(neighbours)
    assert (found.root, found.hops, found.apart) == (5, 2, [8, 9])
    radii = {peer: round(math.hypot(*place) * 3, 9) for peer, place in found.places.items()}
    assert radii == {5: 0, 1: 1, 2: 1, 3: 1, 4: 2, 8: 3, 9: 3}
    assert found.parents == {1: 5, 2: 5, 3: 5, 4: 1}


def test_no_two_peers_of_a_tree_stand_at_one_place() -> None:
    draw = random.Random(1)
    neighbours: dict[int, list[int]] = {peer: [] for peer in range(1000)}
    for peer in range(1, 1000):
        parent = draw.randrange(peer)
        neighbours[peer].append(parent)
        neighbours[parent].append(peer)
    places = by_hops(neighbours).places
    assert len({(round(x, 9), round(y, 9)) for x, y in places.values()}) == 1000


def test_a_ring_begins_at_the_top_and_goes_clockwise() -> None:
    places = around_ring([7, 3, 5, 1])
    assert [(round(x), round(y)) for x, y in places.values()] == [(0, -1), (1, 0), (0, 1), (-1, 0)]


def test_peers_with_identifiers_stand_in_their_order_and_links_differ_by_length(make_run: MakeRun) -> None:
    run = make_run()
    peers = [rank * 73 % 100 for rank in range(100)]
    links = [
        (peers[rank], peers[(rank + step) % 100], "overlay", "finger")
        for rank in range(100)
        for step in (1, 10, 40)
    ]
    links += [(peers[1], peers[0], "overlay", "back"), (0, 50, "gossip", "view")]
    write_tables(run, links, [(peer, f"{rank + 1:x}") for rank, peer in enumerate(peers)])
    vitis, rvr = overlay_drawings(Results.read(run))
    assert (vitis.trial, rvr.trial) == ("vitis.friends=4-1", "rvr.friends=4-1")
    assert list(vitis.places) == peers
    found = [(each.label, len(each.pairs)) for each in vitis.links]
    assert found == [("longer", 100), ("up to 1/8", 100), ("up to 1/50 of the ring", 100)]
    assert "300 links of channel overlay" in vitis.about
    assert "Links of gossip are not drawn." in vitis.about


def test_the_last_identifier_of_a_peer_counts(make_run: MakeRun) -> None:
    run = make_run()
    taken = [(1, "1"), (2, "2"), (3, "3"), (1, "ff")]
    write_tables(run, [(1, 2, "overlay", ""), (2, 3, "overlay", "")], taken)
    drawing = next(iter(overlay_drawings(Results.read(run))))
    assert list(drawing.places) == [2, 3, 1]


def test_without_identifiers_the_own_links_of_the_system_are_drawn_by_hops_and_kind(
    make_run: MakeRun,
) -> None:
    run = make_run()
    own = [(0, peer, "", "eager") for peer in range(1, 9)] + [(1, 2, "", "lazy")]
    write_tables(run, [*own, (2, 1, "", "eager"), *((p, p + 1, "membership", "active") for p in range(30))])
    drawing = next(iter(overlay_drawings(Results.read(run))))
    found = [(each.label, len(each.pairs), each.faint) for each in drawing.links]
    assert found == [("all other links", 1, True), ("eager", 8, False)]
    assert "Links of membership are not drawn." in drawing.about
    assert "one hop farther from peer 0" in drawing.about
    assert values_of(drawing).rows[0] == ("all other links", 1, 2)


def test_a_graph_of_a_thousand_peers_with_many_links_is_below_300_kilobytes() -> None:
    draw = random.Random(2)
    pairs = sorted({(a, b) for a, b in zip(range(1000), draw.sample(range(1000), 1000), strict=True)})
    many = [*pairs] * 20
    links, count = thinned([Links("near", many[:15_000], 0), Links("far", many[15_000:], 1)])
    assert count == 20_000
    assert sum(len(each.pairs) for each in links) <= MOST_LINKS
    graph = OverlayGraph("overlay-1", "t", "a", "v-1", around_ring(range(1000)), links)
    text = "".join(graph.path(each.pairs) for each in links) + graph.dots
    assert len(text) < 100_000
    assert len(OverlayGraph("o", "t", "a", "v-1", around_ring(range(100_000)), []).dots) < 30_000


def test_page_and_export_have_the_drawing(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    write_tables(run, [(peer, peer * 7 % 40, "", "view") for peer in range(40)])
    page = write_report(run).read_text()
    assert page.count('<figure class="graph"') == 2
    assert "The overlay of vitis, friends 4" in page
    written = export(run, tmp_path / "out", ["overlay-1"], "3.3in")
    assert sorted(written.files) == ["overlay-1.csv", "overlay-1.pdf", "overlay-1.svg"]
    assert (tmp_path / "out/overlay-1.csv").read_text().startswith("kind,peer,neighbour\n")


@pytest.mark.parametrize("links", [[], [(1, 1, "", "view")]])
def test_a_run_without_links_between_peers_has_no_drawing(make_run: MakeRun, links: list[Link]) -> None:
    run = make_run()
    write_tables(run, links)
    assert list(overlay_drawings(Results.read(run))) == []
