"""Classes of links from a table of measured rates, whose columns the experiment file names."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import parse_rate
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown

MOST_CLASSES = 100
_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}


class LinkTable(BaseModel):
    """A table with a line for each class of links, and which of its columns says what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = Field(
        None,
        description="the first line has the names of the columns, and each other line is a class of peers; "
        "left out in a run directory, which has the classes themselves",
    )
    up: str | None = Field(None, min_length=1, description="the column of what a peer can send")
    down: str | None = Field(None, min_length=1, description="the column of what a peer can receive")
    unit: Literal["bit/s", "kbit/s", "Mbit/s", "Gbit/s"] = Field("Mbit/s", description="of both columns")
    weight: str | None = Field(
        None,
        min_length=1,
        description="the column of how many peers a class has beside the others; all alike",
    )
    name: str | None = Field(
        None, min_length=1, description="the column of the names; line-2, line-3, ... if it is left out"
    )

    def read(self) -> list[dict[str, Any]]:
        """Return the classes, as they stand in an experiment file.

        An empty rate is no limit. Raises TraceError for a file that has no such columns, no class or more
        than 100, and for a value that is none.
        """
        assert self.file is not None
        lines = numbered_lines(self.file)
        number, heading = next(lines, (0, ""))
        separator = max(",;\t", key=heading.count)
        columns = _words(heading, separator)
        keys = {key: getattr(self, key) for key in ("up", "down", "weight", "name")}
        for column in keys.values():
            if column is not None and column not in columns:
                there = ", ".join(columns) or "none"
                raise TraceError(self.file, number, f"there is no column {shown(column)}. There are: {there}")
        rows = []
        for number, text in lines:
            words = dict(zip(columns, _words(text, separator), strict=False))
            cells = {key: words.get(column, "") for key, column in keys.items() if column is not None}
            rows.append(self._row(number, cells))
        if not 1 <= len(rows) <= MOST_CLASSES:
            text = (
                f"has {len(rows)} classes, and 1 to {MOST_CLASSES} can be. Put lines that are alike together"
            )
            raise TraceError(self.file, 0, text)
        whole = sum(row.weight for row in rows)
        return [
            {"name": row.name, "share": row.weight / whole}
            | {way: f"{bits} bit/s" for way, bits in (("up", row.up), ("down", row.down)) if bits is not None}
            for row in rows
        ]

    def _row(self, line: int, cells: dict[str, str]) -> _Row:
        rates = (self._number(line, cells.get(way, ""), _UNITS[self.unit]) for way in ("up", "down"))
        weight = self._number(line, cells["weight"], 1) if "weight" in cells else Decimal(1)
        if not weight:
            raise TraceError(self.file or Path(), line, "has no weight above 0. Give it, or remove the line")
        name = "-".join(cells.get("name", "").lower().split()) or f"line-{line}"
        return _Row(name, float(weight), *(self._rate(line, bits) for bits in rates))

    def _number(self, line: int, word: str, unit: int) -> Decimal | None:
        try:
            number = Decimal(word) * unit if word else None
        except InvalidOperation:
            number = Decimal(-1)
        if number is not None and not (number.is_finite() and number >= 0):
            raise TraceError(self.file or Path(), line, f"{shown(word)} is no number from 0 on. Mend it")
        return number

    def _rate(self, line: int, bits: Decimal | None) -> int | None:
        try:
            return None if bits is None else parse_rate(f"{round(bits)} bit/s")
        except ValueError as error:
            raise TraceError(self.file or Path(), line, str(error)) from None


class _Row(NamedTuple):
    name: str
    weight: float
    up: int | None
    down: int | None


def _words(text: str, separator: str) -> list[str]:
    return [word.strip() for word in next(csv.reader([text], delimiter=separator), [])]
