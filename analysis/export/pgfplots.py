"""Figures for LaTeX by PGFPlots: a `.tex` that reads the figure's CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analysis.charts.axis import Axis, Tick
from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.export.latex import comment, escaped
from analysis.export.lines import shown_series
from analysis.export.style import COLOURS, DASHES

_MARKS: Final = ("*", "square*", "triangle*", "diamond*", "pentagon*", "otimes*", "halfcircle*", "star")
_PATTERNS: Final = (
    *("", "north east lines", "north west lines", "vertical lines"),
    *("horizontal lines", "crosshatch", "grid", "dots"),
)
_RATIO: Final = 0.62


def pgfplots(chart: LineChart | BarChart, csv: str, width: float, said: str) -> str:
    """Return a figure of a width in inches that reads the file `csv` beside it, after the comment `said`."""
    lines = _of_lines(chart, csv, width) if isinstance(chart, LineChart) else _of_bars(chart, csv, width)
    needs = (
        r"It needs \usepackage{pgfplots}, \pgfplotsset{compat=1.16}, \usepgfplotslibrary{fillbetween} and "
    )
    return "\n".join(
        [
            comment(said),
            comment(
                needs + r"\usetikzlibrary{patterns}. \figurefolder is the folder of the CSV, with its /."
            ),
            r"\providecommand\figurefolder{}",
            *(f"\\definecolor{{trellis{i}}}{{HTML}}{{{of[1:].upper()}}}" for i, of in enumerate(COLOURS)),
            r"\begin{tikzpicture}",
            *lines,
            r"\end{axis}",
            r"\end{tikzpicture}",
            "",
        ]
    )


def _of_lines(chart: LineChart, csv: str, width: float) -> list[str]:
    series = shown_series(chart)
    options = [
        *_frame(width, width * _RATIO, chart.x, chart.x_ticks),
        f"ylabel={{{escaped(chart.y.label)}}}, ymin={chart.y.low:.10g}, ymax={chart.y.high:.10g}",
        *_ticks("y", chart.y.ticks()),
        *(["xmode=log"] if chart.x.logarithmic else []),
        "ymajorgrids",
        r"of/.style={x filter/.expression={\thisrow{number}==#1 ? x : nan}}",
    ]
    lines = [_axis(options)]
    for number, one in series:
        table = f"{{\\figurefolder {csv}}}"
        if any(p.half for p in one.points):
            lines += [
                f"\\addplot[name path={end}{number}, draw=none, forget plot, of={number}] "
                f"table[col sep=comma, x=x, y={end}] {table};"
                for end in ("low", "high")
            ]
            lines.append(
                f"\\addplot[trellis{number % 8}, opacity=0.2, forget plot] "
                f"fill between[of=low{number} and high{number}];"
            )
        every = max(len(one.points) // 8, 1)
        style = f"trellis{number % 8}, {_dash(number)}, mark={_MARKS[number % 8]}, mark size=1.2pt"
        lines.append(
            f"\\addplot[{style}, mark repeat={every}, mark options={{solid}}, of={number}] "
            f"table[col sep=comma, x=x, y=y] {table};"
        )
        if len(series) > 1:
            lines.append(f"\\addlegendentry{{{escaped(one.label)}}}")
    return lines


def _of_bars(chart: BarChart, csv: str, width: float) -> list[str]:
    several = len(chart.parts) > 1
    has_intervals = not several and all(row.half is not None for row in chart.bars)
    names = ",".join(f"{{{escaped(row.label)}}}" for row in chart.bars)
    options = [
        *_frame(width, 0.3 * len(chart.bars) + 0.6, chart.x, chart.x_ticks),
        "xbar stacked" if several else "xbar, bar shift=0pt",
        "bar width=7pt, xmajorgrids, y dir=reverse",
        f"ymin=-0.6, ymax={len(chart.bars) - 0.4:g}",
        f"ytick={{{','.join(str(i) for i in range(len(chart.bars)))}}}, yticklabels={{{names}}}",
        r"of/.style={y filter/.expression={\thisrow{part_number}==#1 ? y : nan}}",
    ]
    lines = [_axis(options)]
    for part, name in enumerate(chart.parts):
        of = f"trellis{part % 8}"
        pattern = f", postaction={{pattern={_PATTERNS[part % 8]}, pattern color={of}}}" if part % 8 else ""
        error = ", x error plus expr=\\thisrow{high}-\\thisrow{value}, x error minus expr=" \
            "\\thisrow{value}-\\thisrow{low}" if has_intervals else ""  # fmt: skip
        bars = ", error bars/.cd, x dir=both, x explicit" if has_intervals else ""
        lines.append(
            f"\\addplot[draw={of}, fill={of}!28{pattern}, of={part}{bars}] "
            f"table[col sep=comma, x=value, y=number{error}] {{\\figurefolder {csv}}};"
        )
        if several:
            lines.append(f"\\addlegendentry{{{escaped(name)}}}")
    return lines


def _frame(width: float, height: float, x: Axis, ticks: Sequence[Tick]) -> list[str]:
    return [
        f"width={width:.4g}in, height={height:.4g}in, scale only axis=false",
        f"xlabel={{{escaped(x.label)}}}, xmin={x.low:.10g}, xmax={x.high:.10g}",
        *_ticks("x", ticks),
        r"font=\footnotesize, axis lines=left, axis line style={-}, scaled ticks=false",
        r"legend style={draw=none, at={(0.5,1.03)}, anchor=south, font=\footnotesize}",
        "legend cell align=left",
        "unbounded coords=discard",
    ]


def _ticks(axis: str, ticks: Sequence[Tick]) -> list[str]:
    at = ",".join(f"{tick.value:.10g}" for tick in ticks)
    texts = ",".join(f"{{{escaped(tick.text)}}}" for tick in ticks)
    return [f"{axis}tick={{{at}}}, {axis}ticklabels={{{texts}}}"]


def _axis(options: Sequence[str]) -> str:
    return "\\begin{axis}[\n  " + ",\n  ".join(options) + ",\n]"


def _dash(number: int) -> str:
    """Return the dashes of a series in the words of TikZ."""
    pattern = DASHES[(number + number // 8) % 8].split()
    if not pattern:
        return "solid"
    parts = " ".join(f"{'off' if i % 2 else 'on'} {float(part) / 2:g}pt" for i, part in enumerate(pattern))
    return f"dash pattern={parts}"
