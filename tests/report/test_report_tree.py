"""The delivery tree of a publication that was counted by hand (`HOPS` in conftest.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from analysis.charts.chosen_events import event_trees
from analysis.charts.delivery_tree import build_tree, draw
from analysis.charts.results import Results, ResultsError
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry.backend_traces import BackendTraces
from trellis.command.exits import UserError
from trellis.command.steps import report_run
from trellis.command.terminal import Screen


@pytest.fixture
def golden(hop_rows: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return hop_rows()


def test_edges_are_the_first_copies(golden: list[dict[str, Any]]) -> None:
    tree = build_tree(golden)
    edges = {(node.sender, node.peer): (node.kind, round(node.delay_ms), node.depth) for node in tree.nodes}
    assert edges == {
        (None, 10): ("publisher", 0, 0),
        (10, 11): ("subscriber", 60, 1),
        (10, 12): ("relay", 50, 1),
        (12, 13): ("subscriber", 40, 2),
    }
    assert (tree.repeated, tree.told, tree.astray) == (1, 1, [])


def test_a_pulled_copy_has_its_notification_and_pull_as_steps(golden: list[dict[str, Any]]) -> None:
    steps = {node.peer: [(name, round(ms)) for name, ms in node.steps] for node in build_tree(golden).nodes}
    assert steps[11] == [("Word", 20), ("Question", 20), ("Copy", 20)]
    assert steps[13] == [("Copy", 40)]


def test_a_copy_from_a_peer_whose_own_copy_was_lost_is_told_and_not_invented(
    golden: list[dict[str, Any]],
) -> None:
    tree = build_tree([hop for hop in golden if hop["span"] != 5])
    assert [node.peer for node in tree.nodes] == [10, 11]
    assert [node.peer for node in tree.astray] == [13]


def test_a_trace_without_a_root_is_refused(golden: list[dict[str, Any]]) -> None:
    with pytest.raises(ResultsError, match="0 root spans"):
        build_tree(golden[1:])


def test_siblings_do_not_cover_each_other(golden: list[dict[str, Any]]) -> None:
    drawing = draw(build_tree(golden))
    places = {(spot.x, spot.y) for spot in drawing.spots}
    assert len(places) == 4
    depths = {spot.node.depth: spot.x for spot in drawing.spots}
    assert depths[0] < depths[1] < depths[2]
    assert all(0 < spot.x < drawing.width and 0 < spot.y < drawing.height for spot in drawing.spots)


def test_the_median_publication_is_chosen_and_its_missed_peers_told(
    make_run: Callable[..., RunDirectory],
) -> None:
    drawing, other = event_trees(Results.read(make_run()))
    assert (drawing.tree.event, drawing.tree.topic, drawing.missed) == (5, 7, [14])
    assert drawing.trial == "vitis.friends=4-1"
    assert (other.trial, other.tree.event) == ("rvr.friends=4-1", 5)
    assert other.why == "the same publication in another system"


def test_the_trees_of_one_event_in_two_systems_stand_side_by_side(
    make_run: Callable[..., RunDirectory],
) -> None:
    page = write_report(make_run()).read_text()
    section = page[page.index('<section id="tree">') :].partition("</section>")[0]
    pair = section[section.index('<div class="pair">') :]
    assert 'id="tree-drawing"' in pair and 'id="tree-2-drawing"' in pair
    assert "<summary>Event" not in section


def test_the_trees_of_one_event_in_two_settings_of_a_system_stand_below_each_other(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_events(make_run(), [(4, 11, True, 1.0)])
    systems = [results.system_of(tree.trial) for tree in event_trees(replace(results, asked_events=(4,)))]
    assert systems[0] == systems[1]
    page = write_report(results.run, events=(4,)).read_text()
    assert '<div class="pair">' not in page and page.count("<summary>Event 4 of") == 3


def test_no_delivery_leaves_no_tree(make_run: Callable[..., RunDirectory]) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    run.summary.write_text(json.dumps(summary | {"trials": []}))
    assert event_trees(Results.read(run)) == []


def with_events(run: RunDirectory, rows: list[tuple[int, int, bool, float]]) -> Results:
    """Return the results of a run whose trials have these deliveries (event, peer, delivered, delay in ms),
    all along the hops of `HOPS`."""
    for file in (run.tables / "deliveries").rglob("*.parquet"):
        made = [
            {
                **{"event": e, "publisher": 10, "published_s": 50.0, "peer": p},
                **{"expected": True, "delivered": d, "delay_ms": ms},
            }
            for e, p, d, ms in rows
        ]
        pq.write_table(pa.Table.from_pylist(made), file)
    numbers = sorted({event for event, *_ in rows})
    for file in (run.tables / "operations").rglob("*.parquet"):
        schema = pa.schema([("trace", pa.binary()), ("operation", pa.string()), ("event", pa.int32())])
        traces = [{"trace": bytes([n]) * 16, "operation": "publish", "event": n} for n in numbers]
        pq.write_table(pa.Table.from_pylist(traces, schema=schema), file)
    for file in (run.tables / "hops").rglob("*.parquet"):
        hops = pq.read_table(file, partitioning=None)
        every = [
            hop | {"trace": bytes([n]) * 16, "event": n if hop["parent"] is None else None}
            for n in numbers
            for hop in hops.to_pylist()
        ]
        pq.write_table(pa.Table.from_pylist(every, schema=hops.schema), file)
    return Results.read(run)


def test_the_slowest_and_the_least_complete_publication_are_drawn_too(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_events(
        make_run(),
        [
            *((1, peer, True, 50.0) for peer in (11, 12)),
            *((2, peer, True, 900.0) for peer in (11, 12)),
            *((3, peer, peer == 11, 40.0) for peer in (11, 12, 13)),
            *((4, peer, True, 50.0) for peer in (11, 12)),
        ],
    )
    trees = event_trees(results)
    assert [(tree.tree.event, tree.trial) for tree in trees] == [
        (1, "vitis.friends=4-1"),
        (1, "rvr.friends=4-1"),
        (2, "vitis.friends=4-1"),
        (3, "rvr.friends=4-1"),
    ]
    for trial in results.trials:
        trial["measures"]["hit_ratio"] = 0.9
    results.trials[0]["measures"]["hit_ratio"] = 0.1
    assert event_trees(results)[3].trial == results.trials[0]["trial"]
    assert "longest" in trees[2].why and "smallest share" in trees[3].why


def test_the_least_complete_publication_may_have_reached_nobody(
    make_run: Callable[..., RunDirectory],
) -> None:
    rows = [(1, 11, True, 50.0), (2, 11, True, 50.0), (2, 12, False, 0.0)]
    results = with_events(make_run(), [*rows, *((3, peer, False, 0.0) for peer in (11, 12, 13))])
    *others, least = event_trees(results)
    assert [tree.tree.event for tree in others] == [1, 1]
    assert (least.tree.event, least.delivered, least.missed) == (3, 0, [11, 12, 13])
    assert "smallest share" in least.why


def test_a_publication_without_any_message_is_told_to_have_reached_nobody(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_events(make_run(), [(1, 11, True, 50.0), (2, 11, False, 0.0)])
    for file in (results.run.tables / "hops").rglob("*.parquet"):
        hops = pq.read_table(file, partitioning=None)
        left = [h for h in hops.to_pylist() if h["trace"] == b"\1" * 16 or h["parent"] is None]
        pq.write_table(pa.Table.from_pylist(left, schema=hops.schema), file)
    page = write_report(results.run).read_text()
    assert "smallest share of its peers. No peer got a message about it." in page
    assert "1 peer should have received it and did not: 11." in page


def test_a_run_in_which_no_publication_reached_anybody_has_no_tree(
    make_run: Callable[..., RunDirectory],
) -> None:
    assert event_trees(with_events(make_run(), [(1, 11, False, 0.0)])) == []


def test_an_event_that_is_asked_for_is_drawn_in_each_variant(make_run: Callable[..., RunDirectory]) -> None:
    results = with_events(make_run(), [(1, 11, True, 1.0), (4, 11, True, 1.0)])
    trees = event_trees(replace(results, asked_events=(4,)))
    assert [tree.tree.event for tree in trees] == [4] * 4
    assert len({tree.trial for tree in trees}) == 4
    with pytest.raises(ResultsError, match=r"has no event 9. Its events: 1 to 4"):
        event_trees(replace(results, asked_events=(9,)))


def test_what_scrolls_with_a_name_has_a_role_that_may_have_one(make_run: Callable[..., RunDirectory]) -> None:
    page = write_report(with_events(make_run(), [(1, 11, True, 1.0)]).run).read_text()
    named = re.findall(r"<(?:div|span|p)[^>]*aria-label[^>]*>", page)
    assert named and all("role=" in tag for tag in named)


def test_an_event_that_is_not_there_is_refused_before_the_report_is_begun(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_events(make_run(), [(1, 11, True, 1.0)])
    said = StringIO()
    with pytest.raises(UserError, match="has no event 9"):
        report_run(results.run, Screen(Console(file=said)), events=[9])
    assert said.getvalue() == ""


def test_a_drawn_event_is_linked_to_its_trace_as_a_backend_has_it(
    make_run: Callable[..., RunDirectory],
) -> None:
    results = with_events(make_run(), [(1, 11, True, 1.0)])
    assert {tree.link for tree in event_trees(results)} == {""}
    (tree, *_) = event_trees(replace(results, traces_at='https://here/"x"?id={trace}'))
    (trace,) = {hop["trace"] for hop in results.rows("hops", tree.trial) if hop["event"] == 1}
    there = BackendTraces(results.run.trial(tree.trial)).id(trace).hex()
    assert tree.link == f'https://here/"x"?id={there}'
    page = write_report(results.run, traces_at='https://here/"x"?id={trace}').read_text()
    assert f'href="https://here/&#34;x&#34;?id={there}"' in page


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_any_copies_make_a_tree_in_which_every_peer_is_once(copies: list[tuple[int, int]]) -> None:
    rows = [_row(0, None, "publish", None, 0, 0.0)]
    rows += [_row(i + 1, 0, "Copy", s, p, float(i)) for i, (s, p) in enumerate(copies)]
    tree = build_tree(rows)
    peers = [node.peer for top in (tree.root, *tree.astray) for node in top.walk()]
    assert sorted(peers) == sorted({0, *(p for _, p in copies)})
    assert len(peers) - 1 + tree.repeated == len(copies)


def _row(
    span: int, parent: int | None, message: str, sender: int | None, peer: int, at: float
) -> dict[str, Any]:
    return {
        "span": span, "parent": parent, "message": message, "kind": None if parent is None else "event",
        "sender": sender, "peer": peer, "depth": 0 if parent is None else 1, "topic": 1,
        "interested": True, "delivered": False,
        "event": 1, "sent_s": at, "handled_s": at,
    }  # fmt: skip
