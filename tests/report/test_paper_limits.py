"""The numbers of a paper stand in the figures of the measures that they are of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sweep_run import sweep_run

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.panels import Panels
from analysis.charts.results import Results
from analysis.contract.figures import Chart
from analysis.export.draw import draw
from analysis.export.pgfplots import pgfplots
from analysis.report.by_what_is_varied import shown_by_what_is_varied
from analysis.report.figures_by_variant import against
from analysis.report.report import write_report
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
OF_VITIS = ("vitis.friends=4", "vitis.friends=8", "vitis.friends=12")


def judged(run: RunDirectory, number: Mapping[str, Any], *variants: str, outcome: str = "yes") -> Results:
    """Return the results with a single claim, of a single number that these variants were judged by."""
    summary = json.loads(run.summary.read_text())
    found = {variant: {"mean": 1.0, "ci95": None, "n": 1} for variant in variants}
    bounds = {"low": None, "high": None}
    whole = {"what": "it", "unit": "", "outcome": "held", "measured": found, **bounds, **number}
    claim = {
        "id": "V9",
        "statement": "It is so.",
        "outcome": outcome,
        "differs": [],
        "holds": True,
        "why": "",
    }
    summary["claims"] = [claim | {"numbers": [whole]}]
    run.summary.write_text(json.dumps(summary))
    return Results.read(run)


def chart_of(results: Results, measure: str) -> Chart:
    (chart,) = against(measure).draw(results)
    return chart


def test_a_line_is_drawn_over_the_variants_that_the_number_is_about(make_run: MakeRun) -> None:
    number = {"measure": "overhead", "paper": "at most 20 %", "high": 0.2}
    chart = chart_of(judged(make_run(), number, *OF_VITIS[:2]), "overhead")
    assert isinstance(chart, LineChart)
    (over,) = chart.limits
    assert (over.first, over.last, over.series) == (4, 8, {"vitis"})
    (drawn,) = chart.drawn_limits
    at = chart.y.place(20)
    assert f" {at:.4g}H" in drawn.path
    assert drawn.path.count("H") == 1
    assert f"{at:.4g}V{at + 5:.4g}" in drawn.path, "its ends point to lower values"
    assert chart.of_paper == "Dashed: what the paper's numbers allow (V9: at most 20 %)."


def test_two_limits_are_an_outline_within_the_axis(make_run: MakeRun) -> None:
    number = {"measure": "delay_ms", "paper": "about 3 s", "low": 2700.0, "high": 3300.0}
    chart = chart_of(judged(make_run(), number, *OF_VITIS), "delay_ms")
    assert isinstance(chart, LineChart)
    assert chart.y.high >= 3300
    (drawn,) = chart.drawn_limits
    assert drawn.path.count("H") == 2
    assert drawn.path.count(f"{chart.y.place(2700):.4g}V{chart.y.place(3300):.4g}") == 2


def test_a_number_from_another_setting_is_said_to_be_one_and_stands_in_the_page(make_run: MakeRun) -> None:
    number = {"measure": "overhead", "paper": "at most 20 %", "high": 0.2}
    results = judged(make_run(), number, *OF_VITIS, outcome="other setting")
    page = write_report(results.run).read_text()
    assert "<title>V9, in another setting: at most 20 %</title>" in page
    assert "(V9, in another setting: at most 20 %)." in page


@pytest.mark.parametrize(
    "number",
    [
        {"measure": "hit_ratio", "paper": "at least 99 %", "low": 0.99},
        {"measure": "", "paper": "at least half", "low": 0.5},
        {"measure": "overhead", "paper": "some"},
    ],
)
def test_what_is_no_number_of_this_measure_is_not_drawn(make_run: MakeRun, number: dict[str, Any]) -> None:
    chart = chart_of(judged(make_run(), number, *OF_VITIS), "overhead")
    assert isinstance(chart, LineChart)
    assert (chart.limits, chart.of_paper) == ([], "")


def test_a_number_of_a_share_up_to_a_value_stands_at_that_value_of_the_curves(make_run: MakeRun) -> None:
    number = {"measure": "delay_within_400_ms", "paper": "about 70 %", "low": 0.65, "high": 0.75}
    results = judged(make_run(), number, *OF_VITIS)
    charts = {chart.name: chart for part in Shown.by(results).charts.values() for chart in part}
    chart = charts["delay-ms"]
    assert isinstance(chart, LineChart)
    (limits,) = chart.limits
    assert (limits.first, limits.last, len(limits.series)) == (400.0, 400.0, len(OF_VITIS))
    (drawn,) = chart.drawn_limits
    assert drawn.path.count(f"{chart.y.place(65):.4g}V{chart.y.place(75):.4g}") == 2
    assert chart.of_paper == "Dashed: what the paper's numbers allow (V9: about 70 %)."


def test_a_run_that_an_earlier_version_judged_has_none(make_run: MakeRun) -> None:
    chart = chart_of(Results.read(make_run()), "overhead")
    assert isinstance(chart, LineChart)
    assert not chart.limits


def bars(folder: Path) -> BarChart:
    run = sweep_run(folder, {"system.name": ["vitis", "rvr"]})
    number = {"measure": "hit_ratio", "paper": "at least 99 %", "low": 0.99}
    chart = chart_of(judged(run, number, "v1"), "hit_ratio")
    assert isinstance(chart, BarChart)
    return chart


def test_the_bar_that_a_number_is_about_has_its_limit(tmp_path: Path) -> None:
    chart = bars(tmp_path / "run")
    assert [len(row.limits) for row in chart.rows] == [0, 1]
    at = chart.x.place(99)
    assert chart.rows[1].limits[0].path.startswith(f"M{at:.4g} ")
    assert f"H{at + 5:.4g}" in chart.rows[1].limits[0].path, "its ends point to higher values"
    page = write_report(Results.read(sweep_run(tmp_path / "other", {"system.name": ["a", "b"]})).run)
    assert 'class="limits"' not in page.read_text()


def test_a_panel_has_the_limits_of_its_own_series(tmp_path: Path) -> None:
    vary = {"system.name": ["vitis", "rvr", "opt", "li"], "network.loss": [0, 0.1], "peers": [100, 200, 300]}
    number = {"measure": "delay_ms", "paper": "some", "low": 1.0}
    results = judged(sweep_run(tmp_path / "run", vary), number, "v0")
    (shown,) = shown_by_what_is_varied(results, [chart_of(results, "delay_ms")])
    assert isinstance(shown, Panels)
    assert [len(panel.drawn_limits) for panel in shown.charts] == [1, 0]
    assert "Dashed: what the paper's numbers allow (V9: some)." in shown.about


def test_exports_have_them_too(make_run: MakeRun, tmp_path: Path) -> None:
    one = {"measure": "overhead", "paper": "at most 20 %", "high": 0.2}
    line = chart_of(judged(make_run(), one, *OF_VITIS), "overhead")
    two = {"measure": "overhead", "paper": "10 to 20 %", "low": 0.1, "high": 0.2}
    outline = chart_of(judged(make_run("other"), two, *OF_VITIS), "overhead")
    for chart, arrows in ((line, 1), (outline, 0), (bars(tmp_path / "bars"), 1)):
        assert isinstance(chart, LineChart | BarChart)
        tex = pgfplots(chart, "x.csv", 3.3, "")
        assert tex.count(r"\draw[densely dashed]") == 1
        assert tex.count("mark=triangle*, mark size=1.4pt") == arrows
        (axes,) = draw(chart, 3.3).axes
        dashed = [each for each in axes.collections if each.get_linestyle()[0][1] is not None]
        assert dashed
