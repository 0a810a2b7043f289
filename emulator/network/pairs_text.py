"""Reads a table with a line for each measured pair of hosts: source, destination, RTT, as WonderNetwork's.

A first line may name the columns. Several measurements of a pair count with their mean.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np

from emulator.files.input_facts import counted, told
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown
from emulator.network.matrix_text import MISSING, Table, enough, separator_of, split

_SOURCES: Final = ("source", "src", "from", "a")
_DESTINATIONS: Final = ("destination", "dest", "dst", "target", "to", "b")
_VALUES: Final = ("avg", "mean", "median", "rtt", "latency", "delay", "ping", "min")
"""The names of columns, the first that is there counts."""
_FORM: Final = (
    "Write a line `source,destination,rtt` for each pair, or name the columns in the first line: source, "
    "destination, and avg or rtt"
)


def read_pairs(file: Path, longest: float) -> Table:
    """Read the file; `longest` is an hour in its unit. Raises TraceError for what is no such table."""
    reader = _Reader(file, longest)
    for line, text in numbered_lines(file):
        reader.take(line, text)
    return reader.table()


def names_in_pairs(file: Path) -> list[str]:
    """Return the names of the hosts, in the order of the table's rows. Raises TraceError."""
    reader = _Reader(file, math.inf)
    for line, text in numbered_lines(file):
        reader.take(line, text)
    return reader.names()


class _Reader:
    def __init__(self, file: Path, longest: float) -> None:
        self._file = file
        self._longest = longest
        self._separator: str | None = None
        self._columns: tuple[int, int, int] | None = None
        """The columns of source, destination and value."""
        self._hosts: dict[str, int] = {}
        self._lines: list[int] = []
        self._sums: dict[tuple[int, int], tuple[float, int]] = {}
        self._own = self._missing = 0

    def take(self, line: int, text: str) -> None:
        if self._columns is None:
            self._separator = separator_of(text)
            words = split(text, self._separator)
            heading = _heading(words)
            self._columns = heading or (0, 1, 2)
            if heading is not None:
                return
        words = split(text, self._separator)
        source, destination, value = self._columns
        if len(words) <= max(self._columns):
            raise TraceError(self._file, line, f"{shown(text)} has {len(words)} values. {_FORM}")
        pair = self._host(words[source], line), self._host(words[destination], line)
        if words[value].lower() in MISSING:
            self._missing += 1
        elif pair[0] == pair[1]:
            self._own += 1
        else:
            total, count = self._sums.get(pair, (0.0, 0))
            self._sums[pair] = total + self._number(words[value], line), count + 1

    def names(self) -> list[str]:
        enough(len(self._hosts), self._file, _FORM)
        return list(self._hosts)

    def table(self) -> Table:
        hosts = enough(len(self._hosts), self._file, _FORM)
        values = np.full((hosts, hosts), np.nan)
        np.fill_diagonal(values, 0.0)
        repeated = 0
        for pair, (total, count) in self._sums.items():
            values[pair] = total / count
            repeated += count > 1
        several = f"{counted(repeated, 'pair')} with several measurements: their mean counts"
        said = told(
            (
                several if repeated else None,
                f"{counted(self._own, 'line')} of a host with itself not used" if self._own else None,
                f"{counted(self._missing, 'line')} without a value" if self._missing else None,
            )
        )
        return Table(values, self._lines, said, ())

    def _host(self, name: str, line: int) -> int:
        if not name:
            raise TraceError(self._file, line, f"a host has no name. {_FORM}")
        if name not in self._hosts:
            self._hosts[name] = len(self._hosts)
            self._lines.append(line)
            if len(self._hosts) > 20_000:
                enough(len(self._hosts), self._file, _FORM)
        return self._hosts[name]

    def _number(self, word: str, line: int) -> float:
        try:
            value = float(word)
        except ValueError:
            raise TraceError(self._file, line, f"{shown(word)} is not a number. {_FORM}") from None
        if not math.isfinite(value) or value < 0:
            raise TraceError(self._file, line, f"the RTT {shown(word)} is below 0, or no number")
        if value > self._longest:
            text = f"the RTT {shown(word)} is more than an hour. If it has another unit, say so by `unit`"
            raise TraceError(self._file, line, text)
        return value


def _heading(words: list[str]) -> tuple[int, int, int] | None:
    """Return the columns of source, destination and value that a first line names; None if it names none."""
    names = [word.lower() for word in words]
    found = [
        next((names.index(name) for name in known if name in names), -1)
        for known in (_SOURCES, _DESTINATIONS, _VALUES)
    ]
    return None if -1 in found else (found[0], found[1], found[2])
