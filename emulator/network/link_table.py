"""Classes of links from a table of measured rates, whose columns the experiment file names."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import RATE_UNITS, parse_rate
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown

MOST_CLASSES = 100


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
        description="the column of how many peers a class has beside the others; all alike if it is left out",
    )
    name: str | None = Field(
        None, min_length=1, description="the column of the names; line-2, line-3, ... if it is left out"
    )

    def read(self, file: Path) -> list[dict[str, Any]]:
        """Return the classes of the file, as they stand in an experiment file.

        An empty rate is no limit. Raises TraceError for a file that has not each named column once, no class
        or more than 100, and for a line that has another number of values or one that is no rate or weight.
        """
        lines = numbered_lines(file)
        number, heading = next(lines, (0, ""))
        separator = max(",;\t", key=heading.count)
        columns = _words(heading, separator)
        keys = {key: getattr(self, key) for key in ("up", "down", "weight", "name")}
        named = {key: column for key, column in keys.items() if column is not None}
        for column in named.values():
            if (count := columns.count(column)) != 1:
                text = (
                    f"the column {shown(column)} is there twice"
                    if count
                    else f"there is no column {shown(column)}"
                )
                there = ", ".join(columns) or "none"
                raise TraceError(file, number, f"{text}. There are: {there}")
        rows = []
        for number, text in lines:
            words = _words(text, separator)
            if len(words) != len(columns):
                text = f"has {len(words)} values, but there are {len(columns)} columns. Complete it"
                raise TraceError(file, number, text)
            cells = dict(zip(columns, words, strict=True))
            try:
                rows.append(self._row(number, {key: cells[column] for key, column in named.items()}))
            except ValueError as error:
                raise TraceError(file, number, str(error)) from None
        if not 1 <= len(rows) <= MOST_CLASSES:
            text = (
                f"has {len(rows)} classes, and 1 to {MOST_CLASSES} can be. Put lines that are alike together"
            )
            raise TraceError(file, 0, text)
        whole = sum(row.weight for row in rows)
        return [
            {"name": row.name, "share": row.weight / whole}
            | {way: f"{bits} bit/s" for way, bits in (("up", row.up), ("down", row.down)) if bits is not None}
            for row in rows
        ]

    def _row(self, line: int, cells: dict[str, str]) -> _Row:
        weight = _number(cells.get("weight", "1") or "0")
        if not weight:
            raise ValueError("has no weight above 0. Give it, or remove the line")
        name = "-".join(cells.get("name", "").lower().split()) or f"line-{line}"
        up, down = (self._rate(cells.get(way, "")) for way in ("up", "down"))
        return _Row(name, float(weight), up, down)

    def _rate(self, word: str) -> int | None:
        return parse_rate(f"{round(_number(word) * RATE_UNITS[self.unit])} bit/s") if word else None


def _number(word: str) -> Decimal:
    try:
        number = Decimal(word)
    except InvalidOperation:
        number = Decimal("nan")
    if not (number.is_finite() and number >= 0):
        raise ValueError(f"{shown(word)} is no number from 0 on. Mend it")
    return number


class _Row(NamedTuple):
    name: str
    weight: float
    up: int | None
    down: int | None


def _words(text: str, separator: str) -> list[str]:
    return [word.strip() for word in next(csv.reader([text], delimiter=separator), [])]
