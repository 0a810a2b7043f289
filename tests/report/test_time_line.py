"""The time line above charts over time: what began when, and how many peers moved."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.axis import Axis
from analysis.charts.chart import LineChart, Point, Quantity, Series, line_chart
from analysis.charts.panels import Style, panels
from analysis.charts.results import Results
from analysis.charts.time_line import Mark, Moves, time_line
from analysis.report.figures_time import moments
from analysis.report.report import write_report
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
AXIS = Axis("", 0.0, 96.0, 40.0, 440.0)
PHONE = 7.8
"""The width of a letter where the page is narrow."""


def test_words_stand_above_the_plot_and_none_covers_another_or_the_time_of_another() -> None:
    marks = [Mark(10.0 * n, f"split-number-{n}", 10.0 * n + 20) for n in range(6)]
    found = time_line([*marks, Mark(95, "crashed"), Mark(99, "beyond")], [], AXIS)
    assert [mark.text for mark in found.marks] == [*(f"split-number-{n}" for n in range(6)), "crashed"]
    lanes: dict[float, list[tuple[float, float]]] = {}
    for mark in found.marks:
        assert mark.text_at is not None
        begin, foot = mark.text_at
        end = begin + PHONE * len(mark.text)
        assert AXIS.start <= begin and end <= AXIS.end + 0.1
        lanes.setdefault(foot, []).append((min(begin, mark.left), max(end, mark.right)))
    assert found.height == 22 * len(lanes)
    for spans in lanes.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(spans)))


def test_more_marks_than_lanes_have_no_word_and_stay_marked() -> None:
    found = time_line([Mark(50, f"fault {n}") for n in range(20)], [], AXIS)
    assert (len(found.marks), sum(mark.text_at is None for mark in found.marks)) == (20, 8)
    assert found.height == 22 * 12


def test_joins_go_up_and_leaves_go_down_by_their_rate() -> None:
    (moves,) = time_line([], [Moves([1.0, 1.5, 3.0, 200.0], [95.9], trials=2)], AXIS).moves
    assert "most 0.5/s" in moves.title  # two in the two seconds of a bar, in two trials
    assert moves.joins.split("M")[1:] == ["44.2 55v-13.0", "52.5 55v-6.5"]
    assert moves.leaves == "M435.8 55v6.5"
    assert time_line([], [Moves([200.0], [], 1)], AXIS) == time_line([], [], AXIS)


def _with_sessions(run: RunDirectory) -> Results:
    results = Results.read(run)
    for trial in results.trials:
        folder = run.tables / "sessions" / f"trial={trial['trial'].replace('=', '%3D')}"
        folder.mkdir(parents=True)
        rows: list[dict[str, Any]] = [
            {"start_s": 45.0, "end_s": 60.0, "ended": "leave"},
            {"start_s": None, "end_s": None, "ended": "host lost"},
            {"start_s": 55.0, "end_s": 69.0, "ended": "trial end"},
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / "part-00000.parquet")
    return Results.read(run)


def test_charts_over_time_show_sessions_and_the_flash_crowd_above_the_plot(make_run: MakeRun) -> None:
    results = _with_sessions(make_run())
    charts = {chart.name: chart for chart in Shown.by(results).charts["time"]}
    chart = charts["time-hit"]
    assert isinstance(chart, LineChart)
    assert [mark.text for mark in chart.marks] == ["flash crowd"]
    (moves,) = chart.moves
    assert (moves.joins.count("M"), moves.leaves.count("M")) == (2, 1)
    assert chart.y.end == 34 + 22 + 44
    page = write_report(results.run).read_text()
    assert "Hit ratio in time. Marked: flash crowd. The values" in page
    assert page.count("joins (up) and leaves (down)") == len(charts)


def test_faults_and_attackers_of_variants_begin_with_the_trial_where_they_do_not_say_when(
    make_run: MakeRun,
) -> None:
    results = Results.read(make_run())
    first, second = results.variants[:2]
    first["values"]["faults"] = [{"name": "cut", "for": "15 s", "partition": {"share": 0.5}}]
    second["values"]["attackers"] = {"share": 0.2, "behaviour": "black-hole"}
    assert {(mark.at, mark.text) for mark in moments(results)} >= {(0.0, "cut"), (0.0, "attack")}


def test_an_attack_for_a_time_is_a_band_in_charts_over_time_also_where_the_time_is_varied(
    make_run: MakeRun,
) -> None:
    results = Results.read(make_run())
    results.experiment["attackers"] = {"share": 0.2, "behaviour": "black-hole", "at": "80 s", "for": "20 s"}
    results.variants[0]["values"]["attackers.for"] = "30 s"
    assert {(mark.at, mark.until) for mark in moments(results) if mark.text == "attack"} == {
        (80.0, 100.0),
        (80.0, 110.0),
    }


def test_sessions_of_each_churn_stand_below_each_other(make_run: MakeRun) -> None:
    results = _with_sessions(make_run())
    for n, variant in enumerate(results.variants):
        variant["values"]["churn.model.kind"] = ["poisson", "skype"][n % 2]
    (chart, *_) = Shown.by(results).charts["time"]
    assert isinstance(chart, LineChart)
    assert [each.title.rpartition(": ")[2] for each in chart.moves] == ["poisson", "skype"]
    assert chart.moves[1].middle - chart.moves[0].middle == 44


def test_sessions_of_six_settings_stand_above_a_chart_and_of_more_none() -> None:
    settings = [Moves([1.0], [], 1, str(number)) for number in range(7)]
    assert len(time_line([], settings[:6], AXIS).moves) == 6
    assert time_line([], settings, AXIS) == time_line([], [], AXIS)


def test_each_panel_has_the_sessions_of_its_own_variants_and_all_plots_are_level() -> None:
    churns = [f"churn {number}" for number in range(7)]
    labels = [f"{system}, {churn}" for churn in churns for system in ("vitis", "rvr")]
    lines = [Series(label, [Point(0, 1), Point(48, 2)], curve=True) for label in labels]
    sessions = [
        Moves([8.0 * n], [40.0], 1, churn, frozenset(labels[2 * n : 2 * n + 2]))
        for n, churn in enumerate(churns[1:], 1)
    ]
    time, y = Quantity("trial time", "s"), Quantity("y")
    chart = line_chart("n", "t", "About it.", time, y, lines, moves=sessions)
    assert chart is not None
    found = panels(chart, [(label.partition(", ")[2], Style("", 0, 0)) for label in labels])
    assert found.charts[0].moves == []
    titles = [[each.title for each in panel.moves] for panel in found.charts[1:]]
    assert titles == [["at most 1/s"]] * 6
    assert len({panel.moves[0].joins for panel in found.charts[1:]}) == 6
    assert len({(panel.y.end, panel.height) for panel in found.charts}) == 1
    assert found.charts[0].y.end == 28 + 44
    assert "Above each panel are joins (up) and leaves (down)" in found.about


def test_several_settings_in_a_panel_are_told_apart_in_few_letters() -> None:
    lines = [Series(label, [Point(0, 1), Point(48, 2)], curve=True) for label in ("poisson", "skype")]
    words = ("poisson, 1,800 s, 600 s, no crash", "skype")
    sessions = [
        Moves([1.0, 1.1, 20], [], 1, of, frozenset([line.label]))
        for of, line in zip(words, lines, strict=True)
    ]
    chart = line_chart("n", "t", "", Quantity("trial time", "s"), Quantity("y"), lines, moves=sessions)
    assert chart is not None
    (panel,) = panels(chart, [("", Style(line.label, 0, n)) for n, line in enumerate(lines)]).charts
    assert [each.title for each in panel.moves] == [
        "poisson, 1,800 s, 600\N{HORIZONTAL ELLIPSIS}, 2/s",
        "skype, 2/s",
    ]
    assert max(len(each.title) for each in panel.moves) <= 27


def test_panels_say_in_their_text_what_their_bands_are(make_run: MakeRun, tmp_path: Path) -> None:
    (chart, *_) = Shown.by(Results.read(make_run())).charts["time"]
    assert isinstance(chart, LineChart)
    found = panels(chart, [("panel", Style(one.label, 0, 0)) for one in chart.series])
    assert found.about.endswith("Marked are: flash crowd (55 to 56 s).")
    assert found.charts[0].height < chart.height
    assert [mark.text for mark in found.charts[0].marks] == ["flash crowd"]


@pytest.mark.parametrize("at", [0.0, 96.0])
def test_a_mark_at_an_end_of_the_axis_has_its_word_within_the_axis(at: float) -> None:
    (mark,) = time_line([Mark(at, "attackers")], [], AXIS).marks
    assert mark.text_at is not None
    assert mark.text_at[0] >= AXIS.start and mark.text_at[0] + PHONE * 9 <= AXIS.end + 0.1


def test_a_panel_shows_the_faults_of_its_variants_alone() -> None:
    lines = [Series(label, [Point(0, 1), Point(50, number)]) for number, label in enumerate(("dark", "none"))]
    marks = [Mark(20, "cut", 30, frozenset({"dark"})), Mark(10, "crowd")]
    chart = line_chart("n", "t", "a", Quantity("trial time", "s"), Quantity("y"), lines, marks=marks)
    assert chart is not None
    found = panels(chart, [(label, Style("", 0, 0)) for label in ("dark", "none")])
    assert [[mark.text for mark in panel.marks] for panel in found.charts] == [["crowd", "cut"], ["crowd"]]
    assert marks[0].is_of("dark: loss") and not marks[0].is_of("darker")
