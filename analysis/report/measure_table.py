"""A table of measures of two sides, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from analysis.charts.numerals import shown_unit


def measure_table(
    title: str,
    sides: tuple[str, str],
    lines: Iterable[tuple[str, str, tuple[str, str, str, str], str]],
    coloured: tuple[str, str],
) -> list[Table | Text]:
    """Return a table of measures (title, unit, texts, reading); those that are equal are counted below it."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("measure")
    for heading in (*sides, f"{sides[1]} - {sides[0]}", "relative"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    table.add_column("reading")
    equal = 0
    for name, unit, texts, reading in lines:
        if reading.startswith("equal"):
            equal += 1
            continue
        style = dict(zip(coloured, ("green", "red"), strict=True)).get(reading, "")
        named = f"{name} ({shown_unit(unit)})" if unit else name
        table.add_row(Text(named), *map(Text, texts), Text(reading, style=style))
    told = [Text(f"{title}: {equal} {'measure is' if equal == 1 else 'measures are'} equal")] if equal else []
    return [*([table] if table.row_count else []), *told]
