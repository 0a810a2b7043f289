"""Draws the delivery tree of an event for a paper: hops from left to right."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from analysis.charts.delivery_tree import Drawing, Spot
from analysis.charts.numerals import quantity
from analysis.export.style import COLOURS, INK, LINE, RULE, SOFT, dash

_SMALL: Final = 6.0
_UNITS_PER_INCH: Final = 210.0
"""The drawing units of the page that are an inch here, from top to bottom."""
_RIGHT: Final = 0.35
"""The room (inches) for the number of the last peer."""
_MARKERS: Final = {
    "publisher": ("s", INK),
    "subscriber": ("o", COLOURS[0]),
    "relay": ("D", COLOURS[1]),
}


def draw_tree(drawing: Drawing, width: float) -> Figure:
    """Return a figure of a width in inches, as high as its peers need."""
    height = drawing.height / _UNITS_PER_INCH + LINE * 2
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1 - LINE * 1.5 / height))
    axes.set_axis_off()
    deepest = max(depth for _, depth in drawing.columns)
    step = (width - _RIGHT - 0.12) / max(deepest, 1)
    axes.set_xlim(-0.12, width - 0.12)
    axes.set_ylim(drawing.height / _UNITS_PER_INCH, 0)
    for _, depth in drawing.columns:
        word = f"{depth} {'hop' if depth == 1 else 'hops'}"
        axes.axvline(depth * step, 0, 0.97, color=RULE, linewidth=0.5, zorder=0)
        ha = "center" if depth else "left"
        axes.text(depth * step, 0.02, word, fontsize=_SMALL, color=SOFT, ha=ha, va="top")
    places = {spot.node.peer: (spot.node.depth * step, spot.y / _UNITS_PER_INCH) for spot in drawing.spots}
    for spot in drawing.spots:
        _draw_spot(axes, spot, places, step)
    figure.legend(
        handles=[
            Line2D([], [], color=of, marker=shape, linestyle="", markersize=4, label=kind)
            for kind, (shape, of) in _MARKERS.items()
        ],
        loc="upper left", ncols=3, fontsize=_SMALL + 1, handletextpad=0.2, columnspacing=1,
    )  # fmt: skip
    return figure


def _draw_spot(axes: Axes, spot: Spot, places: dict[int, tuple[float, float]], step: float) -> None:
    node = spot.node
    x, y = places[node.peer]
    if node.sender is not None and node.sender in places:
        from_x, from_y = places[node.sender]
        bend = min(step * 0.4, 0.25)
        points = [
            (from_x, from_y),
            (from_x + bend, from_y),
            (from_x + bend * 0.4, y),
            (from_x + bend, y),
            (x, y),
        ]
        way = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO])
        of, line = (COLOURS[0], dash(0)) if node.interested else (COLOURS[1], dash(5))
        axes.add_patch(PathPatch(way, fill=False, edgecolor=of, linewidth=0.6, linestyle=line, zorder=1))
        delay = quantity(node.delay_ms, "ms")
        axes.annotate(delay, (x, y), (-4, 1.5), textcoords="offset points", fontsize=_SMALL - 1, ha="right")
    shape, fill = _MARKERS[node.kind]
    axes.plot(x, y, marker=shape, color=fill, markersize=4, zorder=2)
    axes.annotate(
        str(node.peer), (x, y), (4, -2), textcoords="offset points", fontsize=_SMALL,
        path_effects=[withStroke(linewidth=1.5, foreground="white")],
    )  # fmt: skip
