"""How large a trial may be: what all its parts together come to."""

from __future__ import annotations

from typing import Any

from emulator.experiment.file.document import Key
from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.files.quantities import parse_duration
from emulator.workload.content_patterns import RangePattern
from emulator.workload.source import ContentSource
from emulator.workload.spec import WorkloadSpec

LONGEST_TRIAL = 366 * 86_400.0
"""Seconds, of trial time and of wall time."""
MOST_INTERVALS = 1_000_000
"""Of metrics in a trial."""
MOST_ROWS = 5_000_000
"""Lookups, clients with their sessions, interests in ranges."""
MOST_SUBSCRIPTIONS = 20_000_000
MOST_VALUES = 20_000_000
"""Attributes of all events."""
LARGEST_INTEGER, LARGEST_NUMBER = 1_000_000_000, 1e15
"""In the parameters of systems."""
SHORTEST_PERIOD = 0.001
"""Seconds, in the parameters of systems."""


def size_problems(spec: TrialSpec) -> list[tuple[str, str]]:
    """Key and problem for each part that is too large for any machine."""
    problems, end = [], spec.phases.end
    if end > LONGEST_TRIAL:
        text = f"make a trial of {end / 86_400:.6g} d, but the longest is {LONGEST_TRIAL / 86_400:g} d"
        problems.append(("phases", text))
    elif isinstance(spec.runtime, RealTime) and end * spec.runtime.time_scale > LONGEST_TRIAL:
        days = end * spec.runtime.time_scale / 86_400
        text = f"makes {days:.6g} d of wall time, but the most are {LONGEST_TRIAL / 86_400:g} d. Lower it"
        problems.append(("runtime.time_scale", text))
    if (intervals := end / spec.telemetry.metrics_interval) > MOST_INTERVALS:
        text = _more("intervals in the trial", intervals, MOST_INTERVALS, "Make it longer")
        problems.append(("telemetry.metrics_interval", text))
    return problems + _workload_problems(spec.workload, spec.peers, spec.phases.measure, end)


def _workload_problems(
    workload: WorkloadSpec, peers: int, measure: float, end: float
) -> list[tuple[str, str]]:
    problems, source, clients = [], workload.subscriptions, workload.clients
    if workload.lookups is not None and (lookups := workload.lookups.rate * measure) > MOST_ROWS:
        text = _more("lookups in the measure phase", lookups, MOST_ROWS, "Lower it")
        problems.append(("workload.lookups.rate", text))
    participants = peers * (clients.per_peer if clients else 1)
    if participants > MOST_ROWS:
        text = _more("clients", participants, MOST_ROWS, "Lower it")
        return [*problems, ("workload.clients.per_peer", text)]
    if clients is not None and clients.mean_session is not None:
        visits = participants * end / (clients.mean_session + clients.mean_gap)
        if visits > MOST_ROWS:
            text = _more("sessions of clients", visits, MOST_ROWS, "Make it longer")
            problems.append(("workload.clients.mean_session", text))
    each = getattr(source, "per_peer", 0)
    most = MOST_ROWS if isinstance(source, ContentSource) else MOST_SUBSCRIPTIONS
    if isinstance(each, (int, float)) and participants * each > most:
        text = _more("subscriptions", participants * each, most, "Lower it")
        problems.append(("workload.subscriptions.per_peer", text))
    events = workload.publications.events if workload.publications else 0
    if isinstance(source, RangePattern) and (values := events * len(source.attributes)) > MOST_VALUES:
        problems.append(
            ("workload.publications.events", _more("values of attributes", values, MOST_VALUES, "Lower it"))
        )
    return problems


def _more(what: str, number: float, most: int, mend: str) -> str:
    return f"makes {number:.3g} {what}, more than the {most:,} that a trial may have. {mend}"


def parameter_problems(value: Any, key: Key = ()) -> list[tuple[Key, str]]:
    """Key and problem for each number and duration among the parameters that no system can mean."""
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
