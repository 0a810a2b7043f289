"""Figures, sections and lines of the setting: what a report shows of a finished run, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.overlay_graph import OverlayGraph
from analysis.charts.results import Results

Chart = LineChart | BarChart
Part = Literal["variants", "spread", "time"]
"""The place of a figure: variant against variant; spread and cost; in time."""


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Charts of a finished run. Packages add theirs in the group `trellis.figures`."""

    draw: Callable[[Results], Iterable[Chart | None]]
    """The function that draws the charts; None stands for a chart without anything to show.

    `analysis.charts.chart.line_chart` and `analysis.charts.bars.bar_chart` make charts. The name of each, its
    anchor in the page, is not that of another one.
    """
    part: Part = "spread"

    def __post_init__(self) -> None:
        if self.part not in ("variants", "spread", "time"):
            raise ValueError(f'a figure has the part "{self.part}": say variants, spread or time')
        if not callable(self.draw):
            raise ValueError(f"a figure draws by {self.draw!r:.80}, which is no function")


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Lead(Text):
    """A sentence that the head of the report says too."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of a section: headings of its columns, and rows of text; the first column names the row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Block = Text | Rows | LineChart | BarChart | Drawing | OverlayGraph


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section of the report, after the figures. Packages add theirs in the group `trellis.sections`.

    It is left out if it has nothing to show. Its content is text, which the page escapes.
    """

    title: str
    write: Callable[[Results], Iterable[Block | None]]
    """The function that returns texts, tables, charts and drawings in the order in which they are shown."""
    short: str = ""
    """The title in the list of sections at the top; empty: the title itself."""
    name: str = ""
    """The anchor in the page. A package's section has the name of its entry point."""

    def __post_init__(self) -> None:
        if not (isinstance(self.title, str) and isinstance(self.short, str) and callable(self.write)):
            raise ValueError(f"the section {self.title!r:.80} needs a title of text and a function")


@dataclass(frozen=True, slots=True, eq=False)
class SettingLine:
    """A line of "What was run"."""

    title: str
    keys: Sequence[str]
    """The dotted keys of the experiment: what was varied at them, or below, is told in this line too."""
    text: Callable[[Mapping[str, Any]], str]
    """The function that says in words what was set, given `experiment.yaml` as plain data; empty if nothing
    was."""
