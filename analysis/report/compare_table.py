"""A comparison of two runs for the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.table import Table
from rich.text import Text

from analysis.report.between import NOT_DECIDED
from analysis.report.compare import Comparison
from analysis.report.measure_table import HOW_TO_SEE, Fold, Line, measure_table


def comparison_tables(comparison: Comparison, everything: bool = False) -> list[Table | Text]:
    """Return what differs, and a table for each pair of variants; to be printed one after the other.

    Equal measures are counted, unless everything is asked for. Where there are many variants, so are those
    of which it cannot be said whether they differ.
    """
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
    fold = Fold.of(len({row.variant for row in comparison.rows}), everything)
    folded = 0
    for variant, rows in groupby(comparison.rows, key=lambda row: row.variant):
        lines = [Line(row.title, row.unit, row.texts, row.reading, row.is_open) for row in rows]
        parts += measure_table(
            comparison.labels[variant], ("A", "B"), lines, ("B is better", "B is worse"), fold
        )
        folded += len(lines) - len(fold.counted(lines)[0])
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            parts.append(Text(f"only in {letter}: {', '.join(names)}"))
    if any(row.lacking for row in comparison.rows):
        parts.append(Text(NOT_DECIDED))
    return [*parts, Text(HOW_TO_SEE)] if folded else parts
