"""Small multiples: the series of a chart of lines in panels with the same axes, where one drawing has too
many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from analysis.charts.axis import Axis
from analysis.charts.chart import Column, LineChart, drawn_series
from analysis.charts.limits import across
from analysis.charts.numerals import number
from analysis.charts.time_line import DrawnMoves, Mark, drawn_marks, drawn_moves, height_of, is_one_of

_WIDTH: Final = 270
_LEFT, _RIGHT, _TOP, _PLOT, _BOTTOM = 44, 10, 28, 140, 46

_LABEL: Final = 36
"""The most letters of a title that fit under a panel."""
_LETTERS: Final = 27
"""The most letters that fit above one."""


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a series: the numbers of its colour and of its dashes, and what they stand for."""

    label: str
    colour: int
    dash: int


@dataclass(frozen=True, slots=True)
class Panels:
    """The panels of a chart. What the styles stand for is told once for all of them."""

    name: str
    title: str
    about: str
    charts: list[LineChart]
    legend: list[Style]
    whole: LineChart
    """The chart without panels, for those who draw elsewhere."""


def panels(chart: LineChart, places: Sequence[tuple[str, Style]]) -> Panels:
    """Return a chart in panels. `places` has the title of the panel and the style of each series."""
    members: dict[str, list[int]] = {}
    for i, (title, _) in enumerate(places):
        members.setdefault(title, []).append(i)
    x = replace(chart.x, start=_LEFT, end=_WIDTH - _RIGHT)
    of_panels = {title: _moves(chart, x, members[title]) for title in members}
    above = max(map(height_of, of_panels.values()))
    charts = [
        _panel(chart, f"{chart.name}-{number}", title, members[title], places, of_panels[title], above)
        for number, title in enumerate(members, 1)
    ]
    about = chart.about
    if len(chart.x.label) > _LABEL:
        about = f"{about} The horizontal axis has the {chart.x.label}."
    if chart.moments:
        about = f"{about} Marked are: {', '.join(_told(mark) for mark in chart.moments)}."
    if above:
        about = f"{about} Above each panel are joins (up) and leaves (down), with the most in a second."
    about = f"{about} {chart.of_paper}".strip()
    legend = list(dict.fromkeys(style for _, style in places))
    return Panels(chart.name, chart.title, about, charts, legend, chart)


def _panel(
    chart: LineChart,
    name: str,
    title: str,
    members: Sequence[int],
    places: Sequence[tuple[str, Style]],
    moves: Sequence[DrawnMoves],
    above: int,
) -> LineChart:
    """Return a panel whose plot is `above` deeper, as deep as those of the others."""
    label = chart.x.label if len(chart.x.label) <= _LABEL else ""
    x = replace(chart.x, label=label, start=_LEFT, end=_WIDTH - _RIGHT)
    top = _TOP + above
    y = replace(chart.y, start=top + _PLOT, end=top)
    lines = [replace(chart.lines[i], label=places[i][1].label) for i in members]
    units = (chart.quantities[0].unit, chart.quantities[1].unit)
    own = {chart.lines[i].label for i in members}
    limits = [each for each in chart.limits if each.series & own]
    moments = [mark for mark in chart.moments if any(map(mark.is_of, own))]
    drawn = [
        replace(
            drawn_series(line, "", places[i][1].colour, places[i][1].dash, (x, y), units),
            shown=True, of=chart.lines[i].label,
        )
        for i, line in zip(members, lines, strict=True)
    ]  # fmt: skip
    return replace(
        chart, name=name, title=title, about="", x=x, y=y, x_ticks=x.ticks(4), series=drawn,
        columns=[column for one in chart.columns if (column := _column(one, members, x)) is not None],
        marks=[replace(mark, text_at=None) for mark in drawn_marks(moments, x)], moments=moments,
        limits=limits, drawn_limits=[across(each, (x, y), units) for each in limits],
        lines=lines, moves=moves, width=_WIDTH, height=top + _PLOT + _BOTTOM,
    )  # fmt: skip


def _moves(chart: LineChart, x: Axis, members: Sequence[int]) -> list[DrawnMoves]:
    """Return the joins and leaves of the settings of a panel's series."""
    own = [chart.lines[i].label for i in members]
    of_panel = [each for each in chart.sessions if any(is_one_of(label, each.variants) for label in own)]
    return drawn_moves(of_panel, x, 0, _LETTERS)


def _told(mark: Mark) -> str:
    """Return a mark with its times, as a panel has no room for its word."""
    until = "" if mark.until is None else f" to {number(mark.until)}"
    return f"{mark.text} ({number(mark.at)}{until} s)"


def _column(column: Column, members: Sequence[int], x: Axis) -> Column | None:
    """Return the values of a panel's series at one x, None if none has any."""
    values = [column.values[i] for i in members]
    if not any(value is not None for value in values):
        return None
    return replace(column, at=x.place(column.x), values=values, numbers=[column.numbers[i] for i in members])
