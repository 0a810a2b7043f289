"""Draws a chart of bars for a paper; a whisker is the interval over seeds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.charts.bars import BarChart
from analysis.charts.chart import interval
from analysis.charts.numerals import shown
from analysis.export.style import (
    HATCHES,
    INK,
    LINE,
    PAPER,
    PAPER_REACH,
    colour,
    legend_columns,
    legend_height,
    letters,
    mark_ticks,
)

_ROW: Final = 0.31
"""The height (inches) of a bar with a label of one line."""
_NEXT: Final = 0.13
"""The height (inches) of each further line."""
_THICK: Final = 0.42
"""The thickness of a bar, as a share of such a row."""
_LEAST_LETTERS: Final = 10


def folded_names(chart: BarChart, width: float) -> list[list[str]]:
    """Return the lines of each bar's label, which leave room for the value in a width in inches."""
    room = letters(width - 0.2) - max(len(laid_out.text) for laid_out in chart.rows)
    return [textwrap.wrap(row.label, max(room, _LEAST_LETTERS)) or [""] for row in chart.bars]


def height_of_row(names: Sequence[Sequence[str]]) -> float:
    """Return the height (inches) of a bar below the highest of these labels."""
    return _ROW + _NEXT * (max(map(len, names), default=1) - 1)


def draw_bars(chart: BarChart, width: float) -> Figure:
    """Return a figure of a width in inches, as high as its bars need."""
    several = len(chart.parts) > 1
    labels = ["\n".join(textwrap.wrap(part, letters(width - 0.6))) or part for part in chart.parts]
    names = folded_names(chart, width)
    row_height = height_of_row(names)
    thick = _THICK * height_of_row([]) / row_height
    height = row_height * len(chart.bars) + 3 * LINE + (legend_height(labels, width) if several else 0)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    unit = chart.quantity.unit
    for number, (row, laid_out) in enumerate(zip(chart.bars, chart.rows, strict=True)):
        left = 0.0
        for part, value in enumerate(row.values):
            style = laid_out.segments[part].style
            axes.barh(
                number, shown(value, unit), thick, left, facecolor=(colour(style), 0.28),
                edgecolor=colour(style), hatch=HATCHES[style % 8], linewidth=0.7,
            )  # fmt: skip
            left += shown(value, unit)
        if row.half:
            low, high = (shown(end, unit) for end in interval(sum(row.values), row.half, unit))
            reach = [[max(left - low, 0)], [max(high - left, 0)]]
            axes.errorbar(left, number, xerr=reach, color=INK, linewidth=0.8, capsize=2, capthick=0.8)
        for each in row.limits:
            ends = [shown(end, unit) for end in each.ends]
            sides = (number - PAPER_REACH, number + PAPER_REACH)
            axes.vlines(ends, *sides, color=INK, linewidth=0.8, linestyle=PAPER)
            if len(ends) > 1:
                axes.hlines(sides, ends[0], ends[1], color=INK, linewidth=0.8, linestyle=PAPER)
            else:
                axes.plot(ends, [number], ">" if each.high is None else "<", color=INK, markersize=3)
        above = number - 0.5
        axes.text(
            0,
            above,
            "\n".join(f" {line}" for line in names[number]),
            transform=axes.get_yaxis_transform(),
            va="center",
        )
        axes.text(1, above, laid_out.text, transform=axes.get_yaxis_transform(), va="center", ha="right")
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(len(chart.bars) - 0.6, thick / 2 - 1.01)
    axes.set_xlabel(chart.x.label)
    mark_ticks(axes, [(tick.value, tick.text) for tick in chart.x_ticks], "x")
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    if several:
        keys = [
            Patch(facecolor=(colour(i), 0.28), edgecolor=colour(i), hatch=HATCHES[i % 8], label=label)
            for i, label in enumerate(labels)
        ]
        columns = legend_columns(labels, width)
        figure.legend(handles=keys, loc="outside upper left", ncols=columns, columnspacing=1.2)
    return figure
