"""Draws any chart of a report with matplotlib."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.overlay_graph import OverlayGraph
from analysis.export.bars import draw_bars
from analysis.export.graph import draw_graph
from analysis.export.lines import draw_lines
from analysis.export.style import file_of, style
from analysis.export.tree import draw_tree


def draw(chart: LineChart | BarChart | Drawing | OverlayGraph, width: float) -> Figure:
    """Return a figure of a width in inches. To be called in `style`, which also has to be in force when the
    figure is written."""
    if isinstance(chart, OverlayGraph):
        return draw_graph(chart, width)
    if isinstance(chart, LineChart):
        return draw_lines(chart, width)
    return draw_bars(chart, width) if isinstance(chart, BarChart) else draw_tree(chart, width)


def drawn_file(chart: LineChart | BarChart | Drawing | OverlayGraph, kind: str, width: float) -> bytes:
    """Return a chart as a file, `svg` or `pdf`, of a width in inches."""
    with style():
        return file_of(draw(chart, width), kind)
