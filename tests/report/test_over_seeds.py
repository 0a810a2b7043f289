"""Means over the seeds of a variant, and the bands around them."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer

from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.charts.values import values_of
from analysis.export.bars import draw_bars
from analysis.report.over_seeds import mean_curve, mean_points, seeds, told
from emulator.experiment.run.directory import RunDirectory


def results(*trials: tuple[str, str, bool, bool]) -> Results:
    """Return the results of trials: name, variant, whether it is valid, whether it was measured."""
    variants = dict.fromkeys(variant for _, variant, _, _ in trials)
    summary: dict[str, Any] = {
        "variants": [{"variant": name, "values": {"system.name": name}, "measures": {}} for name in variants],
        "trials": [
            {"trial": name, "variant": variant, "valid": valid, "measures": {"a": 1.0} if measured else {}}
            for name, variant, valid, measured in trials
        ],
    }
    return Results(RunDirectory("nowhere"), summary, {})


def test_the_valid_trials_of_a_variant_count_and_all_of_them_if_none_is_valid() -> None:
    found = results(
        ("v1", "vitis", True, True),
        ("v2", "vitis", False, True),
        ("v3", "vitis", True, False),
        ("o1", "opt", False, True),
        ("o2", "opt", False, True),
        ("r1", "rvr", False, False),
    )
    assert dict(seeds(found)) == {"vitis": ["v1"], "opt": ["o1", "o2"]}


def test_a_mean_has_the_interval_of_student_s_t() -> None:
    (point,) = mean_points([{1.0: 2.0}, {1.0: 4.0}])
    assert (point.x, point.y) == (1.0, 3.0)
    assert point.half == pytest.approx(12.706, rel=1e-4)  # t(1, .975) times 1.414 / sqrt 2


def test_a_seed_without_a_value_counts_as_what_is_said() -> None:
    of_seeds = [{1.0: 2.0, 2.0: 8.0}, {1.0: 2.0}]
    assert [(p.x, p.y, p.half) for p in mean_points(of_seeds)] == [(1.0, 2.0, 0.0), (2.0, 8.0, None)]
    assert [p.y for p in mean_points(of_seeds, otherwise=0.0)] == [2.0, 4.0]


def test_a_curve_is_the_mean_of_the_seeds_curves_at_each_value() -> None:
    one = [Point(10.0, 0.5), Point(30.0, 1.0)]
    two = [Point(20.0, 1.0)]
    assert [(p.x, p.y) for p in mean_curve([one, two])] == [(10.0, 0.25), (20.0, 0.75), (30.0, 1.0)]


def test_a_curve_of_one_seed_is_its_own_without_intervals() -> None:
    own = [Point(10.0, 0.5), Point(30.0, 1.0)]
    assert mean_curve([own]) == own


def test_a_long_curve_keeps_its_last_point() -> None:
    curve = mean_curve([[Point(float(place), place / 1000) for place in range(1, 1001)]] * 2)
    assert len(curve) <= 241
    assert (curve[-1].x, curve[-1].y) == (1000.0, 1.0)


def test_a_figure_says_what_its_lines_are_where_there_are_several_seeds() -> None:
    one = results(("a", "vitis", True, True))
    two = results(("a", "vitis", True, True), ("b", "vitis", True, True))
    assert told("Delays.", one) == "Delays."
    assert "95 % confidence" in told("Delays.", two)


def drawn(count: int, curve: bool) -> Any:
    points = [Point(float(x), 0.5, 0.1) for x in range(count)]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y"), [Series("s", points, curve=curve)])
    assert chart is not None
    return chart.series[0]


def test_intervals_at_few_points_are_whiskers_and_at_many_a_band() -> None:
    few, many, curve = drawn(5, False), drawn(60, False), drawn(5, True)
    assert (len(few.whiskers), few.band) == (5, "")
    assert (many.whiskers, curve.whiskers) == ([], [])
    assert many.band.count("L") == 2 * 60 - 1
    assert curve.band.count("L") == 2 * 6 - 1


def test_an_interpolated_value_has_an_interpolated_interval() -> None:
    series = Series("s", [Point(0.0, 0.0, 0.2), Point(10.0, 1.0, 0.4)], curve=True)
    at = series.at(5.0)
    assert at is not None
    assert (at.y, at.half) == (0.5, pytest.approx(0.3))


@pytest.mark.parametrize(
    ("unit", "value", "half", "ends"),
    [
        ("share", 0.185, 1.297, (18.5, 0.0, 100.0)),
        ("share", 0.5, 0.1, (50.0, 40.0, 60.0)),
        ("ms", 0.185, 1.297, (0.185, 0.0, 1.482)),
        ("ms", -1.0, 2.0, (-1.0, -3.0, 1.0)),
    ],
)
def test_the_interval_of_a_share_ends_at_none_and_at_all(
    unit: str, value: float, half: float, ends: tuple[float, ...]
) -> None:
    quantity = Quantity("y", unit)
    lines = line_chart("n", "t", "a", Quantity("x"), quantity, [Series("s", [Point(0.0, value, half)])])
    bars = bar_chart("n", "t", "a", quantity, [""], [Row("r", [value], half)])
    assert lines is not None and bars is not None
    assert lines.columns[0].numbers == [ends]
    for chart in (lines, bars):
        scale = 100 if unit == "share" else 1
        assert [scale * end for end in values_of(chart).rows[0][-3:]] == pytest.approx(ends)
    drawn_bars = draw_bars(bars, 300.0).axes[0].containers
    whisker = next(each for each in drawn_bars if isinstance(each, ErrorbarContainer)).lines[2][0]
    assert [end[0] for end in whisker.get_segments()[0]] == pytest.approx(ends[1:])
