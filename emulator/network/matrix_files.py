"""Measured latencies from files in p2psim's two formats and PlanetLab's.

All matrices are symmetric. A pair without a measurement (0 off the diagonal, or not above 0 in a topology
file) gets the shortest path over one other host; the result says how many pairs were filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown, whole_number

_MOST_HOSTS = 20_000
_ASYMMETRY = 1e-3
_LONGEST_RTT = 3600.0


class MatrixSource(Interface):
    """A file with latencies, and its format."""

    @property
    def kind(self) -> str:
        """The format: "p2psim-matrix", "p2psim-topology" or "planetlab"."""
        ...

    @property
    def file(self) -> Path:
        """The file's name."""
        ...


@dataclass(frozen=True, slots=True)
class MeasuredRtt:
    """A measured matrix. `rtt` is in seconds, hosts x hosts, symmetric with a diagonal of 0."""

    rtt: NDArray[np.float32]
    filled_pairs: int
    """The number of pairs without a measurement, which got the shortest two-hop path."""


def load_rtt(source: MatrixSource) -> MeasuredRtt:
    """Read the file. Raises TraceError if it is missing, ragged, not numeric, negative or asymmetric."""
    match source.kind:
        case "p2psim-matrix":
            rtt = _read_matrix(source.file, _LONGEST_RTT * 1e6) / 1e6
        case "planetlab":
            rtt = _read_matrix(source.file, _LONGEST_RTT * 1e3) / 1e3
        case _:
            rtt = _read_topology(source.file) * 2 / 1e3
    filled = _fill_missing(rtt, source.file)
    return MeasuredRtt(rtt.astype(np.float32), filled)


def count_hosts(source: MatrixSource) -> int:
    """Count the hosts in the file, without the numbers. Raises TraceError if there are fewer than 2."""
    if source.kind == "p2psim-topology":
        return _enough(sum(line.startswith("node") for _, line in numbered_lines(source.file)), source.file)
    return _enough(sum(1 for _ in numbered_lines(source.file)), source.file)


def _enough(hosts: int, file: Path) -> int:
    if not 2 <= hosts <= _MOST_HOSTS:
        raise TraceError(file, 0, f"a latency file needs 2 to {_MOST_HOSTS} hosts, this one has {hosts}")
    return hosts


def _read_matrix(file: Path, longest: float) -> NDArray[np.float64]:
    """Read a file that has a line of RTTs for each host, in the file's unit.

    `longest` is an hour in that unit.
    """
    rows: list[NDArray[np.float64]] = []
    numbers: list[int] = []
    for line, text in numbered_lines(file):
        row = _numbers(text.split(), file, line)
        if rows and len(row) != len(rows[0]):
            raise TraceError(file, line, f"{len(row)} values, but the first line has {len(rows[0])}")
        if len(row) > _MOST_HOSTS:
            raise TraceError(file, line, f"{len(row)} values, more than the {_MOST_HOSTS} that are allowed")
        if (row > longest).any():
            column = int(np.argmax(row > longest))
            text = f"column {column + 1} is {row[column]:g}, more than the {longest:g} of an hour"
            raise TraceError(file, line, text)
        if (row < 0).any():
            raise TraceError(file, line, f"a negative RTT in column {int(np.argmax(row < 0)) + 1}")
        rows.append(row)
        numbers.append(line)
    hosts = _enough(len(rows), file)
    if len(rows[0]) != hosts:
        raise TraceError(file, numbers[-1], f"{hosts} lines of {len(rows[0])} values; the two must be equal")
    rtt = np.array(rows)
    np.fill_diagonal(rtt, 0.0)
    rtt = np.where(rtt == 0, rtt.T, rtt)
    off = np.abs(rtt - rtt.T) > _ASYMMETRY * np.maximum(rtt, rtt.T)
    if off.any():
        i, j = (int(k) for k in np.argwhere(np.tril(off))[0])
        raise TraceError(
            file, numbers[i], f"asymmetric: column {j + 1} is {rtt[i, j]:g}, its mirror image {rtt[j, i]:g}"
        )
    return (rtt + rtt.T) / 2


def _numbers(words: list[str], file: Path, line: int) -> NDArray[np.float64]:
    try:
        row = np.array(words, dtype=np.float64)
        if np.isfinite(row).all():
            return row
    except ValueError:
        pass
    for column, word in enumerate(words, 1):
        try:
            finite = np.isfinite(float(word))
        except ValueError:
            finite = False
        if not finite:
            raise TraceError(file, line, f"column {column} is {shown(word)}, which is not a number")
    raise TraceError(file, line, "not a line of numbers")


def _read_topology(file: Path) -> NDArray[np.float64]:
    """Read `node N` lines, then `i,j latency` lines: one-way milliseconds, hosts counted from 1."""
    known: dict[int, int] = {}
    pairs: list[tuple[int, int, float]] = []
    seen: dict[tuple[int, int], float] = {}
    for line, text in numbered_lines(file):
        words = text.split()
        if words[0] == "node":
            try:
                number = whole_number(words[1])
            except (IndexError, ValueError) as error:
                raise TraceError(file, line, "a node line is `node NUMBER`") from error
            if number in known:
                raise TraceError(file, line, f"node {number} is named twice")
            known[number] = len(known)
        elif "," in words[0]:
            pairs.append(_topology_pair(words, known, seen, file, line))
        elif pairs:
            raise TraceError(file, line, "expected `i,j latency`")
    rtt = np.zeros((_enough(len(known), file),) * 2)
    for i, j, latency in pairs:
        rtt[i, j] = rtt[j, i] = max(latency, 0.0)
    return rtt


def _topology_pair(
    words: list[str], known: dict[int, int], seen: dict[tuple[int, int], float], file: Path, line: int
) -> tuple[int, int, float]:
    try:
        first, second = words[0].split(",")
        i, j, latency = known[whole_number(first)], known[whole_number(second)], float(words[1])
    except KeyError as error:
        raise TraceError(file, line, f"no `node {error.args[0]}` line before this pair") from error
    except (ValueError, IndexError) as error:
        raise TraceError(file, line, "expected `i,j latency` with a number of ms") from error
    if not np.isfinite(latency):
        raise TraceError(file, line, f"latency {shown(words[1])} is not a finite number")
    if latency > _LONGEST_RTT * 1e3 / 2:
        raise TraceError(file, line, f"latency {latency:g} ms is more than half an hour")
    if i == j:
        raise TraceError(file, line, f"a pair of host {first} with itself")
    pair = (min(i, j), max(i, j))
    if seen.setdefault(pair, latency) != latency:
        raise TraceError(file, line, f"asymmetric: {first},{second} is {latency:g}, earlier {seen[pair]:g}")
    return i, j, latency


def _fill_missing(rtt: NDArray[np.float64], file: Path) -> int:
    """Replace zeros off the diagonal in place by the best two-hop path over measured pairs."""
    missing = rtt == 0
    np.fill_diagonal(missing, False)
    measured = np.where(rtt == 0, np.inf, rtt)
    pairs = np.argwhere(np.triu(missing))
    for i, j in pairs:
        detour = float(np.min(measured[i] + measured[j]))
        if not np.isfinite(detour):
            raise TraceError(
                file,
                0,
                f"no RTT between hosts {i + 1} and {j + 1}, and no host has one to both: remove one of them",
            )
        rtt[i, j] = rtt[j, i] = detour
    return len(pairs)
