"""Rows as CSV, with the same bytes each time."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from io import StringIO
from typing import Any


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as CSV (RFC 4180, with line feeds). Numbers have up to ten digits; what was not measured
    is empty, and `nan` where a column of numbers has to stay one for LaTeX."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def plain(label: str, number: int) -> str:
    """Return a label that LaTeX can read within a CSV: ASCII letters, digits and a few signs, without commas.

    A label without any of these becomes its number.
    """
    grouped = re.sub(r"(?<=\d),(?=\d{3})", "", label)
    return " ".join(re.sub(r"[^A-Za-z0-9 .:=+/()-]", " ", grouped).split()) or str(number)
