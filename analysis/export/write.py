"""Writes the figures and tables of a run, each in several forms, and an index of the files."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.heat_map import HeatMap
from analysis.charts.panels import Panels
from analysis.charts.results import Results, ResultsError
from analysis.charts.values import Drawn, values_of
from analysis.export.csv_text import csv_text, plain
from analysis.export.draw import drawn_file
from analysis.export.figures import NamedFigure, figures_of
from analysis.export.latex import booktabs
from analysis.export.lines import left_out
from analysis.export.pgfplots import pgfplots
from analysis.export.style import inches
from analysis.export.tables import Table, tables_of
from analysis.report.report import verdict
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory
from emulator.files.disk import naming
from emulator.files.reading import read_regular

INDEX: Final = "index.json"
_LARGEST_INDEX: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Written:
    """The files that an export wrote."""

    folder: Path
    files: list[str]
    troubles: list[str]
    """Reports of what could not be drawn."""


def export(run: RunDirectory, folder: Path, only: Sequence[str], width: str, to: str = "") -> Written:
    """Write figures and tables of a run into a folder, all of them or `only` those with these names.

    `width` is that of figures with its unit, such as "84mm", and `to` the folder as the command was given it,
    if it was. Both are in the commands of the index. Files that are there are replaced, each at once, and
    others are left. `index.json` has an entry for each file: what it shows, of which run, and the command
    that makes it anew; an export of some keeps the entries of others. The same run gives the same bytes.

    Raises ResultsError if the run was not analyzed or has no figure or table of a name, ValueError if the
    width is none, and OSError.
    """
    results = Results.read(run)
    shown = Shown.by(results)
    figures, tables = figures_of(results, shown), tables_of(results, shown)
    unknown = [name for name in only if name not in figures and name not in tables]
    if unknown:
        raise ResultsError(
            f"{run.path} has no figure or table {', '.join(unknown)}. "
            f"Figures: {', '.join(figures) or 'none'}. Tables: {', '.join(tables) or 'none'}"
        )
    size = inches(width)
    options = f" --to {shlex.quote(to)}" if to else ""
    of_figures = f" --width {width.replace(' ', '')}"
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    items: list[NamedFigure | Table] = [*tables.values(), *figures.values()]
    for item in items:
        if only and item.id not in only:
            continue
        told = _about(results, item, options + of_figures * isinstance(item, NamedFigure))
        forms: Iterable[tuple[str, str | bytes]] = (
            _figure_files(item, size, told) if isinstance(item, NamedFigure) else _table_files(item, told)
        )
        for kind, content in forms:
            file = f"{_stem(item.id)}.{kind}"
            _replace(folder / file, content)
            entries.append({"file": file, **told})
    kept = _other_entries(folder / INDEX, {entry["file"] for entry in entries}) if only else []
    index = {"files": sorted([*kept, *entries], key=lambda entry: str(entry["file"]))}
    _replace(folder / INDEX, json.dumps(index, indent=1, ensure_ascii=False) + "\n")
    return Written(folder, [entry["file"] for entry in entries], [each.text for each in shown.troubles])


def _stem(name: str) -> str:
    """Return a name as that of a file: without a slash, or anything else that LaTeX or a shell reads."""
    return quote(name, safe="").replace("%", "_")


def _about(results: Results, item: NamedFigure | Table, options: str) -> dict[str, Any]:
    """Return the entry of a figure or a table in the index, with these options of its command."""
    valid, reasons = verdict(results.summary)
    path = shlex.quote(str(results.run.path))
    told: dict[str, Any] = {
        "id": item.id,
        "kind": "figure" if isinstance(item, NamedFigure) else "table",
        "shows": item.title,
        "about": item.about,
        "run": results.run.path.name,
        "valid": valid,
        **({} if valid else {"reasons": reasons}),
        "command": f"trellis export {path} --figure {shlex.quote(item.id)}{options}",
    }
    if isinstance(item, NamedFigure):
        told |= _axes(item.chart)
    return told


def _axes(chart: Drawn) -> dict[str, Any]:
    """Return what the columns of a figure's CSV are, the whole names of its series, and which of them are not
    drawn."""
    match chart:
        case Panels():
            panels = {each.title: [one.of for one in each.series] for each in chart.charts}
            return _of_lines(chart.whole) | {"panels": panels}
        case LineChart():
            return _of_lines(chart) | ({"left_out": missing} if (missing := left_out(chart)) else {})
        case BarChart():
            value = _quantity(chart.quantity.title, chart.quantity.unit)
            return {"value": value, "bars": [row.label for row in chart.bars], "parts": chart.parts}
        case HeatMap():
            value = _quantity(chart.title, chart.unit)
            return {"value": value, "row": chart.row_key, "column": chart.column_key}
    return {}


def _of_lines(chart: LineChart) -> dict[str, Any]:
    x, y = chart.quantities
    names = [one.label for one in chart.lines]
    return {"x": _quantity(x.title, x.unit), "y": _quantity(y.title, y.unit), "series": names}


def _quantity(title: str, unit: str) -> dict[str, str]:
    return {"title": title, "unit": unit}


def _figure_files(
    figure: NamedFigure, width: float, told: Mapping[str, Any]
) -> Iterator[tuple[str, str | bytes]]:
    """Yield the ending and the content of each file of a figure."""
    chart = figure.chart
    values = values_of(chart)
    names = [i for i, column in enumerate(values.columns) if column in ("series", "bar", "part")]
    rows = [
        [plain(str(cell), int(row[i - 1])) if i in names else cell for i, cell in enumerate(row)]
        for row in values.rows
    ]
    yield "csv", csv_text(values.columns, rows)
    yield "svg", drawn_file(chart, "svg", width)
    yield "pdf", drawn_file(chart, "pdf", width)
    if isinstance(chart, LineChart | BarChart | Panels):
        yield "tex", pgfplots(chart, f"{_stem(figure.id)}.csv", width, _said(told))


def _table_files(table: Table, told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the ending and the content of each file of a table."""
    yield "csv", csv_text(table.columns, table.rows)
    yield "tex", booktabs(table.headings, table.texts, _said(told))


def _said(told: Mapping[str, Any]) -> str:
    invalid = "" if told["valid"] else "THE RUN IS INVALID. "
    missing = told.get("left_out", [])
    lacks = f" Not drawn: {'; '.join(missing)}." if missing else ""
    return f"{invalid}{told['shows']}, of the run {told['run']}.{lacks} Made by: {told['command']}"


def _other_entries(index: Path, written: set[str]) -> list[dict[str, Any]]:
    """Return the entries of an index for other files that are still there.

    Raises ResultsError if it is none.
    """
    if not index.exists():
        return []
    try:
        entries = json.loads(read_regular(index, _LARGEST_INDEX))["files"]
        return [e for e in entries if e["file"] not in written and (index.parent / e["file"]).is_file()]
    except (ValueError, LookupError, TypeError) as error:
        raise ResultsError(
            f"{index} is no index of an export ({error}). Remove it, or export to another folder by --to"
        ) from None


def _replace(path: Path, content: str | bytes) -> None:
    """Replace a file at once. Raises OSError that names it."""
    draft = path.with_name(path.name + ".new")
    try:
        with naming(draft):
            draft.write_bytes(content.encode() if isinstance(content, str) else content)
            draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
