"""Availability traces in the .avt format: a line a node, `id TAB count TAB start end start end ...`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown, whole_number


@dataclass(frozen=True, slots=True)
class AvailabilityTrace:
    """Sessions in seconds of the trace, sorted by node and start; those of a node never overlap."""

    nodes: int
    """The number of nodes, which are numbered by line, also those without a session."""
    node: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


def load_avt(file: Path) -> AvailabilityTrace:
    """Read a trace.

    Raises TraceError for a missing file, a malformed line, sessions that overlap or are out of order.
    """
    names: dict[str, int] = {}
    node: list[int] = []
    times: list[float] = []
    for line, text in numbered_lines(file):
        name, found = _read_line(text, file, line)
        if name in names:
            raise TraceError(file, line, f"node {name[:40]} is already in line {names[name]}")
        node += [len(names)] * (len(found) // 2)
        times += found
        names[name] = line
    if not times:
        raise TraceError(file, 0, "has no session")
    array = np.array(times).reshape(-1, 2)
    return AvailabilityTrace(len(names), np.array(node, dtype=np.int32), array[:, 0], array[:, 1])


def _read_line(text: str, file: Path, line: int) -> tuple[str, list[float]]:
    """Return a node's name, and the starts and ends of its sessions in turn."""
    words = text.split()
    try:
        sessions = whole_number(words[1])
    except (IndexError, ValueError) as error:
        raise TraceError(file, line, "expected `id TAB count TAB start end start end ...`") from error
    if len(words) - 2 != 2 * sessions:
        text = f"says {sessions} sessions, which are {2 * sessions} times, but has {len(words) - 2}"
        raise TraceError(file, line, text)
    times: list[float] = []
    for word in words[2:]:
        try:
            times.append(float(word))
        except ValueError as error:
            raise TraceError(file, line, f"{shown(word)} is not a number of seconds") from error
    before = -math.inf
    for start, end in zip(times[::2], times[1::2], strict=True):
        if not (math.isfinite(start) and math.isfinite(end) and 0 <= start < end):
            raise TraceError(file, line, f"session {start:g} to {end:g} does not end after it starts")
        if start <= before:
            raise TraceError(
                file,
                line,
                f"session {start:g} to {end:g} overlaps or precedes the one that ends at {before:g}",
            )
        before = end
    return words[0], times


def replay(
    trace: AvailabilityTrace, peers: int, start: float, compress: float, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return peer, start and end of sessions in trial time, from trace time `start` on, `compress` times as
    fast.

    The peers are a random choice of the trace's nodes, whether they appear after `start` or not: only so does
    the share of peers that are up stay the trace's. Raises ValueError if there are too few.
    """
    if peers > trace.nodes:
        raise ValueError(f"the trace has {trace.nodes} nodes, fewer than the {peers} peers asked for")
    peer_of = np.full(trace.nodes, -1, dtype=np.int32)
    peer_of[random.permutation(trace.nodes)[:peers]] = np.arange(peers, dtype=np.int32)
    used = peer_of[trace.node] >= 0
    return (
        peer_of[trace.node[used]],
        (trace.start[used] - start) / compress,
        (trace.end[used] - start) / compress,
    )
