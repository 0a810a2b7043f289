"""Pages from templates, with style and script inside: a page loads nothing from any network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.charts import numerals
from analysis.charts.axis import Axis, Tick
from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.heat_map import HeatMap
from analysis.charts.panels import Panels
from analysis.charts.values import values_of
from analysis.report.between import HOW_TO_READ
from emulator.files.input_facts import counted

_TEMPLATES = Path(__file__).parent / "templates"

_SCRIPTS = (
    "page.js", "values.js", "latex.js", "pgfplots.js", "drawings.js", "downloads.js", "filter.js",
    "printing.js",
)  # fmt: skip
"""The scripts in the order in which the page has them: each uses only those before it."""

_KINDS = {LineChart: "lines", BarChart: "bars", Panels: "panels", HeatMap: "heat map"}

MARKERS = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z",
    "M-3.6-3.6H3.6V3.6H-3.6Z",
    "M0-4.8L4.6 3.6H-4.6Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0 4.8L4.6-3.6H-4.6Z",
    "M-1.3-4.5H1.3V-1.3H4.5V1.3H1.3V4.5H-1.3V1.3H-4.5V-1.3H-1.3Z",
    "M0-4.6L4.4-1.4L2.7 3.7H-2.7L-4.4-1.4Z",
    "M-4.6-4.6L0-1.4L4.6-4.6L1.4 0L4.6 4.6L0 1.4L-4.6 4.6L-1.4 0Z",
)
"""The outlines of the markers of series, around the origin."""


def render(template: str, **content: Any) -> str:
    """Return a whole page. Everything in `content` is escaped, unlike the project's own style and script."""
    return _environment().get_template(template).render(**content)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        style=Markup((_TEMPLATES / "style.css").read_text()),
        script=Markup("\n".join((_TEMPLATES / name).read_text() for name in _SCRIPTS)),
        markers=MARKERS,
        how_to_read=HOW_TO_READ,
        unit_beside=_unit_beside,
        kind=lambda chart: _KINDS[type(chart)],
    )
    environment.filters.update(
        number=numerals.number,
        counted=counted,
        quantity=numerals.quantity,
        estimate=_estimate,
        points=_points,
        rows=_rows,
        value=_value,
        shown_unit=numerals.shown_unit,
        variant_of=lambda trial: trial.rpartition("-")[0],
    )
    return environment


def _unit_beside(title: str, unit: str) -> Markup:
    """Return the unit in small letters, with a space before it, unless the title says it."""
    told = numerals.unit_beside(title, unit)
    return Markup(" <small>{}</small>").format(told) if told else Markup("")


def _value(value: Any, name: str = "") -> str:
    """Return an entry of a table of facts; sizes in bytes become GiB."""
    if name.endswith("_bytes") and isinstance(value, int | float):
        return f"{value / 2**30:.1f} GiB"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _estimate(found: dict[str, Any] | None, unit: str = "") -> str:
    return numerals.estimate(found["mean"], found.get("ci95"), unit) if found else numerals.number(None)


def _rows(chart: BarChart | Drawing) -> dict[str, Any]:
    """Return what the script makes files of: the values of a chart, and the axis and limits of bars."""
    values = values_of(chart)
    rows = [[None if cell != cell else cell for cell in row] for row in values.rows]  # JSON has no NaN
    told: dict[str, Any] = {"columns": values.columns, "rows": rows}
    if isinstance(chart, Drawing):
        return told
    told["scale"] = _scale(chart.quantity.unit)
    limits = [
        [number, _shown(each.ends, chart.quantity.unit), each.high is None]
        for number, bar in enumerate(chart.bars)
        for each in bar.limits
    ]
    return told | {"x": _axis(chart.x, chart.x_ticks), "limits": limits}


def _points(chart: LineChart) -> dict[str, Any]:
    """Return what the script needs to show the values under the pointer, and to make files of them."""
    of = [one.of for one in chart.series]
    x, y = chart.quantities
    limits = [
        [*_shown([each.first, each.last], x.unit), _shown(each.limits.ends, y.unit), each.limits.high is None]
        for each in chart.limits
    ]
    return {
        "labels": [one.label for one in chart.series],
        **({"of": of} if all(of) else {}),
        "columns": [[c.at, c.text, c.values, c.x, c.numbers] for c in chart.columns],
        "x": _axis(chart.x, chart.x_ticks),
        "y": _axis(chart.y, chart.y.ticks()),
        "limits": limits,
        "scales": [_scale(x.unit), _scale(y.unit)],
    }


def _scale(unit: str) -> float:
    """Return what a value is multiplied with before it is shown."""
    return numerals.shown(1.0, unit)


def _axis(axis: Axis, ticks: Sequence[Tick]) -> dict[str, Any]:
    """Return an axis for the script, with its ticks as pairs of value and text."""
    return {
        "label": axis.label,
        "low": _rounded(axis.low),
        "high": _rounded(axis.high),
        "logarithmic": axis.logarithmic,
        "ticks": [[_rounded(tick.value), tick.text] for tick in ticks],
    }


def _shown(values: Iterable[float], unit: str) -> list[float]:
    return [_rounded(numerals.shown(value, unit)) for value in values]


def _rounded(value: float) -> float:
    return float(f"{value:.10g}")
