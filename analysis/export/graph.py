"""Draws the graph of an overlay for a paper: a square with its kinds of links below."""

from __future__ import annotations

from typing import Final

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.charts.numerals import number
from analysis.charts.overlay_graph import OverlayGraph
from analysis.export.style import INK, colour, legend_columns, legend_height

_POINTS: Final = 0.3
"""The size (points) of a dot for each drawing unit of its radius on the page, in a figure an inch wide."""


def draw_graph(graph: OverlayGraph, width: float) -> Figure:
    """Return a figure of a width in inches."""
    labels = [f"{each.label}, {number(len(each.pairs))}" for each in graph.links]
    figure = Figure(figsize=(width, width + legend_height(labels, width)), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-1.04, 1.04)
    axes.set_ylim(1.04, -1.04)
    for each in graph.links:
        lines = [[graph.places[one], graph.places[two]] for one, two in each.pairs]
        thick, strong = (0.2, 0.3) if each.faint else (0.35, 0.55)
        axes.add_collection(LineCollection(lines, colors=[(colour(each.style), strong)], linewidths=thick))
    xs, ys = zip(*graph.places.values(), strict=True)
    size = _POINTS * graph.radius * width
    axes.plot(xs, ys, linestyle="", marker="o", color=INK, markersize=size, markeredgewidth=0)
    keys = [
        Line2D([], [], color=colour(each.style), linewidth=1, label=label)
        for each, label in zip(graph.links, labels, strict=True)
    ]
    figure.legend(handles=keys, loc="outside lower left", ncols=legend_columns(labels, width))
    return figure
