"""The figures of a run by their names."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.heat_map import HeatMap
from analysis.charts.overlay_graph import OverlayGraph
from analysis.charts.panels import Panels
from analysis.charts.results import Results
from analysis.charts.values import Drawn
from analysis.report.by_what_is_varied import shown_by_what_is_varied
from analysis.report.shown import Shown
from emulator.files.input_facts import counted


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure of the report."""

    id: str
    """The anchor in the report's page, which names its files."""
    title: str
    about: str
    chart: Drawn


def figures_of(results: Results, shown: Shown) -> dict[str, NamedFigure]:
    """Return all figures of a report by their names, in its order, as the page draws them.

    The drawing of a section has the name of the section, and a number from the second one on.
    """
    charts = [chart for part in shown.charts.values() for chart in shown_by_what_is_varied(results, part)]
    found = {chart.name: _named(chart) for chart in charts}
    for section in shown.sections:
        for block in (block for _, blocks in section.blocks for block in blocks):
            if isinstance(block, LineChart | BarChart | OverlayGraph):
                found[block.name] = _named(block)
            elif isinstance(block, Drawing) and block.is_measured:
                name = free_name(section.name, found)
                found[name] = NamedFigure(name, section.title, _of_tree(block), block)
    return found


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: `name`, or `name` with a number."""
    count = 1
    while (free := name if count == 1 else f"{name}-{count}") in taken:
        count += 1
    return free


def _named(chart: LineChart | BarChart | Panels | HeatMap | OverlayGraph) -> NamedFigure:
    about = chart.about
    if isinstance(chart, LineChart | BarChart):
        about = f"{about} {chart.of_paper}".strip()
    return NamedFigure(chart.name, chart.title, about, chart)


def _of_tree(drawing: Drawing) -> str:
    """Return which event a tree is of, and how many peers should have had it."""
    peers = counted(drawing.delivered, "peer")
    missed = f" {len(drawing.missed)} more should have received it." if drawing.missed else ""
    return (
        f"Event {drawing.tree.event} of trial {drawing.trial}: the first copy that each peer received, with "
        f"the time from its arrival at the sender. It was delivered to {peers}.{missed}"
    )
