"""Draws any figure of a report with matplotlib."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.heat_map import HeatMap
from analysis.charts.overlay_graph import OverlayGraph
from analysis.charts.panels import Panels
from analysis.charts.values import Drawn
from analysis.export.bars import draw_bars
from analysis.export.graph import draw_graph
from analysis.export.heat import draw_heat_map
from analysis.export.lines import draw_lines
from analysis.export.panels import draw_panels
from analysis.export.style import file_of, style
from analysis.export.tree import draw_tree


def draw(chart: Drawn, width: float) -> Figure:
    """Return a figure of a width in inches. To be called in `style`, which also has to be in force when the
    figure is written."""
    match chart:
        case LineChart():
            return draw_lines(chart, width)
        case BarChart():
            return draw_bars(chart, width)
        case Panels():
            return draw_panels(chart, width)
        case HeatMap():
            return draw_heat_map(chart, width)
        case OverlayGraph():
            return draw_graph(chart, width)
    return draw_tree(chart, width)


def drawn_file(chart: Drawn, kind: str, width: float) -> bytes:
    """Return a chart as a file, `svg` or `pdf`, of a width in inches."""
    with style():
        return file_of(draw(chart, width), kind)
