"""Charts as geometry: what a template needs to draw lines and bars, show values and list them.

A drawing is about as wide as a phone, so that its text stays readable there; `templates/chart.html` draws it.
Series differ in colour, dash pattern, marker and hatching, by `style` (0, 1, ...).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from analysis.charts.axis import Axis, Tick, span
from analysis.charts.limits import DrawnLimits, LimitsOver, across, told
from analysis.charts.numerals import estimate, is_share, quantity, shown, shown_unit, unit_beside
from analysis.charts.time_line import DrawnMark, DrawnMoves, Mark, Moves, time_line

WIDTH = 480
_LEFT, _TOP, _PLOT, _BOTTOM = 46, 34, 232, 50
_LOG_MARGIN = 1.15
_LABEL_LENGTH = 13
_LABEL_STEP = 14
SHOWN_AT_FIRST = 6
"""The most series that a chart shows at first."""
_TABLE_ROWS = 12
_MOST_WHISKERS = 24
"""Whiskers at more points would cover each other."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with the half width of its confidence interval, if it has one."""

    x: float
    y: float
    half: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A series of values in the order of x. A `curve` has values between its points too, other series only at
    them."""

    label: str
    points: Sequence[Point]
    curve: bool = False

    def at(self, x: float) -> Point | None:
        """Return the value at `x`; a curve is interpolated, and stays at its last value."""
        index = bisect_right(self.points, x, key=lambda p: p.x) - 1
        if index < 0 or (not self.curve and self.points[index].x != x):
            return None
        before, *after = self.points[index : index + 2]
        if not after or before.x == x:
            return before
        share = (x - before.x) / (after[0].x - before.x)
        half = None
        if before.half is not None and after[0].half is not None:
            half = before.half + share * (after[0].half - before.half)
        return Point(x, before.y + share * (after[0].y - before.y), half)


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity that an axis shows; shares become percent."""

    title: str
    unit: str = ""

    @property
    def label(self) -> str:
        unit = unit_beside(self.title, self.unit)
        return f"{self.title}, {unit}" if unit and unit not in self.title else self.title

    def text(self, value: float, half: float | None = None) -> str:
        if half is None:
            return quantity(value, self.unit)
        unit = shown_unit(self.unit)
        return estimate(value, half, self.unit) + (f"\N{NO-BREAK SPACE}{unit}" if unit else "")


@dataclass(frozen=True, slots=True)
class DrawnSeries:
    """One series of a line chart, ready to draw."""

    label: str
    tag: str
    """The text at the end of the line: the label if it is short, or else a letter."""
    style: int
    """The number of the colour and of the marker."""
    dash: int
    path: str
    markers: list[tuple[float, float]]
    whiskers: list[tuple[float, float, float]]
    """The intervals at few points."""
    band: str
    """The outline of the intervals at many points, or ""."""
    tag_at: tuple[float, float]
    shown: bool
    of: str = ""
    """The label in the whole chart, where `label` is one of a panel."""


@dataclass(frozen=True, slots=True)
class Column:
    """The values of all series at one x, for the pointer and for the table."""

    at: float
    text: str
    values: list[str | None]
    numbers: list[tuple[float, ...] | None]
    """The values as they are shown, each with the ends of its interval if it has one."""
    x: float
    """The position on the scale of the axis."""


@dataclass(frozen=True, slots=True)
class LineChart:
    """Series over a common x axis."""

    name: str
    title: str
    about: str
    x: Axis
    y: Axis
    x_ticks: list[Tick]
    series: list[DrawnSeries]
    columns: list[Column]
    marks: list[DrawnMark]
    lines: Sequence[Series]
    """The series as they were given, for those who draw elsewhere; so are `moments`."""
    moments: Sequence[Mark]
    quantities: tuple[Quantity, Quantity]
    """The quantities that the x axis and the y axis show."""
    moves: Sequence[DrawnMoves] = ()
    sessions: Sequence[Moves] = ()
    """The joins and leaves of each setting as they were given; `moves` are those that are drawn."""
    limits: Sequence[LimitsOver] = ()
    """The values that a paper's numbers allow, as they were given; `drawn_limits` has them laid out."""
    drawn_limits: Sequence[DrawnLimits] = ()
    width: int = WIDTH
    height: int = _TOP + _PLOT + _BOTTOM

    @property
    def of_paper(self) -> str:
        """The sentence on the limits in the chart."""
        return told(each.limits for each in self.limits)

    @property
    def rows(self) -> list[Column]:
        """The columns of the chart that become rows of its table: at most a dozen, evenly chosen."""
        count = len(self.columns)
        if count <= _TABLE_ROWS:
            return self.columns
        return [self.columns[i * (count - 1) // (_TABLE_ROWS - 1)] for i in range(_TABLE_ROWS)]


def line_chart(
    name: str,
    title: str,
    about: str,
    x: Quantity,
    y: Quantity,
    series: Sequence[Series],
    *,
    from_zero: bool = True,
    x_text: Callable[[float], str] | None = None,
    x_logarithmic: bool = False,
    marks: Sequence[Mark] = (),
    moves: Sequence[Moves] = (),
    limits: Sequence[LimitsOver] = (),
) -> LineChart | None:
    """Lay out a chart of lines; None if no series has a point. Points have to be in the order of x.

    Words of `marks`, and `moves`, stand above the plot. `limits` are the values that a paper's numbers allow.
    """
    if not any(one.points for one in series):
        return None
    tags = _tags([one.label for one in series])
    right = WIDTH - 12 - max(9 * len(tag) for tag in tags) - 8
    points = [p for one in series for p in one.points]
    edges = [shown(edge, y.unit) for p in points for edge in interval(p.y, p.half, y.unit)]
    edges += [shown(end, y.unit) for each in limits for end in each.limits.ends]
    low, high = span(edges, from_zero, 100.0 if is_share(y.unit) else None)
    xs = sorted({shown(p.x, x.unit) for p in points})
    few = len(xs) <= _MOST_WHISKERS and not any(one.curve for one in series)
    margin = (xs[-1] - xs[0]) * 0.04 if few else 0.0
    if any(one.curve for one in series):
        xs = [min(xs[0], 0.0), *xs]
    x_low, x_high = (xs[0] - margin, xs[-1] + margin) if xs[-1] > xs[0] else (xs[0] - 1, xs[0] + 1)
    if x_logarithmic:
        x_low, x_high = xs[0] / _LOG_MARGIN, xs[-1] * _LOG_MARGIN
    x_axis = Axis(x.label, x_low, x_high, _LEFT, right, x_logarithmic)
    above = time_line(marks, moves, x_axis)
    top = _TOP + above.height
    y_axis = Axis(y.label, low, high, top + _PLOT, top)
    drawn = [
        drawn_series(one, tag, style, (style + style // 8) % 8, (x_axis, y_axis), (x.unit, y.unit))
        for style, (one, tag) in enumerate(zip(series, tags, strict=True))
    ]
    write_x = x_text or x.text
    return LineChart(
        name, title, about, x_axis, y_axis,
        _x_ticks(x_axis, xs if few else []),
        _spread(drawn, top),
        [_column(at, series, x_axis, x, y, write_x) for at in _positions(series)],
        above.marks,
        list(series), list(marks), (x, y), above.moves,
        moves, limits, [across(each, (x_axis, y_axis), (x.unit, y.unit)) for each in limits],
        height=top + _PLOT + _BOTTOM,
    )  # fmt: skip


def interval(value: float, half: float | None, unit: str) -> tuple[float, float]:
    """Return the ends of the interval that are drawn: neither is below 0, nor is that of a share above 1,
    unless the value itself is."""
    low, high = value - (half or 0), value + (half or 0)
    return (max(low, 0.0) if value >= 0 else low), (min(high, 1.0) if is_share(unit) and value <= 1 else high)


def numbers(point: Point, unit: str) -> tuple[float, ...]:
    """Return a value as it is shown, to six digits, with the ends of its interval if it has one."""
    found = (point.y, *(interval(point.y, point.half, unit) if point.half is not None else ()))
    return tuple(float(f"{shown(value, unit):.6g}") for value in found)


def _tags(labels: Sequence[str]) -> list[str]:
    if len(labels) == 1:
        return [""]
    if max(map(len, labels)) <= _LABEL_LENGTH:
        return list(labels)
    return [chr(ord("A") + i % 26) * (1 + i // 26) for i in range(len(labels))]


def drawn_series(
    one: Series, tag: str, style: int, dash: int, axes: tuple[Axis, Axis], units: tuple[str, str]
) -> DrawnSeries:
    """Lay out a series on the x axis and the y axis, whose values have these units."""
    (x_axis, y_axis), (x_unit, y_unit) = axes, units
    spots = [(x_axis.place(shown(p.x, x_unit)), y_axis.place(shown(p.y, y_unit))) for p in one.points]
    path = "".join(f"{'L' if i else 'M'}{left:g} {top:g}" for i, (left, top) in enumerate(spots))
    if one.curve and spots:
        path += f"H{x_axis.end:g}"
    every = max(len(spots) // 8, 1)
    ends = list[tuple[float, float, float]]()
    for p, (left, _) in zip(one.points, spots, strict=True):
        low, high = (y_axis.place(y_axis.clip(shown(edge, y_unit))) for edge in interval(p.y, p.half, y_unit))
        ends.append((left, low, high))
    whiskers, band = list[tuple[float, float, float]](), ""
    if any(p.half for p in one.points):
        if one.curve or len(spots) > _MOST_WHISKERS:
            if one.curve:
                ends.append((x_axis.end, ends[-1][1], ends[-1][2]))
            edges = [(left, high) for left, _, high in ends] + [(left, low) for left, low, _ in ends[::-1]]
            band = "M" + "L".join(f"{left:.4g} {top:.4g}" for left, top in edges) + "Z"
        else:
            whiskers = [each for p, each in zip(one.points, ends, strict=True) if p.half]
    end = (x_axis.end + 8, spots[-1][1] + 4) if spots else (x_axis.end + 8, y_axis.start)
    markers = spots[(style * every // 8) :: every]
    shown_at_first = style < SHOWN_AT_FIRST
    return DrawnSeries(one.label, tag, style, dash, path, markers, whiskers, band, end, shown_at_first)


def _spread(series: list[DrawnSeries], top_of_plot: float) -> list[DrawnSeries]:
    """Move the tags at the ends of the shown lines apart so that none covers another."""
    ordered = sorted((one for one in series if one.shown), key=lambda one: one.tag_at[1])
    places: dict[int, tuple[float, float]] = {}
    floor = top_of_plot
    for one in ordered:
        floor = max(one.tag_at[1], floor)
        places[one.style] = (one.tag_at[0], floor)
        floor += _LABEL_STEP
    ceiling = top_of_plot + _PLOT + 4
    for one in reversed(ordered):
        left, top = places[one.style]
        places[one.style] = (left, min(top, ceiling))
        ceiling = places[one.style][1] - _LABEL_STEP
    return [replace(one, tag_at=places.get(one.style, one.tag_at)) for one in series]


def with_all_lines(chart: LineChart) -> LineChart:
    """Return a chart that shows all of its series at first."""
    return replace(chart, series=_spread([replace(one, shown=True) for one in chart.series], chart.y.end))


def _x_ticks(axis: Axis, values: Sequence[float]) -> list[Tick]:
    """Return ticks at the values themselves where there is room, or else at round numbers."""
    places = [axis.place(value) for value in values]
    if values and all(b - a >= 34 for a, b in pairwise(places)):
        return [Tick(at, Quantity("").text(v), v) for at, v in zip(places, values, strict=True)]
    return axis.ticks(6)


def _positions(series: Sequence[Series]) -> list[float]:
    xs = sorted({p.x for one in series for p in one.points})
    if not any(one.curve for one in series) or len(xs) <= 61:
        return xs
    return [xs[i * (len(xs) - 1) // 60] for i in range(61)]


def _column(
    at: float,
    series: Sequence[Series],
    x_axis: Axis,
    x: Quantity,
    y: Quantity,
    write_x: Callable[[float], str],
) -> Column:
    points = [one.at(at) for one in series]
    return Column(
        x_axis.place(shown(at, x.unit)),
        write_x(at),
        [None if p is None else y.text(p.y, p.half) for p in points],
        [None if p is None else numbers(p, y.unit) for p in points],
        shown(at, x.unit),
    )
