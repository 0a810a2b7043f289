"""Draws a trial's plan from its spec, each part from a random stream of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from emulator.churn.model import draw_flash_crowd, draw_sessions, model_problems
from emulator.churn.sessions import Sessions
from emulator.churn.spec import TraceFile
from emulator.experiment.plan import LOOKUPS, PEERS, PUBLICATIONS, SESSIONS, SUBSCRIPTIONS, Plan
from emulator.experiment.spec import TrialSpec
from emulator.network.build import host_count, place
from emulator.network.spec import MatrixFile
from emulator.streams import generator, stream
from emulator.workload.arrivals import draw_arrivals, draw_publishers
from emulator.workload.lookups import draw_lookups
from emulator.workload.model import change_subscriptions, draw_subscriptions, workload_problems
from emulator.workload.publications import draw_publications
from emulator.workload.ranges import Rows, draw_events, draw_interests
from emulator.workload.rates import draw_rates
from emulator.workload.spec import EdgeList, Publications, RangePattern, TopicSource


def draw_plan(spec: TrialSpec) -> Plan:
    """Everything that the trial will do. The same spec gives the same plan.

    Peers 0 to `peers` - 1; the last ones are the flash crowd, if there is one. Raises ValueError that
    names the key for a combination that cannot be drawn, TraceError for a bad file.
    """
    problems = check_plan_inputs(spec)
    if problems:
        raise ValueError("; ".join(f"{key}: {problem}" for key, problem in problems))
    sessions, base = _sessions(spec)
    location = place(spec.peers, host_count(spec.network.latency), _random(spec, "locations"))
    stays = sessions.end >= spec.phases.end
    graceful = _random(spec, "graceful").random(len(stays)) < spec.churn.graceful
    return Plan(
        peers=_table(PEERS, np.arange(spec.peers), location),
        sessions=_table(
            SESSIONS,
            sessions.peer,
            sessions.number(),
            sessions.start,
            sessions.end,
            graceful & ~stays,
            np.where(sessions.peer < base, "base", "flash-crowd"),
        ),
        **_workload(spec, sessions),
    )


def _workload(spec: TrialSpec, sessions: Sessions) -> dict[str, pa.Table]:
    """The tables of the plan that say what peers ask for."""
    workload = spec.workload
    if isinstance(workload.subscriptions, RangePattern):
        return _content(spec, workload.subscriptions, sessions)
    if workload.subscriptions is not None:
        return _topics(spec, workload.subscriptions, sessions)
    assert workload.lookups is not None
    drawn = draw_lookups(workload.lookups, _measure(spec), spec.peers, sessions, _random(spec, "lookups"))
    return {
        "subscriptions": SUBSCRIPTIONS.empty_table(),
        "publications": PUBLICATIONS.empty_table(),
        "lookups": _table(LOOKUPS, np.arange(len(drawn.at)), drawn.at, drawn.peer, drawn.key),
    }


def _topics(spec: TrialSpec, source: TopicSource, sessions: Sessions) -> dict[str, pa.Table]:
    publications = spec.workload.publications or Publications(events=0)
    held = draw_subscriptions(source, spec.peers, spec.phases.end, _random(spec, "subscriptions"))
    changes = stream(spec.seed, "plan", "changes")
    subscriptions = change_subscriptions(held, source, spec.workload.changes.share, _measure(spec), changes)
    rates = draw_rates(
        publications.rates,
        subscriptions.topics,
        publications.events,
        spec.phases.measure,
        _random(spec, "rates"),
    )
    drawn = draw_publications(
        publications.events,
        publications.publisher == "subscriber",
        _measure(spec),
        rates,
        subscriptions,
        sessions,
        _random(spec, "publications"),
    )
    interests = len(subscriptions.peer)
    return {
        "subscriptions": _table(
            SUBSCRIPTIONS,
            np.arange(interests),
            subscriptions.peer,
            subscriptions.topic,
            rates[subscriptions.topic],
            [None] * interests,
            subscriptions.start,
            subscriptions.end,
        ),
        "publications": _publications(publications, drawn.at, drawn.publisher, topic=drawn.topic),
    }


def _content(spec: TrialSpec, source: RangePattern, sessions: Sessions) -> dict[str, pa.Table]:
    count = round(source.per_peer * spec.peers)
    window = (spec.phases.join, spec.phases.join + source.within)
    peer, start = draw_arrivals(count, window, spec.peers, sessions, _random(spec, "arrivals"))
    publications = spec.workload.publications or Publications(events=0)
    by_subscriber = publications.publisher == "subscriber"
    random = _random(spec, "publications")
    at = np.sort(random.uniform(*_measure(spec), size=publications.events))
    publisher = draw_publishers(at, (peer, start) if by_subscriber else None, spec.peers, sessions, random)
    values = draw_events(source, publications.events, _random(spec, "values"))
    return {
        "subscriptions": _table(
            SUBSCRIPTIONS,
            np.arange(count),
            peer,
            [None] * count,
            [None] * count,
            draw_interests(source, count, _random(spec, "ranges")),
            start,
            np.full(count, spec.phases.end),
        ),
        "publications": _publications(publications, at, publisher, attributes=values),
    }


def _publications(
    publications: Publications,
    at: NDArray[np.float64],
    publisher: NDArray[np.int32],
    topic: NDArray[np.int32] | None = None,
    attributes: Rows | None = None,
) -> pa.Table:
    none: list[None] = [None] * len(at)
    return _table(
        PUBLICATIONS,
        np.arange(len(at)),
        at,
        publisher,
        none if topic is None else topic,
        none if attributes is None else attributes,
        np.full(len(at), publications.payload_bytes),
    )


def check_plan_inputs(spec: TrialSpec) -> list[tuple[str, str]]:
    """Key path and problem for each combination that `draw_plan` would refuse, all at once.

    Draws nothing and reads no large file. What only a file's content can tell, such as a graph with fewer
    nodes than peers, `draw_plan` tells.
    """
    problems = [(key, problem) for key, file in _files(spec) if (problem := _file_problem(file))]
    problems += workload_problems(spec.workload)
    source, rest = spec.workload.subscriptions, spec.phases.end - spec.phases.join
    if isinstance(source, RangePattern) and source.within > rest:
        problem = f"{source.within:g} s, but the trial ends {rest:g} s after the joins"
        problems.append(("workload.subscriptions.within", problem))
    crowd = spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    if crowd and base < 1:
        problem = (
            f"{crowd.peers}, but they are counted in the trial's {spec.peers} peers: make `peers` larger"
        )
        problems.append(("churn.flash_crowd.peers", problem))
    if crowd and crowd.at + crowd.within > spec.phases.end:
        last = f"the crowd joins until {crowd.at + crowd.within:g} s"
        problems.append(("churn.flash_crowd.at", f"{last}, but the trial ends at {spec.phases.end:g} s"))
    churn = model_problems(spec.churn.model, max(base, 1), spec.phases.end)
    return problems + [(f"churn.model.{key}", problem) for key, problem in churn]


def _files(spec: TrialSpec) -> list[tuple[str, Path]]:
    files = []
    if isinstance(spec.network.latency, MatrixFile):
        files.append(("network.latency.file", spec.network.latency.file))
    if isinstance(spec.churn.model, TraceFile):
        files.append(("churn.model.file", spec.churn.model.file))
    if isinstance(spec.workload.subscriptions, EdgeList):
        files.append(("workload.subscriptions.file", spec.workload.subscriptions.file))
    return files


def _file_problem(file: Path) -> str | None:
    if not file.exists():
        return f"there is no file {file}"
    return None if file.is_file() else f"{file} is not a file"


def _random(spec: TrialSpec, name: str) -> np.random.Generator:
    return generator(spec.seed, "plan", name)


def _table(schema: pa.Schema, *columns: NDArray[Any] | list[Any]) -> pa.Table:
    return pa.table(
        [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
    )


def _sessions(spec: TrialSpec) -> tuple[Sessions, int]:
    """All sessions, and the number of peers that are not the flash crowd."""
    phases, crowd = spec.phases, spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    sessions = draw_sessions(spec.churn.model, base, phases.join, phases.end, _random(spec, "sessions"))
    if crowd is None:
        return sessions, base
    late = draw_flash_crowd(crowd, base, phases.end, _random(spec, "flash-crowd"))
    return (
        Sessions(
            np.concatenate([sessions.peer, late.peer]),
            np.concatenate([sessions.start, late.start]),
            np.concatenate([sessions.end, late.end]),
        ),
        base,
    )


def _measure(spec: TrialSpec) -> tuple[float, float]:
    return spec.phases.measure_start, spec.phases.measure_end
