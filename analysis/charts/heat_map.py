"""A heat map: a measure by two keys, as a table whose cells are stronger in colour the larger they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from analysis.charts.numerals import estimate, number, shown

LEVELS: Final = 9
"""The number of shades."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is shown, with the half width of its interval if it has one."""

    text: str
    level: int | None
    """The shade from 0 to 8; None if there is no value."""
    value: float | None = None
    """The number in the unit of the map; None if there is no value."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of one setting of all other keys, which the title names: by row, then by column."""

    title: str
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A measure by two keys, with a grid for each setting of the others. All have the same shades."""

    name: str
    title: str
    about: str
    unit: str
    row_key: str
    column_key: str
    dotted: tuple[str, str]
    """The keys of rows and of columns, as the experiment writes them."""
    columns: list[str]
    grids: list[Grid]
    low: str
    """The smallest value, which has the faintest shade; `high` is the largest."""
    high: str


Values = Mapping[tuple[str, str, str], tuple[float, float | None]]
"""Values, with the half widths of their intervals, by the title of the grid, row and column."""


def heat_map(
    name: str, title: str, about: str, unit: str, keys: tuple[str, str], values: Values,
    dotted: tuple[str, str] = ("", ""),
) -> HeatMap | None:  # fmt: skip
    """Lay out a heat map of values in the order in which they are given; None if there are none.

    `keys` says in words what is varied by row and by column, `dotted` in the words of the experiment.
    """
    if not values:
        return None
    grids, rows, columns = (list(dict.fromkeys(at[i] for at in values)) for i in range(3))
    means = [mean for mean, _ in values.values()]
    low, high = min(means), max(means)

    def cells(grid: str, row: str) -> list[Cell]:
        return [_cell(values.get((grid, row, column)), low, high, unit) for column in columns]

    return HeatMap(
        name, title, about, unit, *keys, dotted, columns,
        [Grid(grid, [(row, cells(grid, row)) for row in rows]) for grid in grids],
        number(shown(low, unit)), number(shown(high, unit)),
    )  # fmt: skip


def _cell(of: tuple[float, float | None] | None, low: float, high: float, unit: str) -> Cell:
    if of is None:
        return Cell(number(None), None)
    value, half = of
    share = (value - low) / (high - low) if high > low else 0.0
    return Cell(estimate(value, half, unit), min(int(share * LEVELS), LEVELS - 1), value)
