"""Reads p2psim's topology format: `node N` lines, then `i,j latency` lines with one-way delays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emulator.files.input_facts import counted, told
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown, whole_number
from emulator.network.matrix_text import ASYMMETRY_ADVICE, Table, enough

_FORM = "expected `i,j latency`, after a line `topology ...` and a line `node N` for each host"


def read_topology(file: Path, unit: str, longest: float, asymmetric: bool) -> Table:
    """Read the file; `longest` is half an hour in its unit.

    A delay below 0 is a pair without a measurement. A pair that is there once has that delay in both
    directions; only if `asymmetric`, one may be there in both with two delays. Raises TraceError.
    """
    reader = _Reader(file, unit, longest, asymmetric)
    for line, text in numbered_lines(file):
        reader.take(line, text.split())
    return reader.table()


def count_nodes(file: Path) -> int:
    """Count the hosts of the file. Raises TraceError if it cannot be read or has too few."""
    return enough(sum(text.split()[0] == "node" for _, text in numbered_lines(file)), file, _FORM)


class _Reader:
    def __init__(self, file: Path, unit: str, longest: float, asymmetric: bool) -> None:
        self._file = file
        self._unit = unit
        self._longest = longest
        self._asymmetric = asymmetric
        self._known: dict[int, int] = {}
        self._delays: dict[tuple[int, int], float] = {}
        self._begun = False
        self._said = ""
        """The number of hosts that the first line tells, as it is written there."""
        self._twice = self._more_words = self._negative = 0

    def take(self, line: int, words: list[str]) -> None:
        if words[0] == "node":
            self._node(words, line)
        elif "," in words[0]:
            self._pair(words, line)
        elif self._begun or words[0] != "topology":
            raise TraceError(self._file, line, f"{shown(' '.join(words))}, but {_FORM}")
        elif words[-1].isdecimal():
            self._said = words[-1]
        self._begun = True

    def table(self) -> Table:
        count = len(self._known)
        if self._said and self._said.lstrip("0") != str(count):
            text = f"the first line says {shown(self._said)} hosts, but {count:,} have a line `node N`"
            raise TraceError(
                self._file, 0, f"{text}. The file may be cut off: get it again, or mend the line"
            )
        delays = np.full((enough(len(self._known), self._file, _FORM),) * 2, np.nan)
        np.fill_diagonal(delays, 0.0)
        for (i, j), delay in self._delays.items():
            delays[i, j] = np.nan if delay < 0 else delay
            if (j, i) not in self._delays:
                delays[j, i] = delays[i, j]
        said = told(
            (
                f"{counted(self._twice, 'pair')} that the file repeats count once" if self._twice else None,
                f"what follows the number of {counted(self._more_words, 'node')} is not used"
                if self._more_words
                else None,
                f"{counted(self._negative, 'delay')} below 0 count as no measurement"
                if self._negative
                else None,
            )
        )
        return Table(delays, [], said, ())

    def _node(self, words: list[str], line: int) -> None:
        try:
            number = whole_number(words[1])
        except (IndexError, ValueError) as error:
            raise TraceError(self._file, line, "a node line is `node NUMBER`") from error
        if number in self._known:
            raise TraceError(self._file, line, f"node {number} is named twice")
        self._known[number] = len(self._known)
        self._more_words += len(words) > 2

    def _pair(self, words: list[str], line: int) -> None:
        try:
            first, second = words[0].split(",")
            numbers = whole_number(first), whole_number(second)
            i, j, delay = self._known[numbers[0]], self._known[numbers[1]], float(words[1])
        except KeyError as error:
            raise TraceError(self._file, line, f"no `node {error.args[0]}` line before this pair") from error
        except (ValueError, IndexError) as error:
            raise TraceError(
                self._file, line, f"expected `i,j latency` with a number of {self._unit}"
            ) from error
        if len(words) > 2:
            raise TraceError(self._file, line, f"{shown(words[2])} after the latency, but {_FORM}")
        if not np.isfinite(delay):
            raise TraceError(self._file, line, f"latency {shown(words[1])} is not a finite number")
        if delay > self._longest:
            text = f"latency {delay:g} {self._unit} is more than half an hour"
            raise TraceError(self._file, line, f"{text}. If it has another unit, say so by `unit`")
        if i == j:
            raise TraceError(self._file, line, f"a pair of host {first} with itself")
        self._negative += delay < 0
        back = self._delays.get((j, i), delay)
        if back != delay and not self._asymmetric:
            text = f"asymmetric: {first},{second} is {delay:g}, earlier {back:g}"
            raise TraceError(self._file, line, f"{text}. {ASYMMETRY_ADVICE}")
        self._twice += (i, j) in self._delays or ((j, i) in self._delays and not self._asymmetric)
        earlier = self._delays.setdefault((i, j), delay)
        if earlier != delay:
            raise TraceError(
                self._file, line, f"{first},{second} is {delay:g}, earlier {earlier:g}. Keep one"
            )
