"""Bars, one row each: a value with its interval, or a sum of segments."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.charts.axis import Axis, Tick, span
from analysis.charts.chart import WIDTH, Quantity, interval
from analysis.charts.limits import DrawnLimits, Limits, told, upright
from analysis.charts.numerals import is_share, shown

_LEFT, _RIGHT, _TOP, _ROW, _BOTTOM = 8, 28, 10, 42, 48
_BAR_TOP, BAR_HEIGHT = 18, 15
_LINE = 16
"""The height of each further line of the labels."""
_LETTER = 8
"""The width of a letter, as it is on a phone."""
_LEAST_LETTERS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One bar: a value for each part (one part: a plain bar) and the half width of its interval."""

    label: str
    values: Sequence[float]
    half: float | None = None
    style: int | None = None
    """The style of a plain bar; None: its number."""
    limits: Sequence[Limits] = ()
    """The values that a paper's numbers allow this bar to have."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar, ready to draw."""

    x: float
    width: float
    style: int
    text: str


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A bar, ready to draw; `y` is the top of its label."""

    label: str
    lines: list[str]
    """The label in as many lines as it needs beside the value."""
    y: float
    bar_y: float
    segments: list[Segment]
    whisker: tuple[float, float] | None
    text: str
    values: list[str]
    limits: list[DrawnLimits]


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of horizontal bars. With several parts, each part has a style; with one, each row has."""

    name: str
    title: str
    about: str
    x: Axis
    x_ticks: list[Tick]
    parts: list[str]
    rows: list[DrawnRow]
    height: int
    bars: Sequence[Row]
    """The bars as they were given, for those who draw elsewhere."""
    quantity: Quantity
    width: int = WIDTH
    bar_height: int = BAR_HEIGHT

    @property
    def of_paper(self) -> str:
        """The sentence on the limits in the chart."""
        return told(limits for bar in self.bars for limits in bar.limits)


def bar_chart(
    name: str, title: str, about: str, x: Quantity, parts: Sequence[str], rows: Sequence[Row]
) -> BarChart | None:
    """Lay out bars; None if there are none. `parts` names the segments (one, unnamed: plain bars)."""
    if not rows:
        return None
    ends = [shown(sum(row.values) + (row.half or 0), x.unit) for row in rows]
    ends += [shown(end, x.unit) for row in rows for each in row.limits for end in each.ends]
    low, high = span(ends, at_most=100.0 if is_share(x.unit) else None)
    axis = Axis(x.label, low, high, _LEFT, WIDTH - _RIGHT)
    room = (axis.end - axis.start) // _LETTER - max(len(x.text(sum(row.values), row.half)) for row in rows)
    labels = [textwrap.wrap(row.label, max(int(room), _LEAST_LETTERS)) or [""] for row in rows]
    more = _LINE * (max(map(len, labels)) - 1)
    return BarChart(
        name, title, about, axis, axis.ticks(5), list(parts),
        [_draw(index, row, parts, axis, x, labels[index], more) for index, row in enumerate(rows)],
        _TOP + (_ROW + more) * len(rows) + _BOTTOM,
        list(rows), x,
    )  # fmt: skip


def _draw(
    index: int, row: Row, parts: Sequence[str], axis: Axis, x: Quantity, label: list[str], more: int
) -> DrawnRow:
    """Return a bar below its label. `more` is the height that the labels have beside that of one line."""
    segments, total = [], 0.0
    for part, value in enumerate(row.values):
        left, right = axis.place(shown(total, x.unit)), axis.place(shown(total + value, x.unit))
        total += value
        style = part if len(parts) > 1 else index if row.style is None else row.style
        where = f"{row.label}, {parts[part]}" if len(parts) > 1 else row.label
        segments.append(Segment(left, round(right - left, 1), style, f"{where}: {x.text(value)}"))
    whisker = None
    if row.half:
        low, high = interval(total, row.half, x.unit)
        whisker = axis.place(axis.clip(shown(low, x.unit))), axis.place(axis.clip(shown(high, x.unit)))
    y = _TOP + (_ROW + more) * index
    top = y + _BAR_TOP + more
    return DrawnRow(
        row.label,
        label,
        y + more - _LINE * (len(label) - 1),
        top,
        segments,
        whisker,
        x.text(total, row.half),
        [x.text(v) for v in row.values],
        [upright(each, axis, x.unit, top - 2, top + BAR_HEIGHT + 2) for each in row.limits],
    )
