"""A table of measures of two sides, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from analysis.charts.numerals import unit_beside

FEW_SETTINGS: Final = 4
"""The most tables that also list measures of which it cannot be said whether they differ."""
HOW_TO_SEE: Final = "--all lists what is only counted here, and --measure NAME a measure of your choice."


class Line(NamedTuple):
    """A measure of two sides, as it is shown."""

    title: str
    unit: str
    texts: tuple[str, str, str, str]
    reading: str
    is_open: bool
    """This is true if the sides are not equal, but the seeds do not show that they differ."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A choice of the measures that a table counts below itself instead of listing them."""

    equal: bool
    open: bool

    @classmethod
    def of(cls, settings: int, everything: bool) -> Fold:
        """Return what tables of so many settings fold, or nothing if everything is asked for."""
        return cls(not everything, not everything and settings > FEW_SETTINGS)

    def counted(self, lines: Iterable[Line]) -> tuple[list[Line], int, int]:
        """Return the lines to list, and how many equal ones and how many open ones are folded."""
        listed, equal, unsaid = [], 0, 0
        for line in lines:
            if self.equal and line.reading.startswith("equal"):
                equal += 1
            elif self.open and line.is_open:
                unsaid += 1
            else:
                listed.append(line)
        return listed, equal, unsaid


def measure_table(
    title: str, sides: tuple[str, str], lines: Iterable[Line], coloured: tuple[str, str], fold: Fold
) -> list[Table | Text]:
    """Return a table of measures; those that are folded are counted below it."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("measure")
    for heading in (*sides, f"{sides[1]} - {sides[0]}", "relative"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    table.add_column("reading")
    listed, equal, unsaid = fold.counted(lines)
    for line in listed:
        style = dict(zip(coloured, ("green", "red"), strict=True)).get(line.reading, "")
        unit = unit_beside(line.title, line.unit)
        named = f"{line.title} ({unit})" if unit else line.title
        table.add_row(Text(named), *map(Text, line.texts), Text(line.reading, style=style))
    told = [f"{equal} {'measure is' if equal == 1 else 'measures are'} equal"] if equal else []
    if unsaid:
        told.append(f"of {unsaid} it cannot be said whether {'it differs' if unsaid == 1 else 'they differ'}")
    if not listed and not told:
        told = ["nothing was measured on both sides"]
    below = [Text(f"{title}: {'; '.join(told)}")] if told else []
    return [*([table] if listed else []), *below]
