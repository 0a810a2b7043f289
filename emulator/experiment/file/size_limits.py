"""Limits on the size of a trial, whatever its peers are asked for."""

from __future__ import annotations

from typing import Any

from emulator.experiment.file.document import Key
from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.files.quantities import parse_duration
from emulator.workload.size import more

LONGEST_TRIAL = 366 * 86_400.0
"""The longest trial in seconds, both of trial time and of wall time."""
MOST_INTERVALS = 1_000_000
"""The most intervals of metrics in a trial."""
LARGEST_INTEGER, LARGEST_NUMBER = 1_000_000_000, 1e15
"""The largest values in the parameters of systems."""
SHORTEST_PERIOD = 0.001
"""The shortest period, in seconds, in the parameters of systems."""


def size_problems(spec: TrialSpec) -> list[tuple[str, str]]:
    """Return the key and the problem of each part that is too large for any machine."""
    problems, end = [], spec.phases.end
    if end > LONGEST_TRIAL:
        text = f"make a trial of {end / 86_400:.6g} d, but the longest is {LONGEST_TRIAL / 86_400:g} d"
        problems.append(("phases", text))
    elif isinstance(spec.runtime, RealTime) and end * spec.runtime.time_scale > LONGEST_TRIAL:
        days = end * spec.runtime.time_scale / 86_400
        text = f"makes {days:.6g} d of wall time, but the most are {LONGEST_TRIAL / 86_400:g} d. Lower it"
        problems.append(("runtime.time_scale", text))
    if (intervals := end / spec.telemetry.metrics_interval) > MOST_INTERVALS:
        text = more("intervals in the trial", intervals, MOST_INTERVALS, "Make it longer")
        problems.append(("telemetry.metrics_interval", text))
    return problems


def parameter_problems(value: Any, key: Key = ()) -> list[tuple[Key, str]]:
    """Return the key and the problem of each number and duration that no system can mean as a parameter."""
    if isinstance(value, (dict, list)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for name, part in parts for found in parameter_problems(part, (*key, name))]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        most = LARGEST_INTEGER if isinstance(value, int) else LARGEST_NUMBER
        if abs(value) > most:
            return [(key, f"is {value:.6g}, but has to be between {-most:,} and {most:,}")]
    if isinstance(value, str):
        try:
            seconds = parse_duration(value)
        except ValueError:
            return []
        if 0 < seconds < SHORTEST_PERIOD:
            return [(key, f'is "{value}", but the shortest that a system takes is 1 ms')]
    return []
