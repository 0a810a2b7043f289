"""Axes, charts and numerals: what is drawn lies where its value says."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.charts.axis import Axis, span
from analysis.charts.bars import BarChart, Row, bar_chart
from analysis.charts.chart import LineChart, Point, Quantity, Series, line_chart
from analysis.charts.numerals import estimate, number, quantity, unit_beside
from analysis.charts.results import Results, variant_labels
from analysis.report.figures_by_variant import MAINTENANCE
from analysis.report.shown import Shown
from analysis.report.what_faults_did import _over_seeds
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
finite = st.floats(-1e9, 1e9, allow_subnormal=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12345.6, "12,346"), (0.03124, "0.0312"), (-2.5, "\u22122.5"), (None, "—"), (100.0, "100")],
)
def test_numbers_keep_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_shares_are_percent_and_intervals_set_the_decimals() -> None:
    assert quantity(0.031, "share") == "3.1\N{NO-BREAK SPACE}%"
    assert estimate(0.1234567, 0.0123, "share") == "12.3\u2009±\u20091.2"
    assert estimate(41.234, None, "ms") == "41.2"
    assert estimate(None, None) == "—"


@pytest.mark.parametrize(
    ("title", "unit", "beside"),
    [
        ("Lookup hops", "hops", ""),
        ("Messages an event", "messages", ""),
        ("Last delivery hop", "hops", ""),
        ("GRAFT from the second message on", "messages", "messages"),
        ("Peers above 10 % overhead", "share", "%"),
        ("Delay", "ms", "ms"),
        ("Relay load", "messages a peer", "messages a peer"),
        ("Whopshop", "hops", "hops"),
    ],
)
def test_a_unit_that_the_title_says_does_not_stand_beside_it(title: str, unit: str, beside: str) -> None:
    assert unit_beside(title, unit) == beside


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_an_axis_holds_its_values_and_its_ticks(values: list[float], from_zero: bool) -> None:
    low, high = span(values, from_zero)
    unseen = 1e-6 * max(map(abs, values))
    assert low <= min(values) + unseen and high >= max(values) - unseen
    assert low < high
    axis = Axis("", low, high, 10, 210)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 7
    assert all(9.9 <= tick.at <= 210.1 for tick in ticks)
    assert len({tick.text for tick in ticks}) == len(ticks)


def test_a_curve_is_read_between_its_points_and_other_series_only_at_them() -> None:
    points = [Point(2, 0), Point(10, 1)]
    assert Series("a", points, curve=True).at(4) == Point(4, 0.25)
    assert Series("a", points, curve=True).at(1) is None
    assert Series("a", points, curve=True).at(50) == Point(10, 1)
    assert Series("a", points).at(5) is None
    assert Series("a", points).at(10) == Point(10, 1)


def test_higher_values_are_drawn_higher_and_intervals_around_them() -> None:
    series = [
        Series("low", [Point(1, 0.2, 0.1), Point(2, 0.3)]),
        Series("high", [Point(1, 0.9), Point(2, 0.8)]),
    ]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y", "share"), series)
    assert chart is not None
    (column, _) = chart.columns
    assert column.values[0] == "20\u2009±\u200910\N{NO-BREAK SPACE}%"
    assert column.numbers == [(20, 10, 30), (90,)] and column.x == 1
    (_, low), (_, high) = chart.series[0].markers[0], chart.series[1].markers[0]
    assert high < low
    ((_, bottom, top),) = chart.series[0].whiskers
    assert top < low < bottom
    assert math.isclose((top + bottom) / 2, low, abs_tol=0.11)


def test_tags_at_the_ends_of_lines_stay_apart() -> None:
    series = [Series(f"s{i}", [Point(0, 1), Point(1, 1 + i / 1e6)]) for i in range(6)]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y"), series)
    assert chart is not None
    tops = sorted(one.tag_at[1] for one in chart.series)
    assert min(b - a for a, b in pairwise(tops)) >= 13.9


def test_nothing_to_draw_is_no_chart() -> None:
    assert line_chart("n", "t", "a", Quantity("x"), Quantity("y"), [Series("s", [])]) is None
    assert bar_chart("n", "t", "a", Quantity("x"), ["p"], []) is None


def test_segments_of_a_bar_follow_each_other() -> None:
    chart = bar_chart("n", "t", "a", Quantity("x", "bytes/s"), ["p", "q"], [Row("r", [10, 30])])
    assert chart is not None
    first, second = chart.rows[0].segments
    assert second.x == pytest.approx(first.x + first.width, abs=0.11)
    assert second.width == pytest.approx(3 * first.width, abs=0.3)
    assert second.text == "r, q: 30\N{NO-BREAK SPACE}bytes/s"


def test_measures_are_drawn_against_the_number_that_was_varied(make_run: MakeRun) -> None:
    charts = Shown.by(Results.read(make_run())).charts["variants"]
    assert [chart.name for chart in charts] == [
        "sweep-hit_ratio", "sweep-overhead", "sweep-delay_hops", "sweep-delay_ms",
    ]  # fmt: skip
    overhead = charts[1]
    assert isinstance(overhead, LineChart)
    assert [one.label for one in overhead.series] == ["vitis", "rvr"]
    assert [tick.text for tick in overhead.x_ticks] == ["4", "8", "12"]
    assert [len(one.whiskers) for one in overhead.series] == [3, 3]


def test_sizes_that_span_decades_are_equally_far_apart(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    sizes = {4: 100, 8: 1000, 12: 10_000}
    for variant in results.summary["variants"]:
        friends = variant["values"].pop("system.parameters.friends")
        variant["values"]["peers"] = sizes[friends]
    chart = Shown.by(results).charts["variants"][1]
    assert isinstance(chart, LineChart)
    assert [tick.text for tick in chart.x_ticks] == ["100", "1,000", "10,000"]
    first, second, third = (tick.at for tick in chart.x_ticks)
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_keys_that_were_varied_together_are_one_line(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    for variant in results.summary["variants"]:
        friends = variant["values"]["system.parameters.friends"]
        variant["values"]["peers"] = 100 * friends
    overhead = Shown.by(results).charts["variants"][1]
    assert isinstance(overhead, LineChart)
    assert [one.label for one in overhead.series] == ["vitis", "rvr"]
    assert [len(one.whiskers) for one in overhead.series] == [3, 3]


def test_powers_of_ten_are_the_ticks_of_a_logarithmic_axis() -> None:
    axis = Axis("", 50, 20_000, 0, 100, logarithmic=True)
    assert [tick.text for tick in axis.ticks()] == ["100", "1,000", "10,000"]
    assert axis.place(50) == 0 and axis.place(1000) == pytest.approx(50)


def test_variants_that_differ_in_words_are_bars_side_by_side(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    kept = [v for v in results.summary["variants"] if v["values"]["system.parameters.friends"] == 4]
    results.summary["variants"] = kept
    (hit, *_) = Shown.by(results).charts["variants"]
    assert isinstance(hit, BarChart)
    assert [row.label for row in hit.rows] == ["vitis", "rvr"]


def test_variants_that_differ_in_several_parameters_at_once_are_bars_too(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    kept = [v for v in results.summary["variants"] if v["values"]["system.name"] == "vitis"]
    for variant in kept:
        friends = variant["values"]["system.parameters.friends"]
        parameters = {"links": "outgoing", "friends": friends} if friends < 12 else {"links": "both"}
        variant["values"] = {"system.parameters": parameters}
    results.summary["variants"] = kept
    (hit, *_) = Shown.by(results).charts["variants"]
    assert isinstance(hit, BarChart)
    assert list(variant_labels(kept).values()) == ["outgoing, friends 4", "outgoing, friends 8", "both"]


def test_spread_time_and_cost_are_drawn_for_every_variant(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    charts = Shown.by(results).charts
    for chart in [*charts["spread"][:-1], *charts["time"]]:
        assert isinstance(chart, LineChart)
        assert [one.label for one in chart.series][:2] == ["vitis, friends 4", "vitis, friends 8"]
    peers = charts["time"][0]
    assert isinstance(peers, LineChart) and [mark.text for mark in peers.marks] == ["flash crowd"]
    (cost,) = MAINTENANCE.draw(results)
    assert isinstance(cost, BarChart)
    assert list(cost.parts) == ["ProfileExchange", "Stay", "overlay: TManExchange", "overlay: ViewExchange"]
    assert len(cost.rows) == 6


def test_rates_of_hit_messages_are_means_over_the_seeds_and_zero_where_none_was_hit() -> None:
    points = _over_seeds([{(10.0, 15.0): 4.0, (20.0, 25.0): 2.0}, {(10.0, 15.0): 2.0}])
    assert [(point.x, point.y) for point in points] == [
        (7.5, 0.0),
        (12.5, 3.0),
        (17.5, 0.0),
        (22.5, 1.0),
        (27.5, 0.0),
    ]
    assert points[1].half == pytest.approx(12.706, rel=1e-4)  # t(1, .975) times 1.414 / sqrt 2


def test_a_long_label_of_a_bar_is_folded_and_leaves_room_for_the_value() -> None:
    name = "scribe-pastry, poisson, mean session 60 s, mean gap 20 s, loss 5 %"
    chart = bar_chart("n", "t", "a", Quantity("x"), ["x"], [Row(name, [1.0], 0.5), Row("chord", [2.0], 0.5)])
    assert chart is not None
    long, short = chart.rows
    assert " ".join(long.lines) == name and short.lines == ["chord"]
    assert max(map(len, long.lines)) + len(long.text) <= 56
    assert long.y >= 0, "no label is above the drawing"
    assert short.y > long.bar_y + chart.bar_height, "labels stand below the bar before them"
    assert long.bar_y - long.y > short.bar_y - short.y
