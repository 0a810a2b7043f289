"""A matrix of RTTs in a few words, with a warning if they are not those of the Internet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import Facts, counted

_LEAST_MEAN, _LARGEST_MEAN = 0.001, 2.0
"""The bounds of a mean RTT (s) on the Internet."""


def describe_rtt(rtt: NDArray[np.floating]) -> Facts:
    """Return hosts, pairs, and the least, mean and largest RTT of a matrix in seconds.

    Where it has twice the one-way delay of each direction, an RTT is the sum of both.
    """
    hosts = len(rtt)
    if hosts == 1:
        return Facts(("1 host",))
    least, largest, total = np.inf, 0.0, 0.0
    for row in range(hosts - 1):  # without a copy of the matrix, which may be large
        part = (rtt[row, row + 1 :].astype(np.float64) + rtt[row + 1 :, row]) / 2
        least, largest = min(least, float(part.min())), max(largest, float(part.max()))
        total += float(part.sum())
    pairs = hosts * (hosts - 1) // 2
    mean = total / pairs
    said = (
        f"{counted(hosts, 'host')}, {counted(pairs, 'pair')}: RTT {milliseconds(least)} to "
        f"{milliseconds(largest)}, mean {milliseconds(mean)}"
    )
    if _LEAST_MEAN <= mean <= _LARGEST_MEAN:
        return Facts((said,))
    side = "below 1 ms" if mean < _LEAST_MEAN else "above 2 s"
    warning = (
        f"a mean RTT of {milliseconds(mean)} is {side}, which no Internet has: check the unit of the values"
    )
    return Facts((said,), (warning,))


def milliseconds(seconds: float) -> str:
    """Return a duration with three digits and its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds * 1000:.3g} ms"
