"""Reads a square table of numbers, a line for each host, in the forms in which such files come.

Values stand apart by blanks, tabs, semicolons or commas; a first line and a first column may name the hosts;
numbers may have a decimal comma; a pair without a measurement has `nan`, `*` or nothing.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import counted, told
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown

ASYMMETRY_ADVICE = (
    "Write `asymmetry: mean` beside the file for the mean of both directions, or `asymmetry: one-way` if "
    "these are one-way delays, from the first host to the second"
)
MOST_HOSTS = 20_000
MISSING = frozenset(("", "*", "-", "?", "nan", "na", "n/a", "null", "none"))
"""The words that stand for no measurement."""
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_WITH_UNIT = re.compile(r"[0-9][0-9.,]*(?:us|µs|μs|usec|ms|msec|s|sec)", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_FEWEST_NUMBERED = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A square table in the file's unit, where NaN is a pair without a measurement."""

    values: NDArray[np.float64]
    lines: list[int]
    """The line of each row in the file."""
    said: tuple[str, ...]
    warnings: tuple[str, ...]
    lost: NDArray[np.float64] | None = None
    """The share of messages that vanish from row to row, None if the format says nothing of it."""


def read_table(file: Path, longest: float) -> Table:
    """Read the file; `longest` is an hour in its unit. Raises TraceError for whatever is no such table."""
    reader = _Reader(file, longest)
    for line, text in numbered_lines(file):
        reader.take(line, text)
    return reader.table()


def count_rows(file: Path) -> int:
    """Count the hosts of the file, without its numbers. Raises TraceError if it has too few."""
    lines = numbered_lines(file)
    _, first = next(lines, (0, ""))
    words = split(first, separator_of(first))
    heading = not first or is_heading(words)
    mend = f"It begins with {shown(first)}" if first else "It has no line"
    return enough(sum(1 for _ in lines) + (not heading), file, f"{mend}. Write a line of numbers for each")


def is_heading(words: list[str]) -> bool:
    """Return whether the words of a first line are names of hosts, but for the first, which may be anything;
    or numbers that count from 0 or 1 on after an empty word."""
    if words[0] == "" and len(words) > _FEWEST_NUMBERED:
        counts = [[str(number) for number in range(begin, begin + len(words) - 1)] for begin in (0, 1)]
        return words[1:] in counts or all(_is_name(word) for word in words[1:])
    return len(words) > 1 and all(_is_name(word) for word in words[1:])


def split(text: str, separator: str | None) -> list[str]:
    """Return the values of a line."""
    if separator is None:
        return text.split()
    words = [word.strip().strip('"') for word in text.split(separator)]
    return words[:-1] if words[-1] == "" and len(words) > 1 else words


def separator_of(text: str) -> str | None:
    """Return what stands between the values of a line; None for blanks."""
    if ";" in text:
        return ";"
    text = _QUOTED.sub("", text)
    if "\t" in text and all(len(word.split()) <= 1 for word in text.split("\t")):
        return "\t"
    return "," if "," in text and " " not in text.replace(", ", ",") else None


def enough(hosts: int, file: Path, mend: str) -> int:
    """Return the number of hosts. Raises TraceError, with what to write, if a latency file cannot have so
    many, or so few."""
    if not 2 <= hosts <= MOST_HOSTS:
        text = f"a latency file needs 2 to {MOST_HOSTS} hosts, this one has {hosts}. {mend}"
        raise TraceError(file, 0, text)
    return hosts


class _Reader:
    def __init__(self, file: Path, longest: float) -> None:
        self._file = file
        self._longest = longest
        self._rows: list[NDArray[np.float64]] = []
        self._lines: list[int] = []
        self._separator: str | None = None
        self._heading: list[str] = []
        """The names in the first line, if it is a heading."""
        self._named_rows: list[str] = []
        self._commas = self._like_thousands = 0

    def take(self, line: int, text: str) -> None:
        first = not (self._rows or self._heading)
        if first:
            if text.startswith("%"):
                mend = "Write a line of numbers for each host"
                raise TraceError(self._file, line, f"is not a table of numbers ({shown(text)}). {mend}")
            self._separator = separator_of(text)
        words = split(text, self._separator)
        if first and is_heading(words):
            self._heading = words
            return
        if len(words) > 1 and _is_name(words[0]) and not _is_name(words[1]):
            self._name_row(words, line)
            words = words[1:]
        row = self._numbers(words, line, quickly=text.isascii() and "_" not in text)
        if self._rows and len(row) != len(self._rows[0]):
            text = f"{len(row)} values, but the first line has {len(self._rows[0])}"
            mend = "Write nan for what is missing; begin a line that numbers the hosts with #"
            raise TraceError(self._file, line, f"{text}. {mend}")
        if len(row) > MOST_HOSTS:
            text = f"{len(row)} values, more than the {MOST_HOSTS} that are allowed"
            raise TraceError(self._file, line, text)
        self._check_size(row, line)
        self._rows.append(row)
        self._lines.append(line)

    def table(self) -> Table:
        """Return the table, which has to be square."""
        rows, named_rows = np.array(self._rows), len(self._named_rows)
        hosts = enough(len(rows), self._file, "Write a line of numbers for each")
        if len(self._heading) == hosts + 1 == rows.shape[1]:  # names that are numbers
            rows, named_rows = rows[:, 1:], hosts
        if rows.shape[1] != hosts:
            text = f"{hosts} lines of {rows.shape[1]} values; the two must be equal"
            mend = "Names of hosts need a letter; or begin the first line with #"
            raise TraceError(self._file, self._lines[-1], f"{text}. {mend}")
        if named_rows not in (0, hosts):
            text = f"{named_rows} of {hosts} lines begin with a name. Let all of them, or none"
            raise TraceError(self._file, self._lines[-1], text)
        named = [*(["first line"] if self._heading else []), *(["first column"] if named_rows else [])]
        said = told(
            (
                f"the names of hosts in the {' and the '.join(named)} are not used" if named else None,
                f"{counted(self._commas, 'decimal comma')} were read as points" if self._commas else None,
            )
        )
        thousands = (
            "all decimal commas have three digits after them: if they separate thousands, remove them"
            if self._commas and self._commas == self._like_thousands
            else None
        )
        return Table(rows, self._lines, said, told((self._numbered(rows), thousands, self._repeated())))

    def _repeated(self) -> str | None:
        """Return a warning if a host is named twice, for its measurements may be those of two."""
        names = self._heading[-len(self._rows) :] or self._named_rows
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        return None if twice is None else f"the name {shown(twice)} is there twice: each line is a host"

    def _name_row(self, words: list[str], line: int) -> None:
        """Take the name of a row. Raises TraceError if the columns are named in another order."""
        name, row = words[0], len(self._rows)
        self._named_rows.append(name)
        columns = self._heading[-(len(words) - 1) :]
        if name in columns and columns[row : row + 1] != [name]:
            column = columns.index(name) + 1
            text = f"row {row + 1} is of {shown(name)}, which is column {column} in the first line"
            raise TraceError(self._file, line, f"{text}. Sort rows and columns alike")

    def _numbered(self, rows: NDArray[np.float64]) -> str | None:
        """Return a warning if the first row and column may be numbers of hosts and no measurements."""
        if np.isnan(rows[0, 0]) and not np.isnan(rows.diagonal()[1:]).any():
            text = "the first value is missing, but the others of the diagonal are there"
            mend = "Write 0; or give the numbers of hosts in the first line and column a letter"
            raise TraceError(self._file, self._lines[0], f"{text}. {mend}")
        if len(rows) <= _FEWEST_NUMBERED:
            return None
        counts = np.arange(1, len(rows))
        for begin in (0, 1):
            numbers = counts - 1 + begin
            if (rows[0, 1:] == numbers).all() and (rows[1:, 0] == numbers).all():
                numbered = f"{begin}, {begin + 1}, {begin + 2}"
                return (
                    f"the first line and the first column are {numbered}, ...: "
                    "if they are numbers of hosts, remove them"
                )
        return None

    def _numbers(self, words: list[str], line: int, quickly: bool) -> NDArray[np.float64]:
        if quickly:
            with contextlib.suppress(ValueError):
                row = np.array(words, dtype=np.float64)
                if not np.isinf(row).any():
                    return row
        return np.array([self._number(word, column, line) for column, word in enumerate(words, 1)])

    def _number(self, word: str, column: int, line: int) -> float:
        if word.lower() in MISSING:
            return np.nan
        if _DECIMAL_COMMA.fullmatch(word) and self._separator != ",":
            self._commas += 1
            self._like_thousands += _THOUSANDS.fullmatch(word) is not None
            return float(word.replace(",", "."))
        if _PLAIN.fullmatch(word) and np.isfinite(number := float(word)):
            return number
        mend = "A pair without a measurement is nan or *"
        if _WITH_UNIT.fullmatch(word):
            mend = "Write the number alone, and the unit beside the file, such as `unit: ms`"
        raise TraceError(self._file, line, f"column {column} is {shown(word)}, which is not a number. {mend}")

    def _check_size(self, row: NDArray[np.float64], line: int) -> None:
        if (row > self._longest).any():
            column = int(np.argmax(row > self._longest))
            text = f"column {column + 1} is {row[column]:g}, more than the {self._longest:g} of an hour"
            raise TraceError(self._file, line, f"{text}. If the values have another unit, say so by `unit`")
        if (row < 0).any():
            column = int(np.argmax(row < 0)) + 1
            mend = "A pair without a measurement is nan or *"
            raise TraceError(self._file, line, f"a negative RTT in column {column}. {mend}")


def _is_name(word: str) -> bool:
    """Return whether a word names a host: it has a letter or is an address, and is no number."""
    if word.lower() in MISSING or word.lower().lstrip("+-") in ("inf", "infinity"):
        return False
    if any(form.fullmatch(word) for form in (_PLAIN, _DECIMAL_COMMA, _WITH_UNIT)):
        return False
    return any(character.isalpha() for character in word) or word.count(".") > 1 or ":" in word
