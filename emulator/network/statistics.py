"""A matrix of RTTs in a few words, with a warning if they are not those of the Internet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import Facts, counted

_LEAST_MEAN, _LARGEST_MEAN = 0.001, 2.0
"""The bounds of a mean RTT (s) on the Internet."""
_TIME_OUT = 2.0
"""An RTT (s) above this that several pairs share may stand for a time-out."""


def describe_rtt(rtt: NDArray[np.floating]) -> Facts:
    """Return hosts, pairs, and the least, mean and largest RTT of a matrix in seconds.

    Where it has twice the one-way delay of each direction, an RTT is the sum of both.
    """
    hosts = len(rtt)
    if hosts == 1:
        return Facts(("1 host",))
    least, largest, total, alike = np.inf, 0.0, 0.0, 0
    for row in range(hosts - 1):  # without a copy of the matrix, which may be large
        part = (rtt[row, row + 1 :].astype(np.float64) + rtt[row + 1 :, row]) / 2
        least, most = min(least, float(part.min())), float(part.max())
        if most >= largest:
            alike = int(np.count_nonzero(part == most)) + (alike if most == largest else 0)
            largest = most
        total += float(part.sum())
    pairs = hosts * (hosts - 1) // 2
    mean = total / pairs
    said = (
        f"{counted(hosts, 'host')}, {counted(pairs, 'pair')}: RTT {milliseconds(least)} to "
        f"{milliseconds(largest)}, mean {milliseconds(mean)}"
    )
    warnings = []
    if not _LEAST_MEAN <= mean <= _LARGEST_MEAN:
        side = "below 1 ms" if mean < _LEAST_MEAN else "above 2 s"
        text = f"a mean RTT of {milliseconds(mean)} is {side}, which no Internet has"
        warnings.append(f"{text}: check the unit of the values")
    if largest > _TIME_OUT and 1 < alike < pairs:
        text = f"{alike:,} pairs have the same RTT of {milliseconds(largest)}, the largest"
        warnings.append(f"{text}: if it stands for a time-out, write nan for it")
    return Facts((said,), tuple(warnings))


def milliseconds(seconds: float) -> str:
    """Return a duration with three digits and its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds * 1000:.3g} ms"
