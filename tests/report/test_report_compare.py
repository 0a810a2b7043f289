"""Two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from analysis.charts.results import ResultsError
from analysis.report.compare import Comparison, Row, Value, compare
from analysis.report.compare_table import comparison_tables
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]


def _row(comparison: Comparison, variant: str, measure: str) -> Row:
    return next(row for row in comparison.rows if (row.variant, row.measure) == (variant, measure))


def test_a_run_is_equal_to_itself(make_run: MakeRun) -> None:
    run = make_run()
    found = compare(run, run)
    assert found.changes == [] and found.only_a == [] == found.only_b
    assert {row.reading for row in found.rows} == {"equal"}


def test_a_difference_beyond_the_intervals_is_called_better_or_worse(make_run: MakeRun) -> None:
    found = compare(make_run("a"), make_run("b", factor=0.5))
    row = _row(found, "rvr.friends=4", "overhead")
    assert row.difference == pytest.approx(-0.405)
    assert row.relative == pytest.approx(-0.5)
    assert (row.overlap, row.reading) == (False, "B is better")
    worse = compare(make_run("c"), make_run("d", factor=1.5))
    assert _row(worse, "rvr.friends=4", "overhead").reading == "B is worse"
    within = compare(make_run("e"), make_run("f", factor=1.05))
    assert _row(within, "rvr.friends=4", "overhead").reading == "intervals overlap"


def test_a_single_seed_is_never_called_significant() -> None:
    row = Row("v", "m", "t", "ms", "lower", "", Value(10, None, 1, 1), Value(5, 0.1, 3, 3))
    assert (row.overlap, row.reading) == (None, "one seed only")


def test_a_mean_of_some_seeds_is_named_and_not_called_better() -> None:
    row = Row("v", "m", "t", "ms", "lower", "", Value(10, 1, 3, 3), Value(5, 1, 2, 3))
    assert row.reading == "not decided: B is lower, but B has a value at 2 of 3 seeds"
    assert (row.is_open, row.texts[1].endswith("(2 of 3 seeds)")) == (True, True)
    same = Row("v", "m", "t", "ms", "lower", "", Value(5, 0, 3, 3), Value(5, 0, 2, 3))
    assert not same.reading.startswith("equal")


def test_what_differs_in_experiment_plan_versions_machine_and_seeds_is_told(make_run: MakeRun) -> None:
    a, b = make_run("a"), make_run("b")
    b.experiment.write_text(b.experiment.read_text().replace("peers: 200", "peers: 300"))
    summary = json.loads(b.summary.read_text())
    summary["versions"]["python"] = "3.12.1"
    summary["machine"]["cores"] = 8
    summary["trials"] = [t for t in summary["trials"] if t["seed"] == 1]
    b.summary.write_text(json.dumps(summary))
    for run, peers in ((a, 3), (b, 4)):
        plan = run.trial("rvr.friends=4-1").plan
        plan.mkdir(parents=True)
        pq.write_table(pa.table({"peer": range(peers)}), plan / "peers.parquet")
        pq.write_table(pa.table({"peer": range(5)}), plan / "sessions.parquet")
    changes = {(c.about, c.key): (c.a, c.b) for c in compare(a, b).changes}
    assert changes == {
        ("experiment", "peers"): ("200", "300"),
        ("plan", "peers (1 of 6 trials, first rvr.friends=4-1)"): ("3 rows", "4 rows"),
        ("versions", "python"): ("3.11.2", "3.12.1"),
        ("machine", "cores"): ("2", "8"),
        ("seeds", "seeds run"): ("1, 2", "1"),
    }


def test_variants_of_one_run_only_are_named(make_run: MakeRun) -> None:
    a, b = make_run("a"), make_run("b")
    summary = json.loads(b.summary.read_text())
    summary["variants"] = summary["variants"][1:]
    b.summary.write_text(json.dumps(summary))
    found = compare(a, b)
    assert (found.only_a, found.only_b) == (["vitis, friends 4"], [])
    assert "vitis.friends=4" not in {row.variant for row in found.rows}


def test_the_page_begins_with_an_invalid_side_and_escapes_names(make_run: MakeRun, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "page.html"
    compare(make_run("a", title="<b>one"), make_run("b", title="two", factor=0.5, invalid=True), out)
    page = out.read_text()
    assert "&lt;b&gt;one against two" in page and "<b>one" not in page
    body = page[page.index("<main>") :]
    assert body.index("INVALID: run B.") < body.index("<h1>")
    assert "B is better" in body


def test_a_run_that_was_not_analyzed_is_named(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ResultsError, match=r"empty/summary\.json is missing"):
        compare(make_run(), RunDirectory(tmp_path / "empty"))


def test_the_terminal_shows_every_difference_and_takes_names_literally(make_run: MakeRun) -> None:
    a, b = make_run("a"), make_run("b", factor=0.5, invalid=True)
    b.experiment.write_text(b.experiment.read_text().replace("kind: high", "kind: '[red]low'"))
    console = Console(record=True, width=160, file=StringIO())
    for part in comparison_tables(compare(a, b)):
        console.print(part)
    text = console.export_text()
    assert "[red]low" in text
    assert "INVALID: vitis.friends=4-2" in text
    assert "B is better" in text and "rvr, friends 12" in text


def test_of_many_variants_those_that_may_not_differ_are_counted(make_run: MakeRun) -> None:
    found = compare(make_run("a"), make_run("b", factor=1.05))
    assert len({row.variant for row in found.rows}) == 6
    texts = []
    for everything in (False, True):
        console = Console(file=StringIO(), width=160)
        for part in comparison_tables(found, everything):
            console.print(part)
        texts.append(console.file.getvalue())  # type: ignore[attr-defined]
    short, whole = texts
    assert "intervals overlap" not in short and "it cannot be said whether" in short
    assert short.rstrip().endswith("--measure NAME a measure of your choice.")
    overlapping = sum(row.reading == "intervals overlap" for row in found.rows)
    assert whole.count("intervals overlap") == overlapping > 0 and "--all" not in whole
