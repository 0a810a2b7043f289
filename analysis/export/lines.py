"""Draws a chart of lines for a paper: intervals over seeds are bands."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts.axis import Tick
from analysis.charts.chart import DrawnSeries, LineChart, Series, interval
from analysis.charts.limits import LimitsOver
from analysis.charts.numerals import shown
from analysis.charts.time_line import Mark
from analysis.export.style import (
    INK,
    PAPER,
    SOFT,
    colour,
    dash,
    legend_columns,
    legend_height,
    letters,
    mark_ticks,
    marker,
)

_RATIO: Final = 0.62
"""The height of the drawing without its legend, as a share of its width."""


def draw_lines(chart: LineChart, width: float) -> Figure:
    """Return a figure of a width in inches. It has the series that the page shows at first."""
    series = shown_series(chart)
    labels = [_folded(one.label, width) for _, one in series]
    several = len(series) > 1
    height = width * _RATIO + (legend_height(labels, width) if several else 0)
    figure = Figure(figsize=(width, height), layout="constrained")
    draw_into(figure.subplots(), chart, labels)
    if several:
        figure.legend(
            loc="outside upper left", ncols=legend_columns(labels, width), handlelength=2.6, columnspacing=1.2
        )
    return figure


def draw_into(axes: Axes, chart: LineChart, labels: Sequence[str] = ()) -> None:
    """Draw the shown series of a chart, with these labels if there are any."""
    if chart.x.logarithmic:
        axes.set_xscale("log")
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(chart.y.low, chart.y.high)
    axes.set_xlabel(chart.x.label)
    axes.set_ylabel(chart.y.label)
    mark_ticks(axes, _pairs(chart.x_ticks), "x")
    mark_ticks(axes, _pairs(chart.y.ticks()), "y")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    for mark in chart.moments:
        _draw_mark(axes, mark, chart)
    for each in chart.limits:
        _draw_limits(axes, each, chart)
    for place, (number, one) in enumerate(shown_series(chart)):
        laid_out = chart.series[number]
        _draw_series(axes, one, laid_out, labels[place] if labels else "_", chart)


def shown_series(chart: LineChart) -> list[tuple[int, Series]]:
    """Return the series that are shown at first, with their numbers; those without any point are left out."""
    return [
        (number, one)
        for number, (one, laid_out) in enumerate(zip(chart.lines, chart.series, strict=True))
        if laid_out.shown and one.points
    ]


def left_out(chart: LineChart) -> list[str]:
    """Return the names of the series that have points and are not drawn."""
    drawn = {number for number, _ in shown_series(chart)}
    return [one.label for number, one in enumerate(chart.lines) if one.points and number not in drawn]


def _draw_series(axes: Axes, one: Series, laid_out: DrawnSeries, label: str, chart: LineChart) -> None:
    number = laid_out.style
    x, y = chart.quantities
    xs = [shown(p.x, x.unit) for p in one.points]
    ys = [shown(p.y, y.unit) for p in one.points]
    if any(p.half for p in one.points):
        ends = [interval(p.y, p.half, y.unit) for p in one.points]
        lows, highs = ([shown(end[i], y.unit) for end in ends] for i in (0, 1))
        if len(xs) > 1:
            axes.fill_between(xs, lows, highs, color=colour(number), alpha=0.2, linewidth=0)
        else:
            axes.vlines(xs, lows, highs, color=colour(number), linewidth=0.8)
    every = max(len(xs) // 8, 1)
    if one.curve and xs[-1] < chart.x.high:
        xs, ys = [*xs, chart.x.high], [*ys, ys[-1]]
    axes.plot(
        xs, ys, label=label, color=colour(number), linestyle=dash(laid_out.dash), marker=marker(number),
        markevery=(number * every // 8 % len(xs), every), markeredgecolor="white", markeredgewidth=0.4,
        clip_on=False,
    )  # fmt: skip


def _draw_mark(axes: Axes, mark: Mark, chart: LineChart) -> None:
    """Draw what began at a time: a line with its word along it, and a band as long as it lasted."""
    until = mark.at if mark.until is None else mark.until
    if until < chart.x.low or mark.at > chart.x.high:
        return
    left, right = chart.x.clip(mark.at), chart.x.clip(until)
    if right > left:
        axes.axvspan(left, right, color=SOFT, alpha=0.13, linewidth=0)
    axes.axvline(left, color=SOFT, linewidth=0.6, linestyle=(0, (3, 3)))
    axes.annotate(
        mark.text, (left, 0), (2, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
        rotation=90, ha="left", va="bottom", color=SOFT, fontsize=6.5,
    )  # fmt: skip


def _draw_limits(axes: Axes, over: LimitsOver, chart: LineChart) -> None:
    """Draw the values that a paper's number allows: an outline, or a line with arrows to where they lie."""
    x, y = chart.quantities
    first, last = (shown(at, x.unit) for at in (over.first, over.last))
    ends = [shown(end, y.unit) for end in over.limits.ends]
    axes.hlines(ends, first, last, color=INK, linewidth=0.8, linestyle=PAPER)
    if len(ends) > 1:
        axes.vlines([first, last], ends[0], ends[1], color=INK, linewidth=0.8, linestyle=PAPER)
    else:
        towards = "^" if over.limits.high is None else "v"
        axes.plot([first, last], [ends[0]] * 2, towards, color=INK, markersize=3, clip_on=False)


def _pairs(ticks: list[Tick]) -> list[tuple[float, str]]:
    return [(tick.value, tick.text) for tick in ticks]


def _folded(label: str, width: float) -> str:
    """Return a label in as many lines as it needs beside its sample."""
    return "\n".join(textwrap.wrap(label, letters(width - 0.6))) or label
