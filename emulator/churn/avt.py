"""Availability traces in the .avt format: a line a node, `id TAB count TAB start end start end ...`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import Facts, counted, told
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
    touching: int = 0
    """The number of sessions that begin when the one before ends; the two are one."""

    def facts(self, file: Path) -> Facts:
        """Return what is told of the trace in this file."""
        length = np.median(self.end - self.start)
        idle = self.nodes - len(np.unique(self.node))
        return Facts(
            told(
                (
                    f"{file.name}: {counted(self.nodes, 'node')}, {counted(len(self.node), 'session')} "
                    f"from {hours(self.start.min())} to {hours(self.end.max())}, half below {hours(length)}",
                    f"{counted(idle, 'node has', 'nodes have')} no session" if idle else None,
                    f"{counted(self.touching, 'session')} that begin when the one before ends are one with it"
                    if self.touching
                    else None,
                )
            )
        )


def hours(seconds: float) -> str:
    """Return a time of a trace with three digits and its unit."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def load_avt(file: Path) -> AvailabilityTrace:
    """Read a trace. Sessions of a node that touch are one.

    Raises TraceError for a missing file, a malformed line, sessions that overlap or are out of order.
    """
    touching = 0
    names: dict[str, int] = {}
    node: list[int] = []
    times: list[float] = []
    for line, text in numbered_lines(file):
        name, found = _read_line(text, file, line)
        if name in names:
            raise TraceError(file, line, f"node {name[:40]} is already in line {names[name]}")
        touching += _merge(found)
        node += [len(names)] * (len(found) // 2)
        times += found
        names[name] = line
    if not times:
        raise TraceError(file, 0, "has no session")
    array = np.array(times).reshape(-1, 2)
    nodes = np.array(node, dtype=np.int32)
    return AvailabilityTrace(len(names), nodes, array[:, 0], array[:, 1], touching)


def _merge(times: list[float]) -> int:
    """Make one of each two sessions that touch, in place, and return how many such pairs there were."""
    kept = [
        time
        for number, time in enumerate(times)
        if not (number % 2 and times[number + 1 : number + 2] == [time])
        and not (number and not number % 2 and times[number - 1] == time)
    ]
    merged = (len(times) - len(kept)) // 2
    times[:] = kept
    return merged


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
        if start < before:
            text = f"session {start:g} to {end:g} overlaps or precedes the one that ends at {before:g}"
            mend = "Sort a node's sessions by their start, and write those that overlap as one"
            raise TraceError(file, line, f"{text}. {mend}")
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
