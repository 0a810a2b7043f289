"""A figure of a finished run, with its values, drawn for a paper or a notebook."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.charts.values import values_of
from analysis.export.figures import NamedFigure

COLUMN = "3.33in"
"""The width of a column of a paper in two columns."""


class Figure:
    """A figure of a report. A notebook shows it where it is the value of a cell."""

    def __init__(self, named: NamedFigure) -> None:
        self._named = named
        self.id: str = named.id
        self.title: str = named.title
        self.about: str = named.about

    def __repr__(self) -> str:
        return f"<Figure {self.id}: {self.title}>"

    @property
    def data(self) -> pd.DataFrame:
        """The values of the figure in the units of its quantities: a share is between 0 and 1.

        `docs/report.md` describes the columns, which are those of its CSV. Names of series are whole here.
        """
        values = values_of(self._named.chart)
        return pd.DataFrame(list(values.rows), columns=list(values.columns))

    def save(self, path: Path | str, width: str = COLUMN) -> None:
        """Write the figure to a file that ends with .svg or .pdf, of a width such as "3.33in" or "84mm".

        Raises ValueError for another ending or what is no width, ModuleNotFoundError if matplotlib is not
        installed, and OSError.
        """
        from analysis.export.draw import drawn_file
        from analysis.export.style import inches

        path = Path(path)
        kind = path.suffix.removeprefix(".")
        if kind not in ("svg", "pdf"):
            raise ValueError(f"{path}: a figure is written as .svg or .pdf")
        path.write_bytes(drawn_file(self._named.chart, kind, inches(width)))

    def _repr_svg_(self) -> str:
        from analysis.export.draw import drawn_file
        from analysis.export.style import inches

        return drawn_file(self._named.chart, "svg", inches("5in")).decode()
