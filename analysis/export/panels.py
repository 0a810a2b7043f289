"""Draws small multiples for a paper: panels with the same axes, and above them what the lines stand for."""

from __future__ import annotations

import textwrap
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.charts.panels import Panels
from analysis.export.lines import draw_into
from analysis.export.style import (
    FONT_SIZE,
    LINE,
    colour,
    dash,
    legend_columns,
    legend_height,
    letters,
    marker,
)

LEAST: Final = 1.5
"""The least width (inches) of a panel."""
_HEIGHT: Final = 1.1


def columns_of(panels: Panels, width: float) -> int:
    """Return how many panels stand beside each other in a width in inches."""
    return max(min(int(width / LEAST), len(panels.charts)), 1)


def draw_panels(panels: Panels, width: float) -> Figure:
    """Return a figure of a width in inches, as high as its panels need."""
    columns = columns_of(panels, width)
    rows = -(-len(panels.charts) // columns)
    labels = [style.label for style in panels.legend]
    several = len(labels) > 1
    titles = [textwrap.wrap(chart.title, letters(width / columns - 0.3)) for chart in panels.charts]
    height = rows * (_HEIGHT + LINE * max(map(len, titles))) + 2 * LINE
    figure = Figure(
        figsize=(width, height + (legend_height(labels, width) if several else 0)), layout="constrained"
    )
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, chart in zip(axes.flat, panels.charts, strict=False):
        draw_into(place, chart)
        place.set_xlabel("")
        place.set_ylabel("")
    for place, title in zip(axes.flat, titles, strict=False):
        place.set_title("\n".join(title), fontsize=FONT_SIZE)
    for place in axes.flat[len(panels.charts) :]:
        place.set_axis_off()
    for place in list(axes.flat[: len(panels.charts)])[-columns:]:
        place.tick_params(labelbottom=True)
    figure.supxlabel(panels.whole.x.label, fontsize=FONT_SIZE)
    figure.supylabel(panels.whole.y.label, fontsize=FONT_SIZE)
    if several:
        looks: list[dict[str, Any]] = [
            {"color": colour(style.colour), "marker": marker(style.colour), "linestyle": dash(style.dash)}
            for style in panels.legend
        ]
        keys = [Line2D([], [], label=label, **look) for label, look in zip(labels, looks, strict=True)]
        columns = legend_columns(labels, width)
        figure.legend(handles=keys, loc="outside upper left", ncols=columns, handlelength=2.6)
    return figure
