"""Crowded charts are exported as the page shows them, and what is not drawn is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from sweep_run import sweep_run

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.panels import Panels
from analysis.charts.results import Results
from analysis.export.draw import draw
from analysis.export.figures import NamedFigure, figures_of
from analysis.export.style import style
from analysis.export.write import _about, export
from analysis.report.shown import Shown

SYSTEMS = ["vitis", "rvr"]
MODELS = ["static", "poisson", "skype", "gnutella", "weibull"]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Two systems by five models, which the page shows in panels."""
    return Results.read(sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "churn.model.kind": MODELS}))


def test_small_multiples_are_drawn_with_all_series_in_the_styles_of_the_page(results: Results) -> None:
    chart = figures_of(results, Shown.by(results))["time-hit"].chart
    assert isinstance(chart, Panels)
    with style():
        figure = draw(chart, 6.9)
    drawn = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title() for axes in drawn] == MODELS
    assert {tuple(line.get_color() for line in axes.lines) for axes in drawn} == {("#0a5f8a", "#b8480c")}
    assert figure.get_figwidth() == 6.9


def test_files_of_small_multiples_have_all_series(results: Results, tmp_path: Path) -> None:
    export(results.run, tmp_path / "out", ["time-hit"], "3.33in")
    rows = list(csv.DictReader((tmp_path / "out/time-hit.csv").read_text().splitlines()))
    assert len({row["series"] for row in rows}) == 10
    text = (tmp_path / "out/time-hit.tex").read_text()
    assert text.count("\\nextgroupplot") == 5
    assert all(f"of={number}, forget plot" in text for number in range(10))
    assert "groupplots" in text and text.count("\\addlegendentry") == 2
    entry = json.loads((tmp_path / "out/index.json").read_text())["files"][0]
    assert entry["panels"]["skype"] == ["vitis, skype", "rvr, skype"]
    assert "left_out" not in entry


def test_a_heat_map_has_a_row_for_each_cell(tmp_path: Path) -> None:
    vary = {"system.name": [*SYSTEMS, "opt"], "peers": [1, 2, 3], "network.loss": [0.0, 0.1, 0.2, 0.3]}
    run = sweep_run(tmp_path / "run", vary)
    written = export(run, tmp_path / "out", ["sweep-hit_ratio"], "3.33in")
    assert sorted(written.files) == ["sweep-hit_ratio.csv", "sweep-hit_ratio.pdf", "sweep-hit_ratio.svg"]
    rows = list(csv.DictReader((tmp_path / "out/sweep-hit_ratio.csv").read_text().splitlines()))
    assert len(rows) == 36
    assert rows[-1] == {"setting": "opt", "row": "30 %", "column": "3", "value": "1"}


def test_series_that_a_chart_of_many_lines_does_not_draw_are_named(results: Results) -> None:
    series = [Series(f"cause {n}", [Point(1, n), Point(2, n)]) for n in range(8)]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y"), series)
    assert chart is not None
    told = _about(results, NamedFigure("n", "t", "a", chart), "3.33in")
    assert told["left_out"] == ["cause 6", "cause 7"]
