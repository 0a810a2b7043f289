"""A comparison of two runs for the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.table import Table
from rich.text import Text

from analysis.report.compare import Comparison
from analysis.report.measure_table import measure_table


def comparison_tables(comparison: Comparison) -> list[Table | Text]:
    """Return what differs, and a table for each pair of variants; to be printed one after the other."""
    parts: list[Table | Text] = []
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        verdict = "valid" if side.valid else f"INVALID: {'; '.join(side.reasons)}"
        style = "green" if side.valid else "red"
        parts.append(Text.assemble(f"{letter}  {side.path}  ", (verdict, style)))
    if comparison.changes:
        table = Table("about", "key", "A", "B", title="What differs", title_justify="left")
        for change in comparison.changes:
            table.add_row(*map(Text, (change.about, change.key, change.a, change.b)))
        parts.append(table)
    else:
        parts.append(Text("Experiment, plan, versions, machine and seeds are the same."))
    for variant, rows in groupby(comparison.rows, key=lambda row: row.variant):
        lines = [(row.title, row.unit, row.texts, row.reading) for row in rows]
        parts += measure_table(variant, ("A", "B"), lines, ("B is better", "B is worse"))
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            parts.append(Text(f"only in {letter}: {', '.join(names)}"))
    return parts
