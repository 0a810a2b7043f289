"""The variants of one run beside each other, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from analysis.report.between import HOW_TO_READ, NOT_DECIDED, NOT_SHOWN, Pairing
from analysis.report.measure_table import HOW_TO_SEE, Fold, Line, measure_table
from emulator.files.input_facts import counted


def pairing_tables(pairings: Sequence[Pairing], everything: bool = False) -> list[Table | Text]:
    """Return a table for each pair of variants of a run; to be printed one after the other.

    Equal measures are counted, unless everything is asked for. Where there are many pairs, so are those of
    which it cannot be said whether they differ.
    """
    parts: list[Table | Text] = []
    fold = Fold.of(len(pairings), everything)
    folded = 0
    for pair in pairings:
        seeds = f"{pair.seeds} {'seed' if pair.seeds == 1 else 'seeds'}"
        title = ", ".join(part for part in (f"{pair.other} beside {pair.base}", pair.setting, seeds) if part)
        lines = [
            Line(each.title, each.unit, each.texts, each.brief, is_open=not each.is_shown)
            for each in pair.differences
        ]
        parts += measure_table(title, (pair.base, pair.other), lines, ("better", "worse"), fold)
        folded += len(lines) - len(fold.counted(lines)[0])
        if pair.left_out:
            trials = counted(pair.left_out, "trial is", "trials are")
            parts.append(Text(f"{trials} left out: not valid, or without a counterpart"))
        parts += map(Text, pair.only)
        by_chance = sum(each.by.n > 1 for each in pair.differences) // 20
        if by_chance:
            parts.append(Text(f"of so many measures some {by_chance} differ by chance alone"))
    if any(each.brief.startswith(NOT_SHOWN) for pair in pairings for each in pair.differences):
        parts.append(Text(HOW_TO_READ))
    if any(each.lacking for pair in pairings for each in pair.differences):
        parts.append(Text(NOT_DECIDED))
    return [*parts, Text(HOW_TO_SEE)] if folded else parts
