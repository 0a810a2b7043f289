"""Figures for LaTeX by PGFPlots: a `.tex` that reads the figure's CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from analysis.charts.axis import Axis, Tick
from analysis.charts.bars import BarChart
from analysis.charts.chart import DrawnSeries, LineChart, Series
from analysis.charts.numerals import shown
from analysis.charts.panels import Panels
from analysis.export.bars import folded_names, height_of_row
from analysis.export.latex import comment, escaped
from analysis.export.lines import shown_series
from analysis.export.panels import columns_of
from analysis.export.style import COLOURS, DASHES, PAPER_REACH, legend_columns, letters

_MARKS: Final = ("*", "square*", "triangle*", "diamond*", "pentagon*", "otimes*", "halfcircle*", "star")
_PATTERNS: Final = (
    *("", "north east lines", "north west lines", "vertical lines"),
    *("horizontal lines", "crosshatch", "grid", "dots"),
)
_RATIO: Final = 0.62
_PANEL: Final = 1.2
"""The height (inches) of a panel."""
_LABELS, _GAP = 0.625, 0.2
"""The width (inches) that PGFPlots keeps for the labels of an axis, and the one between panels."""
_KEY: Final = 0.6
"""The width (inches) of the sample of a series in a legend."""
_BREAK: Final = r"\\"
_LINE_PT: Final = 9.5
"""The height (points) of a line of `footnotesize`."""


def pgfplots(chart: LineChart | BarChart | Panels, csv: str, width: float, said: str) -> str:
    """Return a figure of a width in inches that reads the file `csv` beside it, after the comment `said`."""
    match chart:
        case LineChart():
            lines = [*_of_lines(chart, csv, width), r"\end{axis}"]
        case BarChart():
            lines = [*_of_bars(chart, csv, width), r"\end{axis}"]
        case Panels():
            lines = _of_panels(chart, csv, width)
    return "\n".join(
        [
            comment(said),
            comment(
                r"It needs \usepackage{pgfplots}, \pgfplotsset{compat=1.16}, "
                r"\usepgfplotslibrary{fillbetween,groupplots} and \usetikzlibrary{patterns}. "
                r"\figurefolder is the folder of the CSV, with its /."
            ),
            r"\providecommand\figurefolder{}",
            *(f"\\definecolor{{trellis{i}}}{{HTML}}{{{of[1:].upper()}}}" for i, of in enumerate(COLOURS)),
            r"\begin{tikzpicture}",
            *lines,
            r"\end{tikzpicture}",
            "",
        ]
    )


def _of_lines(chart: LineChart, csv: str, width: float) -> list[str]:
    series = shown_series(chart)
    options = _line_options(chart, chart.x_ticks, width, width * _RATIO)
    options.append(_legend_columns([one.label for _, one in series], width))
    lines = [_axis(options), *_of_limits(chart)]
    for number, one in series:
        laid_out = chart.series[number]
        lines += _of_series(one, laid_out, number, f"of={number}", csv, chart)
        if len(series) > 1:
            lines.append(f"\\addlegendentry{{{_folded(one.label, width - _KEY)}}}")
    return lines


def _of_panels(panels: Panels, csv: str, width: float) -> list[str]:
    """Return a group of plots; what colours and dashes stand for is told in the first one's legend."""
    columns = columns_of(panels, width)
    rows = -(-len(panels.charts) // columns)
    whole = [one.label for one in panels.whole.lines]
    panel = (width - _LABELS - _GAP * (columns - 1)) / columns
    titles = [_folded(chart.title, panel) for chart in panels.charts]
    titles_pt = _LINE_PT * max(title.count(_BREAK) + 1 for title in titles)
    options = [
        f"group style={{group size={columns} by {rows}, horizontal sep={_GAP}in, "
        f"vertical sep={24 + titles_pt:g}pt, "
        "xticklabels at=edge bottom, xlabels at=edge bottom, "
        "yticklabels at=edge left, ylabels at=edge left}",
        *_line_options(panels.whole, panels.charts[0].x_ticks, panel + _LABELS, _PANEL),
        _legend_columns([style.label for style in panels.legend], width),
        f"legend style={{at={{(0,1)}}, anchor=south west, yshift={10 + titles_pt:g}pt}}",
        "title style={align=center}",
    ]
    lines = ["\\begin{groupplot}[\n  " + ",\n  ".join(options) + ",\n]"]
    for place, (chart, title) in enumerate(zip(panels.charts, titles, strict=True)):
        lines += [f"\\nextgroupplot[title={{{title}}}]", *_of_limits(chart)]
        for one, laid_out in zip(chart.lines, chart.series, strict=True):
            if one.points:
                number = whole.index(laid_out.of)
                lines += _of_series(one, laid_out, number, f"of={number}, forget plot", csv, chart)
        if place == 0:
            for style in panels.legend:
                look = _look(style.colour, style.dash)
                lines.append(f"\\addlegendimage{{{look}}}\\addlegendentry{{{escaped(style.label)}}}")
    return [*lines, r"\end{groupplot}"]


def _line_options(chart: LineChart, ticks: Sequence[Tick], width: float, height: float) -> list[str]:
    return [
        *_frame(width, height, chart.x, ticks),
        f"ylabel={{{escaped(chart.y.label)}}}, ymin={chart.y.low:.10g}, ymax={chart.y.high:.10g}",
        *_ticks("y", chart.y.ticks()),
        *(["xmode=log"] if chart.x.logarithmic else []),
        "ymajorgrids",
        r"of/.style={x filter/.expression={\thisrow{number}==#1 ? x : nan}}",
    ]


def _of_series(
    one: Series, laid_out: DrawnSeries, number: int, options: str, csv: str, chart: LineChart
) -> list[str]:
    """Return the band and the line of the series with a number in the CSV."""
    table = f"{{\\figurefolder {csv}}}"
    x, y = (quantity.unit for quantity in chart.quantities)
    lines = []
    if any(p.half for p in one.points):
        lines += [
            f"\\addplot[name path={end}{number}, draw=none, forget plot, of={number}] "
            f"table[col sep=comma, {_column('x', 'x', x)}, {_column('y', end, y)}] {table};"
            for end in ("low", "high")
        ]
        lines.append(
            f"\\addplot[trellis{laid_out.style % 8}, opacity=0.2, forget plot] "
            f"fill between[of=low{number} and high{number}];"
        )
    every = max(len(one.points) // 8, 1)
    lines.append(
        f"\\addplot[{_look(laid_out.style, laid_out.dash)}, mark repeat={every}, {options}] "
        f"table[col sep=comma, {_column('x', 'x', x)}, {_column('y', 'y', y)}] {table};"
    )
    return lines


def _column(axis: str, name: str, unit: str) -> str:
    """Return which column of the CSV an axis shows, and on which scale."""
    scale = shown(1, unit)
    return f"{axis}={name}" if scale == 1 else f"{axis} expr={scale:g}*\\thisrow{{{name}}}"


def _of_limits(chart: LineChart) -> Iterator[str]:
    """Yield the commands that draw the values that a paper's numbers allow."""
    x, y = chart.quantities
    for each in chart.limits:
        first, last = (shown(at, x.unit) for at in (each.first, each.last))
        low, *others = (shown(end, y.unit) for end in each.limits.ends)
        yield _dashed((first, low), (last, others[0] if others else low))
        if not others:
            yield _arrows([(first, low), (last, low)], 0 if each.limits.high is None else 180)


def _of_row_limits(chart: BarChart) -> Iterator[str]:
    for number, row in enumerate(chart.bars):
        for each in row.limits:
            low, *others = (shown(end, chart.quantity.unit) for end in each.ends)
            yield _dashed((low, number - PAPER_REACH), (others[0] if others else low, number + PAPER_REACH))
            if not others:
                yield _arrows([(low, number)], -90 if each.high is None else 90)


def _dashed(one: tuple[float, float], other: tuple[float, float]) -> str:
    """Return what draws a dashed rectangle between two corners: a line if they have a value in common."""
    corners = [f"(axis cs:{x:.10g},{y:.10g})" for x, y in (one, other)]
    return f"\\draw[densely dashed] {corners[0]} rectangle {corners[1]};"


def _arrows(at: Sequence[tuple[float, float]], turned: int) -> str:
    """Return what draws small triangles, which point upwards or are turned to the left by degrees."""
    places = " ".join(f"({x:.10g},{y:.10g})" for x, y in at)
    return (
        f"\\addplot[only marks, mark=triangle*, mark size=1.4pt, mark options={{rotate={turned}}}, "
        f"forget plot] coordinates {{{places}}};"
    )


def _look(style: int, dash: int) -> str:
    """Return how a line of a style looks, whose dashes have a number of their own."""
    return (
        f"trellis{style % 8}, {_dash(dash)}, mark={_MARKS[style % 8]}, mark size=1.2pt, "
        "mark options={solid}"
    )


def _of_bars(chart: BarChart, csv: str, width: float) -> list[str]:
    several = len(chart.parts) > 1
    unit = chart.quantity.unit
    has_intervals = not several and all(row.half is not None for row in chart.bars)
    names = folded_names(chart, width)
    options = [
        *_frame(width + _LABELS - _GAP, height_of_row(names) * len(chart.bars) + 0.6, chart.x, chart.x_ticks),
        "xbar stacked" if several else "xbar, bar shift=0pt",
        "bar width=8pt, xmajorgrids, y dir=reverse",
        f"ymin=-0.85, ymax={len(chart.bars) - 0.6:g}",
        r"ytick=\empty",
        r"of/.style={y filter/.expression={\thisrow{part_number}==#1 ? y : nan}}",
        _legend_columns(chart.parts, width),
    ]
    lines = [_axis(options)]
    for part, name in enumerate(chart.parts):
        of = f"trellis{part % 8}"
        pattern = f", postaction={{pattern={_PATTERNS[part % 8]}, pattern color={of}}}" if part % 8 else ""
        scale = shown(1, unit)
        error = f", x error plus expr={scale:g}*(\\thisrow{{high}}-\\thisrow{{value}}), x error minus expr=" \
            f"{scale:g}*(\\thisrow{{value}}-\\thisrow{{low}})" if has_intervals else ""  # fmt: skip
        bars = ", error bars/.cd, x dir=both, x explicit" if has_intervals else ""
        lines.append(
            f"\\addplot[draw={of}, fill={of}!28{pattern}, of={part}{bars}] "
            f"table[col sep=comma, {_column('x', 'value', unit)}, y=number{error}] {{\\figurefolder {csv}}};"
        )
        if several:
            lines.append(f"\\addlegendentry{{{_folded(name, width - _KEY)}}}")
    for number, (name_lines, laid_out) in enumerate(zip(names, chart.rows, strict=True)):
        lines.append(_text(chart.x.low, number, "west", _BREAK.join(map(escaped, name_lines))))
        lines.append(_text(chart.x.high, number, "east", escaped(laid_out.text)))
    return [*lines, *_of_row_limits(chart)]


def _text(x: float, number: int, anchor: str, text: str) -> str:
    """Return what writes a text above the bar with a number."""
    at = f"(axis cs:{x:.10g},{number - 0.5:g})"
    return f"\\node[anchor={anchor}, align=left, inner xsep=1pt] at {at} {{{text}}};"


def _frame(width: float, height: float, x: Axis, ticks: Sequence[Tick]) -> list[str]:
    return [
        f"width={width:.4g}in, height={height:.4g}in, scale only axis=false",
        f"xlabel={{{escaped(x.label)}}}, xmin={x.low:.10g}, xmax={x.high:.10g}",
        *_ticks("x", ticks),
        r"/tikz/font=\footnotesize, axis lines=left, axis line style={-}, scaled ticks=false",
        r"legend style={draw=none, at={(0.5,1.03)}, anchor=south, font=\footnotesize, cells={align=left}}",
        "legend cell align=left",
        "unbounded coords=discard",
    ]


def _legend_columns(labels: Sequence[str], width: float) -> str:
    return f"legend columns={legend_columns(list(labels), width) if labels else 1}"


def _folded(text: str, width: float) -> str:
    """Return a text in lines of a width in inches."""
    return _BREAK.join(map(escaped, textwrap.wrap(text, letters(width)) or [text]))


def _ticks(axis: str, ticks: Sequence[Tick]) -> list[str]:
    at = ",".join(f"{tick.value:.10g}" for tick in ticks)
    texts = ",".join(f"{{{escaped(tick.text)}}}" for tick in ticks)
    return [f"{axis}tick={{{at}}}, {axis}ticklabels={{{texts}}}"]


def _axis(options: Sequence[str]) -> str:
    return "\\begin{axis}[\n  " + ",\n  ".join(options) + ",\n]"


def _dash(number: int) -> str:
    """Return the dashes with a number in the words of TikZ."""
    pattern = DASHES[number].split()
    if not pattern:
        return "solid"
    parts = " ".join(f"{'off' if i % 2 else 'on'} {float(part) / 2:g}pt" for i, part in enumerate(pattern))
    return f"dash pattern={parts}"
