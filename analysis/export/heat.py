"""Draws heat maps for a paper: the value of each cell in it, the stronger in colour the larger it is."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts.heat_map import LEVELS, Grid, HeatMap
from analysis.charts.numerals import number, shown
from analysis.export.style import COLOURS, FONT_SIZE, INK, LINE

_SMALL: Final = 6.0
_CELL: Final = 0.36
"""The least width (inches) of a cell, into which a number fits."""
_DARK: Final = 5
"""The first shade on which numbers are white."""


def draw_heat_map(chart: HeatMap, width: float) -> Figure:
    """Return a figure of a width in inches. Grids stand beside each other as far as they fit."""
    columns = max(min(int(width / (_CELL * len(chart.columns) + 0.6)), len(chart.grids)), 1)
    rows = -(-len(chart.grids) // columns)
    height = rows * (len(chart.grids[0].rows) * LINE * 1.1 + 3 * LINE) + LINE
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for place, grid in zip(axes.flat, chart.grids, strict=False):
        _draw_grid(place, grid, chart)
    for place in axes.flat[len(chart.grids) :]:
        place.set_axis_off()
    figure.supxlabel(chart.column_key, fontsize=FONT_SIZE)
    figure.supylabel(chart.row_key, fontsize=FONT_SIZE)
    return figure


def _draw_grid(axes: Axes, grid: Grid, chart: HeatMap) -> None:
    for y, (_, cells) in enumerate(grid.rows):
        for x, cell in enumerate(cells):
            share = 0.0 if cell.level is None else (cell.level + 0.5) / LEVELS
            axes.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
                      facecolor=(COLOURS[0], share), edgecolor="white", linewidth=0.4)  # fmt: skip
            ink = "white" if (cell.level or 0) >= _DARK else INK
            text = number(None if cell.value is None else shown(cell.value, chart.unit))
            axes.text(x, y, text, ha="center", va="center", fontsize=_SMALL, color=ink)
    axes.set_xlim(-0.5, len(chart.columns) - 0.5)
    axes.set_ylim(len(grid.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(chart.columns)), chart.columns, fontsize=_SMALL)
    axes.set_yticks(range(len(grid.rows)), [row for row, _ in grid.rows], fontsize=_SMALL)
    axes.set_title(grid.title, fontsize=FONT_SIZE)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
