"""The values of a chart as rows, for files and data frames.

Values are in the unit of the quantity: a share is between 0 and 1, though it is drawn in percent. `low` and
`high` are the ends of the 95 % confidence interval over seeds, as it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart, interval
from analysis.charts.delivery_tree import Drawing
from analysis.charts.heat_map import HeatMap
from analysis.charts.overlay_graph import OverlayGraph
from analysis.charts.panels import Panels

Cell = float | int | str

Drawn = LineChart | BarChart | Panels | HeatMap | Drawing | OverlayGraph
"""The forms in which a report draws a figure."""


@dataclass(frozen=True, slots=True)
class Values:
    """Rows of numbers and texts under headings."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def values_of(chart: Drawn) -> Values:
    """Return the values of a chart.

    A chart of lines has a row for each point: number and name of the series, x, y, low, high. A chart of
    bars has one for each segment: number and name of the bar and of the part, value, low, high. A delivery
    tree has one for each peer: the peer that sent to it, what it is, its hops from the publisher and the time
    (ms) from the sender's copy. The graph of an overlay has one for each link that is drawn, and a
    heat map one for each cell. `low` and `high` are left out where nothing has an interval.
    """
    match chart:
        case Panels():
            return _of_lines(chart.whole)
        case HeatMap():
            return _of_heat_map(chart)
        case OverlayGraph():
            links = [(each.label, *pair) for each in chart.links for pair in each.pairs]
            return Values(("kind", "peer", "neighbour"), links)
        case Drawing():
            return _of_tree(chart)
        case LineChart():
            return _of_lines(chart)
    return _of_bars(chart)


def _of_lines(chart: LineChart) -> Values:
    unit = chart.quantities[1].unit
    has_intervals = any(p.half is not None for one in chart.lines for p in one.points)
    rows: list[Sequence[Cell]] = []
    for number, one in enumerate(chart.lines):
        for p in one.points:
            ends: tuple[float, ...] = ()
            if has_intervals:
                low, high = interval(p.y, p.half, unit)
                ends = (nan, nan) if p.half is None else (low, high)
            rows.append((number, one.label, p.x, p.y, *ends))
    return Values(("number", "series", "x", "y", *(("low", "high") if has_intervals else ())), rows)


def _of_bars(chart: BarChart) -> Values:
    unit = chart.quantity.unit
    has_intervals = any(row.half is not None for row in chart.bars)
    rows: list[Sequence[Cell]] = []
    for number, row in enumerate(chart.bars):
        ends: tuple[float, ...] = ()
        if has_intervals:
            low, high = interval(sum(row.values), row.half, unit)
            ends = (nan, nan) if row.half is None else (low, high)
        for part, value in enumerate(row.values):
            rows.append((number, row.label, part, chart.parts[part], value, *ends))
    columns = ("number", "bar", "part_number", "part", "value")
    return Values((*columns, *(("low", "high") if has_intervals else ())), rows)


def _of_heat_map(chart: HeatMap) -> Values:
    rows = [
        (grid.title, row, column, nan if cell.value is None else cell.value)
        for grid in chart.grids
        for row, cells in grid.rows
        for column, cell in zip(chart.columns, cells, strict=True)
    ]
    return Values(("setting", "row", "column", "value"), rows)


def _of_tree(drawing: Drawing) -> Values:
    nodes = [] if not drawing.is_measured else drawing.tree.nodes
    rows = [(n.peer, "" if n.sender is None else n.sender, n.kind, n.depth, n.delay_ms) for n in nodes]
    return Values(("peer", "sender", "kind", "hops", "delay_ms"), rows)
